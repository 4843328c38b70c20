"""Measure whether a lesson helped: compare sessions before it was applied with sessions after.

Only sessions in the file's repository, by agents that read the file, are counted. Three kinds of
them are left out: sessions that were running when the lesson was applied, subagents (they get other
instructions), and sessions that started when somebody may have deleted the lesson from the file.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.learn.applied_registry import AppliedPeriod
from session_memory.learn.chance import Observation
from session_memory.learn.digest.wishes import Wish
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.intervals import METHOD, newcombe, wilson
from session_memory.learn.judgement import Judgement, judge
from session_memory.learn.lesson import Lesson, PatternRef
from session_memory.learn.patterns import OF_ERRORS, pattern_id, signals_of
from session_memory.learn.signal import SUCCESS, Signal
from session_memory.store.digests import DigestRow
from session_memory.store.store import Store

TOO_LITTLE, NOT_APPLIED, GONE = "too_little_data", "not_applied", "gone"
BEFORE, AFTER = "before", "after"
DAY_MS = 86_400_000
UNAPPLIED = Judgement(NOT_APPLIED, "it was never applied to a file")


class MeasuredSide(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the sessions before a lesson, or of those after it.

    ``showing`` is the number of sessions with the problem, ``rate`` their share. ``low`` and
    ``high`` are the ends of the rate's interval. ``times`` is how often the problem occurred and
    ``tokens`` what it cost, if that is known. ``days`` is the number of days with sessions.
    """

    sessions: int = 0
    days: int = 0
    showing: int = 0
    rate: float | None = None
    low: float = 0.0
    high: float = 1.0
    times: int = 0
    tokens: int = 0


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a lesson helped. ``reason`` explains the ``verdict``.

    ``difference`` is the rate of sessions with the problem after the lesson minus the rate before,
    ``low`` and ``high`` are the ends of its interval. ``chance`` is the probability that chance
    alone gives such a difference; None if it was not computed.
    """

    lesson: str
    version: int
    title: str
    verdict: str
    reason: str
    applied_at: str | None
    ended_at: str | None
    targets: tuple[str, ...]
    before: MeasuredSide
    after: MeasuredSide
    difference: float | None
    low: float
    high: float
    chance: float | None = None
    method: str = METHOD

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class ComparedSession(msgspec.Struct, frozen=True):
    """A session before or after a lesson. ``shows``: it has the lesson's pattern."""

    uid: str
    started_at: int
    shows: bool


def compared_sessions(
    store: Store, lesson: Lesson, periods: Sequence[AppliedPeriod], *, days: int
) -> dict[str, list[ComparedSession]]:
    """Return the sessions that `measure` counts before and after a lesson, in order of time."""
    mine = [period for period in periods if period.lesson == lesson.id]
    found: dict[str, list[ComparedSession]] = {BEFORE: [], AFTER: []}
    if not mine:
        return found
    fleet = fleet_of(store, MIN_MS, MAX_MS)
    showing = _showing(store, fleet, lesson)
    for session in fleet.sessions:
        side = _side(session, lesson, mine, days)
        if side is not None:
            uid = session.session_uid
            found[side].append(ComparedSession(uid, session.started_at or 0, uid in showing))
    return {
        side: sorted(some, key=lambda one: (one.started_at, one.uid))
        for side, some in found.items()
    }


class _Occurrences(msgspec.Struct):
    times: int = 0
    tokens: int = 0


def measure(
    store: Store,
    lessons: Sequence[Lesson],
    periods: Sequence[AppliedPeriod],
    *,
    least: int,
    days: int,
) -> list[Measurement]:
    """Measure the effect of each lesson.

    At least ``least`` sessions are needed before and after the lesson. Sessions before it count if
    they ended at most ``days`` days earlier. ``periods`` say when the lessons were in which files.
    """
    if not any(period.lesson == one.id for period in periods for one in lessons):
        nothing = MeasuredSide()
        return [_measurement(lesson, (), nothing, nothing, UNAPPLIED) for lesson in lessons]
    fleet = fleet_of(store, MIN_MS, MAX_MS)
    return [
        _measured(store, fleet, lesson, [s for s in periods if s.lesson == lesson.id], least, days)
        for lesson in lessons
    ]


def _measured(
    store: Store,
    fleet: Fleet,
    lesson: Lesson,
    periods: Sequence[AppliedPeriod],
    least: int,
    days: int,
) -> Measurement:
    showing = _showing(store, fleet, lesson)
    sides: dict[str | None, list[DigestRow]] = {BEFORE: [], AFTER: [], None: []}
    for session in fleet.sessions:
        sides[_side(session, lesson, periods, days)].append(session)
    is_good = bool(lesson.patterns) and lesson.patterns[0].polarity == SUCCESS
    before, after = _counted(sides[BEFORE], showing), _counted(sides[AFTER], showing)
    judgement = _too_early(periods, before, after, least, is_good=is_good) or judge(
        _observed(sides[BEFORE], showing, is_good=is_good),
        _observed(sides[AFTER], showing, is_good=is_good),
    )
    return _measurement(lesson, periods, before, after, judgement)


