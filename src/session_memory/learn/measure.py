"""Whether a lesson helped: sessions before it was applied against sessions that read it.

Counted are sessions of the repository and the agents that read the file. One that was under way
when the lesson came counts for neither side, nor do subagents, whose instructions are others; nor
one that began when the lesson may have been gone from the file already.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.time import MAX_MS, MIN_MS, format_time
from session_memory.learn.applied import Stretch
from session_memory.learn.detect.repeated_instruction import ALIKE
from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.fleet import Fleet, fleet_of
from session_memory.learn.intervals import METHOD, newcombe, wilson
from session_memory.learn.lesson import Lesson, Shown
from session_memory.learn.patterns import OF_ERRORS, pattern_id, signals_of
from session_memory.learn.signal import SUCCESS
from session_memory.store.digests import DigestRow
from session_memory.store.store import Store

HELPED, UNCLEAR, DID_NOT_HELP, WORSE = "helped", "unclear", "did_not_help", "worse"
TOO_LITTLE, NOT_APPLIED, GONE = "too_little_data", "not_applied", "gone"
DAY_MS = 86_400_000


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions before or after, and in how many it showed; ``low`` and ``high`` are the ends of
    the rate's interval. ``tokens`` of all these sessions went into it, as far as that is known."""

    sessions: int = 0
    showing: int = 0
    rate: float | None = None
    low: float = 0.0
    high: float = 1.0
    times: int = 0
    tokens: int = 0


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """``difference`` is the rate after less the rate before. ``reason`` is a sentence."""

    lesson: str
    version: int
    title: str
    verdict: str
    reason: str
    applied_at: str | None
    ended_at: str | None
    targets: tuple[str, ...]
    before: Side
    after: Side
    difference: float | None
    low: float
    high: float
    method: str = METHOD

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class _Seen(msgspec.Struct):
    times: int = 0
    tokens: int = 0


def measure(
    store: Store,
    lessons: Sequence[Lesson],
    stretches: Sequence[Stretch],
    *,
    least: int,
    days: int,
) -> list[Measurement]:
    """Each lesson's effect. ``least`` sessions are needed on either side; those before count as
    far back as ``days``."""
    if not any(stretch.lesson == one.id for stretch in stretches for one in lessons):
        return [_told(lesson, (), Side(), Side(), least) for lesson in lessons]
    fleet = fleet_of(store, MIN_MS, MAX_MS)
    return [
        _measured(
            store, fleet, lesson, [s for s in stretches if s.lesson == lesson.id], least, days
        )
        for lesson in lessons
    ]


def _measured(
    store: Store,
    fleet: Fleet,
    lesson: Lesson,
    stretches: Sequence[Stretch],
    least: int,
    days: int,
) -> Measurement:
    showing = _showing(store, fleet, lesson)
    before, after = [], []
    for session in fleet.sessions:
        match _side(session, lesson, stretches, days):
            case "before":
                before.append(session)
            case "after":
                after.append(session)
    return _told(lesson, stretches, _counted(before, showing), _counted(after, showing), least)


def _side(
    session: DigestRow, lesson: Lesson, stretches: Sequence[Stretch], days: int
) -> str | None:
    if session.relation == "subagent" or session.started_at is None:
        return None
    if lesson.flavors and session.flavor not in lesson.flavors:
        return None
    mine = [s for s in stretches if s.repo == session.repo and s.is_read_by(session.flavor)]
    if not mine:
        return None
    for stretch in mine:
        if (
            not stretch.is_gone
            and session.started_at >= stretch.since
            and (stretch.until is None or session.started_at < stretch.until)
        ):
            return "after"
    first = min(stretch.since for stretch in mine)
    ended = session.started_at if session.ended_at is None else session.ended_at
    return "before" if first - days * DAY_MS <= ended < first else None


def _counted(sessions: list[DigestRow], showing: dict[str, _Seen]) -> Side:
    seen = [showing[one.session_uid] for one in sessions if one.session_uid in showing]
    low, high = wilson(len(seen), len(sessions))
    return Side(
        sessions=len(sessions),
        showing=len(seen),
        rate=len(seen) / len(sessions) if sessions else None,
        low=low,
        high=high,
        times=sum(one.times for one in seen),
        tokens=sum(one.tokens for one in seen),
    )


