"""recall@prompt: do the sessions that a first prompt finds have to do with the work that follows?

Relevant are earlier sessions of the repository that edited the same files. The first prompt is the
question, as a hook would ask it, before anything else of the session is known.
"""

from collections.abc import Iterator, Sequence
from time import perf_counter

import msgspec
from remember_replay import PastSession, Replay
from remember_rules import edited, expected_reciprocal, same_work
from remember_tables import Cell, Row, Table, middle, share

from session_memory.views.how import how_done

PLACES = (1, 3, 5, 10)
# With fewer earlier sessions there is hardly a choice.
LEAST_KNOWN = 10


class AskedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A first prompt. ``known`` are the earlier sessions of the repository that edited something,
    the newest first; ``relevant`` those of them that edited the same files."""

    session: PastSession
    prompt: str
    found: list[str]
    fits: list[float]
    known: list[str]
    relevant: frozenset[str]
    ms: float

    @property
    def is_counted(self) -> bool:
        return len(self.known) >= LEAST_KNOWN and bool(self.relevant)

    def precision(self, first: int) -> float:
        return len(self.relevant.intersection(self.found[:first])) / first

    def newest(self, first: int) -> float:
        return len(self.relevant.intersection(self.known[:first])) / first

    def most(self, first: int) -> float:
        return min(len(self.relevant), first) / first

    @property
    def reciprocal(self) -> float:
        return _reciprocal(self.found, self.relevant)


def _reciprocal(found: Sequence[str], relevant: frozenset[str]) -> float:
    return next((1 / place for place, uid in enumerate(found, 1) if uid in relevant), 0.0)


def prompts_asked(replay: Replay, one: PastSession) -> Iterator[AskedPrompt]:
    """The first prompt of a session, if it has one."""
    if one.digest.first_request is None:
        return
    own, prompt = edited(one.digest), one.digest.first_request.text
    known = {past.uid: edited(past.digest) for past in replay.known_of(one.repo)}
    known = {uid: files for uid, files in known.items() if files}
    begun = perf_counter()
    found = how_done(replay.memory.store, prompt, repo=one.repo, limit=PLACES[-1]).sessions
    yield AskedPrompt(
        session=one,
        prompt=prompt,
        found=[each.session_uid for each in found],
        fits=[each.fit for each in found],
        known=list(known),
        relevant=frozenset(uid for uid, files in known.items() if own and same_work(own, files)),
        ms=(perf_counter() - begun) * 1000,
    )


def table(asked: Sequence[AskedPrompt]) -> Table:
    counted = [one for one in asked if one.is_counted]
    rows = [
        Row(
            "found by the first prompt",
            {
                "asked": len(counted),
                **{f"P@{n}": share([one.precision(n) for one in counted]) for n in PLACES},
                "MRR": share([one.reciprocal for one in counted]),
                "ms": middle([one.ms for one in counted]),
            },
        ),
        _baseline("arbitrary", counted),
        Row(
            "baseline: the newest sessions of the repository",
            {
                **{f"P@{n}": share([one.newest(n) for one in counted]) for n in PLACES},
                "MRR": share([_reciprocal(one.known, one.relevant) for one in counted]),
            },
        ),
        Row(
            "the most there is to find",
            {
                **{f"P@{n}": share([one.most(n) for one in counted]) for n in PLACES},
                "MRR": share([1.0 for _ in counted]),
            },
        ),
    ]
    for repo in sorted({one.session.repo or "" for one in counted}):
        some = [one for one in counted if one.session.repo == repo]
        cells: dict[str, Cell] = {"asked": len(some)}
        cells |= {f"P@{n}": share([one.precision(n) for one in some]) for n in PLACES}
        rows.append(Row(f"  {repo}", cells | {"MRR": share([one.reciprocal for one in some])}))
    return Table("B. recall@prompt: precision", rows, [*_misses(counted)])


def _baseline(name: str, counted: Sequence[AskedPrompt]) -> Row:
    random = share([len(one.relevant) / len(one.known) for one in counted])
    first = share([expected_reciprocal(len(one.relevant), len(one.known)) for one in counted])
    return Row(f"baseline: {name}", {**{f"P@{n}": random for n in PLACES}, "MRR": first})


def _misses(counted: Sequence[AskedPrompt]) -> Iterator[str]:
    for one in counted:
        if not one.precision(1):
            yield f"{one.session.uid} {one.session.repo} {one.prompt[:300]!r}"
            yield f"    edited {sorted(edited(one.session.digest))[:12]}"
            for uid, fit in zip(one.found[:5], one.fits, strict=False):
                yield f"    {'ok ' if uid in one.relevant else 'not'} {fit:.2f} {uid}"
            some = ", ".join(sorted(one.relevant)[:5])
            yield f"    {len(one.relevant)} of {len(one.known)} relevant: {some}"
