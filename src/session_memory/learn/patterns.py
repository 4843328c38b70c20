"""Patterns: signals of the same type and locus over all sessions, with their cost.

The same signals give the same patterns in any order. A pattern keeps its id when sessions are
added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.learn.detect import signals_across
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.signal import ESTIMATED, MEASURED, PROBLEM, Signal
from session_memory.store.digests import Digests, ErrorRow, SignalRow
from session_memory.store.store import Store

MOST_SESSIONS = 50
MOST_EVIDENCE = 10
MOST_RESOLUTIONS = 3
OF_ERRORS = frozenset({"recurring_error", "repeated_error", "recovery"})
"""Types whose locus is the fingerprint of an error."""


class Evidence(msgspec.Struct, frozen=True):
    session_uid: str
    event_uid: str


class Fix(msgspec.Struct, frozen=True):
    """What resolved an error (see `Resolution`), and the number of sessions."""

    kind: str
    text: str
    sessions: int


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A problem or success that several signals share. ``id`` is a hash of type and locus.
    ``session_uids`` names some of the ``sessions``.

    ``basis`` is ``measured`` only if every signal's tokens are. ``cross_flavor``: it occurs with
    more than one kind of agent. Patterns are ranked by ``score``.
    """

    id: str
    type: str
    polarity: str
    locus: str
    detail: str
    signals: int
    sessions: int
    magnitude: int
    tokens: int
    microdollars: int
    basis: str
    cross_flavor: bool
    score: int
    flavors: tuple[str, ...]
    repos: tuple[str, ...]
    first_seen: str | None
    last_seen: str | None
    session_uids: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    resolutions: tuple[Fix, ...] = ()

    @property
    def times(self) -> str:
        """How often it occurred, as text."""
        return "once" if self.magnitude == 1 else f"{self.magnitude:,} times"

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def pattern_id(kind: str, locus: str) -> str:
    name = f"{kind}\n{locus}".encode("utf-8", "surrogatepass")
    return f"p-{blake2b(name, digest_size=6).hexdigest()}"


def patterns(
    store: Store,
    *,
    since: int = MIN_MS,
    until: int = MAX_MS,
    repo: str | None = None,
) -> list[Pattern]:
    """The patterns in the analyzed sessions of a period, highest rank first."""
    fleet = fleet_of(store, since, until, repo)
    return cluster(signals_of(store, fleet), fleet.errors)


def signals_of(store: Store, fleet: Fleet) -> Iterator[Signal]:
    """The stored signals of the sessions, and the signals that come from comparing them."""
    for row in Digests(store.db).signals():
        if row.session_uid in fleet.by_uid:
            yield stored_signal(row)
    yield from signals_across(fleet)


def stored_signal(row: SignalRow) -> Signal:
    values = {name: getattr(row, name) for name in Signal.__struct_fields__}
    values["evidence"] = msgspec.json.decode(row.evidence, type=tuple[str, ...])
    values["at"] = None if row.at is None else format_time(row.at)
    return Signal(**values)


def cluster(signals: Iterable[Signal], errors: Iterable[ErrorRow] = ()) -> list[Pattern]:
    """Patterns ranked: problems before successes, then by score, then by id."""
    groups: dict[tuple[str, str], list[Signal]] = defaultdict(list)
    for signal in signals:
        groups[signal.type, signal.locus].append(signal)
    for kind, locus in list(groups):
        # An error that also recurs in other sessions is listed once, as a recurring error.
        if kind == "repeated_error" and ("recurring_error", locus) in groups:
            del groups[kind, locus]
    fixes = _fixes(errors)
    found = [_pattern(group, fixes) for group in groups.values()]
    return sorted(found, key=lambda p: (p.polarity != PROBLEM, -p.score, p.id))


def _pattern(group: list[Signal], fixes: dict[str, tuple[Fix, ...]]) -> Pattern:
    group.sort(key=lambda s: (s.at or "", s.session_uid, s.evidence))
    first = group[0]
    uids = tuple(dict.fromkeys(signal.session_uid for signal in group))
    flavors = tuple(sorted({signal.flavor for signal in group}))
    times = [signal.at for signal in group if signal.at is not None]
    tokens = sum(signal.tokens for signal in group)
    measured = all(signal.basis == MEASURED for signal in group)
    return Pattern(
        id=pattern_id(first.type, first.locus),
        type=first.type,
        polarity=first.polarity,
        locus=first.locus,
        detail=first.detail,
        signals=len(group),
        sessions=len(uids),
        magnitude=sum(signal.magnitude for signal in group),
        tokens=tokens,
        microdollars=sum(signal.microdollars for signal in group),
        basis=MEASURED if measured else ESTIMATED,
        cross_flavor=len(flavors) > 1,
        score=score(len(uids), tokens),
        flavors=flavors,
        repos=tuple(sorted({signal.repo for signal in group if signal.repo})),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        session_uids=uids[-MOST_SESSIONS:],
        evidence=tuple(_evidence(group)),
        resolutions=fixes.get(first.locus, ()) if first.type in OF_ERRORS else (),
    )


def score(sessions: int, tokens: int) -> int:
    """``sessions × (1 + bits(tokens / 1000))``: frequency counts more than cost."""
    return sessions * (1 + (tokens // 1000).bit_length())


def _evidence(group: list[Signal]) -> Iterator[Evidence]:
    """The first event of each signal, newest first."""
    latest = [Evidence(s.session_uid, s.evidence[0]) for s in reversed(group) if s.evidence]
    yield from list(dict.fromkeys(latest))[:MOST_EVIDENCE]


def _fixes(errors: Iterable[ErrorRow]) -> dict[str, tuple[Fix, ...]]:
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for error in errors:
        if error.resolution is not None:
            found[error.fingerprint][error.resolution, error.resolved_by] += 1
    return {
        fingerprint: tuple(
            Fix(*how, times)
            for how, times in sorted(ways.items(), key=lambda way: (-way[1], way[0]))
        )[:MOST_RESOLUTIONS]
        for fingerprint, ways in found.items()
    }