# ------------------------------------------------------------ which sessions show it


def _showing(store: Store, fleet: Fleet, lesson: Lesson) -> dict[str, _Seen]:
    found: dict[str, _Seen] = {}
    for shown in lesson.patterns:
        for uid, times, tokens in _sightings(store, fleet, shown):
            seen = found.setdefault(uid, _Seen())
            seen.times += times
            seen.tokens += tokens
    return found


def _sightings(store: Store, fleet: Fleet, shown: Shown) -> Iterator[tuple[str, int, int]]:
    """``(session, times, tokens)``. What stands out only because it comes back is looked for
    itself: once in a session is enough to say that it is still there."""
    if shown.type in OF_ERRORS:
        for error in fleet.errors:
            if error.fingerprint == shown.locus:
                yield error.session_uid, error.count, error.tokens
    elif shown.type == "recurring_instruction":
        yield from _instructed(fleet.sessions, frozenset(shown.locus.split()))
    else:
        for signal in signals_of(store, fleet):
            if signal.type == shown.type and pattern_id(signal.type, signal.locus) == shown.id:
                yield signal.session_uid, signal.magnitude, signal.tokens


def _instructed(
    sessions: Iterable[DigestRow], words: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    for session in sessions:
        told = msgspec.json.decode(session.directives, type=list[tuple[str, str]])
        times = sum(word_overlap(words, content_words(text)) >= ALIKE for _, text in told)
        if times:
            yield session.session_uid, times, 0


# ------------------------------------------------------------ what it means


def _told(
    lesson: Lesson, stretches: Sequence[Stretch], before: Side, after: Side, least: int
) -> Measurement:
    low, high = newcombe(after.showing, after.sessions, before.showing, before.sessions)
    known = before.rate is not None and after.rate is not None
    difference = (after.rate or 0.0) - (before.rate or 0.0) if known else None
    is_good = bool(lesson.patterns) and lesson.patterns[0].polarity == SUCCESS
    verdict, reason = _verdict(stretches, before, after, low, high, least, is_good=is_good)
    ends = [stretch.until for stretch in stretches]
    last = max((end for end in ends if end is not None), default=None) if all(ends) else None
    first = min((stretch.since for stretch in stretches), default=None)
    return Measurement(
        lesson=lesson.id,
        version=lesson.version,
        title=lesson.title,
        verdict=verdict,
        reason=reason,
        applied_at=None if first is None else format_time(first),
        ended_at=None if last is None else format_time(last),
        targets=tuple(dict.fromkeys(stretch.target for stretch in stretches)),
        before=before,
        after=after,
        difference=difference,
        low=low,
        high=high,
    )


def _verdict(
    stretches: Sequence[Stretch],
    before: Side,
    after: Side,
    low: float,
    high: float,
    least: int,
    *,
    is_good: bool,
) -> tuple[str, str]:
    if not stretches:
        return NOT_APPLIED, "it was never applied to a file"
    gone = [stretch.target for stretch in stretches if stretch.is_gone]
    if gone and all(stretch.is_gone or stretch.until is not None for stretch in stretches):
        return GONE, f"not in the file any more, and nobody knows since when: {', '.join(gone)}"
    short = [
        f"{least - side.sessions} more {when}"
        for side, when in ((before, "before"), (after, "after"))
        if side.sessions < least
    ]
    if short:
        return TOO_LITTLE, f"too few sessions: {' and '.join(short)} needed to say anything"
    if not is_good and not before.showing:
        return TOO_LITTLE, "none of the sessions before shows it: there is nothing to compare"
    gain = (before.rate or 0.0) - (after.rate or 0.0)
    if is_good:
        gain, low, high = -gain, -high, -low
    if high < 0:
        return HELPED, "fewer sessions show it, beyond chance" if not is_good else _MORE
    if low > 0:
        return WORSE, "it is worse than before, beyond chance"
    if gain <= 0:
        return DID_NOT_HELP, "as many sessions show it as before, or more"
    return UNCLEAR, "better than before, but chance may do as much"


_MORE = "more sessions show it, beyond chance"