def _side(
    session: DigestRow, lesson: Lesson, periods: Sequence[AppliedPeriod], days: int
) -> str | None:
    if session.relation == "subagent" or session.started_at is None:
        return None
    if lesson.flavors and session.flavor not in lesson.flavors:
        return None
    mine = [s for s in periods if s.repo == session.repo and s.is_read_by(session.flavor)]
    if not mine:
        return None
    for period in mine:
        if (
            not period.is_gone
            and session.started_at >= period.since
            and (period.until is None or session.started_at < period.until)
        ):
            return AFTER
    first = min(period.since for period in mine)
    ended = session.started_at if session.ended_at is None else session.ended_at
    return BEFORE if first - days * DAY_MS <= ended < first else None


def _counted(sessions: list[DigestRow], showing: dict[str, _Occurrences]) -> MeasuredSide:
    seen = [showing[one.session_uid] for one in sessions if one.session_uid in showing]
    low, high = wilson(len(seen), len(sessions))
    return MeasuredSide(
        sessions=len(sessions),
        days=len({_day(one) for one in sessions}),
        showing=len(seen),
        rate=len(seen) / len(sessions) if sessions else None,
        low=low,
        high=high,
        times=sum(one.times for one in seen),
        tokens=sum(one.tokens for one in seen),
    )


def _day(session: DigestRow) -> int:
    return (session.started_at or 0) // DAY_MS


def _observed(
    sessions: list[DigestRow], showing: dict[str, _Occurrences], *, is_good: bool
) -> list[Observation]:
    """Return the sessions as observations, in order of time.

    ``is_good``: the pattern is a success, so a session without it counts as showing the problem.
    """
    in_order = sorted(sessions, key=lambda one: (one.started_at or 0, one.session_uid))
    return [Observation(_day(one), (one.session_uid in showing) != is_good) for one in in_order]


def _showing(store: Store, fleet: Fleet, lesson: Lesson) -> dict[str, _Occurrences]:
    found: dict[str, _Occurrences] = {}
    for shown in lesson.patterns:
        for uid, times, tokens in _sightings(store, fleet, shown):
            seen = found.setdefault(uid, _Occurrences())
            seen.times += times
            seen.tokens += tokens
    return found


def _sightings(store: Store, fleet: Fleet, shown: PatternRef) -> Iterator[tuple[str, int, int]]:
    """Yield ``(session uid, times, tokens)`` of each session with the pattern.

    For an error or an instruction, one occurrence in a session is enough. The pattern itself is
    only found if several sessions have it.
    """
    if shown.type in OF_ERRORS:
        for error in fleet.errors:
            if error.fingerprint == shown.locus:
                yield error.session_uid, error.count, error.tokens
    elif shown.type == "recurring_instruction":
        yield from _instructed(fleet.sessions, frozenset(shown.locus.split()))
    else:
        for signal in signals_of(store, fleet):
            if signal.type == shown.type and shown.id in _ids(signal):
                yield signal.session_uid, signal.magnitude, signal.tokens


def _ids(signal: Signal) -> tuple[str, str]:
    """Return the ids of the two patterns that a signal may belong to: the pattern of all
    repositories, and the pattern of its repository."""
    kind, locus = signal.type, signal.locus
    return pattern_id(kind, locus), pattern_id(kind, locus, signal.repo)


def _instructed(
    sessions: Iterable[DigestRow], words: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    for session in sessions:
        asked = msgspec.json.decode(session.directives, type=list[Wish])
        times = sum(words.issubset(wish.words) for wish in asked)
        if times:
            yield session.session_uid, times, 0


def _measurement(
    lesson: Lesson,
    periods: Sequence[AppliedPeriod],
    before: MeasuredSide,
    after: MeasuredSide,
    judgement: Judgement,
) -> Measurement:
    low, high = newcombe(after.showing, after.sessions, before.showing, before.sessions)
    known = before.rate is not None and after.rate is not None
    difference = (after.rate or 0.0) - (before.rate or 0.0) if known else None
    ends = [period.until for period in periods]
    last = max((end for end in ends if end is not None), default=None) if all(ends) else None
    first = min((period.since for period in periods), default=None)
    return Measurement(
        lesson=lesson.id,
        version=lesson.version,
        title=lesson.title,
        verdict=judgement.verdict,
        reason=judgement.reason,
        applied_at=None if first is None else format_time(first),
        ended_at=None if last is None else format_time(last),
        targets=tuple(dict.fromkeys(period.target for period in periods)),
        before=before,
        after=after,
        difference=difference,
        low=low,
        high=high,
        chance=judgement.chance,
    )


def _too_early(
    periods: Sequence[AppliedPeriod],
    before: MeasuredSide,
    after: MeasuredSide,
    least: int,
    *,
    is_good: bool,
) -> Judgement | None:
    """Return a judgement if there is nothing to compare yet; None if there is."""
    if not periods:
        return UNAPPLIED
    gone = [period.target for period in periods if period.is_gone]
    if gone and all(period.is_gone or period.until is not None for period in periods):
        return Judgement(GONE, f"deleted from the file at an unknown time: {', '.join(gone)}")
    short = [
        f"{least - side.sessions} more {when}"
        for side, when in ((before, BEFORE), (after, AFTER))
        if side.sessions < least
    ]
    if short:
        return Judgement(TOO_LITTLE, f"too few sessions: {' and '.join(short)} needed")
    if not is_good and not before.showing:
        return Judgement(TOO_LITTLE, "no session before had the problem: nothing to compare")
    return None
