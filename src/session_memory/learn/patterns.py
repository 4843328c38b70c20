"""Find patterns: groups of signals with the same type and locus in a repository, with their cost.

A signal is one thing that stands out in a session; its locus is what it is about, such as a command
or a file. The same signals give the same patterns in any order. A pattern keeps its id when
sessions are added. An error that several repositories have, each in two sessions or more, is one
pattern.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from session_memory.core.skills import FLAVOR as SKILL
from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.learn.detect import signals_across
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.noise import is_noise, is_rare
from session_memory.learn.signal import ESTIMATED, MEASURED, PROBLEM, Signal
from session_memory.store.digests import Digests, ErrorRow, SignalRow
from session_memory.store.store import Store

MOST_SESSIONS = 50
MOST_EVIDENCE = 10
MOST_RESOLUTIONS = 3
OF_ERRORS = frozenset({"recurring_error", "repeated_error", "recovery"})
"""Types whose locus is the fingerprint of an error."""
# A repeated instruction costs a person's time and no tokens. It is ranked as if it cost so many
# tokens.
_WEIGHT = {"recurring_instruction": 8_000, "repeated_instruction": 8_000}


class Evidence(msgspec.Struct, frozen=True):
    session_uid: str
    event_uid: str


class Fix(msgspec.Struct, frozen=True):
    """A change that resolved an error (see `Resolution`), and in how many sessions."""

    kind: str
    text: str
    sessions: int


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A problem or a success that several signals share.

    ``id`` is a hash of type, locus and repository. ``locus`` is what the pattern is about, and
    ``detail`` explains it. ``magnitude`` is how often it occurred, ``sessions`` the number of its
    sessions; ``session_uids`` names the last of them. ``basis`` is ``measured`` only if the tokens
    of every signal are. ``cross_flavor``: it occurs with more than one kind of agent. Patterns are
    ranked by ``score``. For ``noise`` and ``rare`` see `session_memory.learn.noise`.
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
    noise: bool = False
    rare: bool = False

    @property
    def times(self) -> str:
        """How often the pattern occurred, as text: "once" or "3 times"."""
        return "once" if self.magnitude == 1 else f"{self.magnitude:,} times"

    @property
    def only_repo(self) -> str | None:
        """The repository of the pattern; None if it has none or several."""
        return self.repos[0] if len(self.repos) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def pattern_id(kind: str, locus: str, repo: str | None = None) -> str:
    name = "\n".join((kind, locus, *(() if repo is None else (repo,))))
    return f"p-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def patterns(
    store: Store,
    *,
    since: int = MIN_MS,
    until: int = MAX_MS,
    repo: str | None = None,
) -> list[Pattern]:
    """Return the patterns in the analyzed sessions of a period, highest rank first."""
    fleet = fleet_of(store, since, until, repo)
    return cluster(signals_of(store, fleet), fleet.errors)


def signals_of(store: Store, fleet: Fleet) -> Iterator[Signal]:
    """Yield the stored signals of the sessions, and the signals found by comparing the sessions."""
    for row in Digests(store.db).signals(fleet.by_uid.keys()):
        yield stored_signal(row)
    yield from signals_across(fleet)


def stored_signal(row: SignalRow) -> Signal:
    values = {name: getattr(row, name) for name in Signal.__struct_fields__}
    values["evidence"] = msgspec.json.decode(row.evidence, type=tuple[str, ...])
    values["at"] = None if row.at is None else format_time(row.at)
    return Signal(**values)


def cluster(signals: Iterable[Signal], errors: Iterable[ErrorRow] = ()) -> list[Pattern]:
    """Group signals into patterns: problems before successes, then by score, then by id."""
    groups: dict[_Key, list[Signal]] = defaultdict(list)
    for signal in signals:
        groups[_Key(signal.type, signal.locus, signal.repo)].append(signal)
    groups = _shared(groups)
    for key in list(groups):
        # An error that also recurs in other sessions is listed once, as a recurring error.
        if key.type == "repeated_error" and _recurs(groups, key):
            del groups[key]
    errors = list(errors)
    fixes, tools = _fixes(errors), _tools(errors)
    found = [_pattern(key, group, fixes, tools) for key, group in groups.items()]
    found.sort(key=lambda p: (p.polarity != PROBLEM, -p.score, p.id))
    return _rare_if_same_calls(found, groups)


def _rare_if_same_calls(found: list[Pattern], groups: "dict[_Key, list[Signal]]") -> list[Pattern]:
    """Mark a recurring error as rare if it came from the same calls as an error before it.

    Errors that always come together have one cause, and the first pattern is enough to show it.
    """
    calls = {
        pattern_id(group[0].type, key.locus, key.repo or None): frozenset(
            (signal.session_uid, signal.evidence[:1]) for signal in group
        )
        for key, group in groups.items()
        if key.type == "recurring_error"
    }
    seen: set[frozenset[tuple[str, tuple[str, ...]]]] = set()
    for place, pattern in enumerate(found):
        if pattern.id in calls and not pattern.rare:
            if calls[pattern.id] in seen:
                found[place] = msgspec.structs.replace(pattern, rare=True)
            seen.add(calls[pattern.id])
    return found


class _Key(NamedTuple):
    type: str
    locus: str
    repo: str | None


EVERYWHERE = ""


def _shared(groups: dict[_Key, list[Signal]]) -> dict[_Key, list[Signal]]:
    """Join the groups of an error that recurs in two repositories or more into one group.

    A group with only one session is removed: the error does not recur in that repository.
    """
    by_error: dict[tuple[str, str], list[_Key]] = defaultdict(list)
    for key in groups:
        if key.type == "recurring_error":
            by_error[key.type, key.locus].append(key)
    for (kind, locus), keys in by_error.items():
        often = [key for key in keys if len({s.session_uid for s in groups[key]}) > 1]
        named = [key for key in often if key.repo is not None]
        sharing = named if len(named) > 1 else []
        together = [signal for key in sharing for signal in groups[key]]
        for key in keys:
            if key not in often or key in sharing:
                del groups[key]
        if sharing:
            groups[_Key(kind, locus, EVERYWHERE)] = together
    return groups


def _recurs(groups: dict[_Key, list[Signal]], key: _Key) -> bool:
    return any(
        _Key("recurring_error", key.locus, repo) in groups for repo in (key.repo, EVERYWHERE)
    )


def _tools(errors: Iterable[ErrorRow]) -> dict[str, set[str | None]]:
    found: dict[str, set[str | None]] = defaultdict(set)
    for error in errors:
        found[error.fingerprint].add(error.tool)
    return found


def _pattern(
    key: _Key,
    group: list[Signal],
    fixes: dict[str, tuple[Fix, ...]],
    tools: dict[str, set[str | None]],
) -> Pattern:
    group.sort(key=lambda s: (s.at or "", s.session_uid, s.evidence))
    first = group[0]
    uids = tuple(dict.fromkeys(signal.session_uid for signal in group))
    flavors = tuple(sorted({signal.flavor for signal in group}))
    times = [signal.at for signal in group if signal.at is not None]
    tokens = sum(signal.tokens for signal in group)
    measured = all(signal.basis == MEASURED for signal in group)
    ended_by = fixes.get(first.locus, ()) if first.type in OF_ERRORS else ()
    is_skill = SKILL in flavors
    # The first ten letters of a time are its day.
    days = len({at[:10] for at in times})
    ended = ((fix.kind, fix.sessions) for fix in ended_by)
    return Pattern(
        id=pattern_id(first.type, first.locus, key.repo or None),
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
        score=score(len(uids), tokens or _WEIGHT.get(first.type, 0)),
        flavors=flavors,
        repos=tuple(sorted({signal.repo for signal in group if signal.repo})),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        session_uids=uids[-MOST_SESSIONS:],
        evidence=tuple(_evidence(group)),
        resolutions=ended_by,
        noise=is_noise(first.type, first.locus, tools.get(first.locus, ()), is_skill=is_skill),
        rare=not is_skill and is_rare(first.type, len(uids), days, ended),
    )


def score(sessions: int, tokens: int) -> int:
    """Return the rank of a pattern: ``sessions × (1 + D)``. So frequency counts more than cost.

    D is the number of binary digits of ``tokens / 1000``.
    """
    return sessions * (1 + (tokens // 1000).bit_length())


def _evidence(group: list[Signal]) -> Iterator[Evidence]:
    """Yield the first event of each signal, newest signal first."""
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
