"""Detect sessions that used many times the usual tokens of their repository, or of their agent."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median_low

from session_memory.learn.detector import FleetDetector
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal
from session_memory.store.digests import DigestRow

TIMES = 8
FEWEST_SESSIONS = 5
SMALLEST = 200_000


def budget_overrun(fleet: Fleet) -> Iterator[Signal]:
    """Compare sessions of one repository; if those are too few, sessions of one agent."""
    for group in _groups(fleet.sessions):
        usual = median_low([session.tokens for session in group])
        for session in group:
            if session.tokens > max(SMALLEST, TIMES * usual):
                times = session.tokens // max(1, usual)
                yield fleet.signal(
                    session.session_uid,
                    "budget_overrun",
                    locus=session.repo or session.flavor,
                    magnitude=1,
                    detail=f"{session.tokens:,} tokens, {times} times the usual {usual:,}",
                    tokens=session.tokens - usual,
                )


def _groups(sessions: list[DigestRow]) -> Iterator[list[DigestRow]]:
    by_repo: dict[tuple[str, bool], list[DigestRow]] = defaultdict(list)
    by_flavor: dict[tuple[str, bool], list[DigestRow]] = defaultdict(list)
    for session in sessions:
        if session.tokens:
            is_subagent = session.relation == "subagent"
            by_repo[session.repo or "", is_subagent].append(session)
    for (_, is_subagent), group in sorted(by_repo.items()):
        if len(group) >= FEWEST_SESSIONS:
            yield group
        else:
            for session in group:
                by_flavor[session.flavor, is_subagent].append(session)
    yield from (group for _, group in sorted(by_flavor.items()) if len(group) >= FEWEST_SESSIONS)


DETECTOR = FleetDetector(
    type="budget_overrun",
    title="Sessions use far more than is usual",
    advice="Split tasks like these; look at what filled their context.",
    find=budget_overrun,
    about_session=True,
)
