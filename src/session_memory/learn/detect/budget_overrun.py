"""A session that used many times what sessions of its kind use."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median_low

from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal
from session_memory.store.digests import DigestRow

TIMES = 8
FEWEST_SESSIONS = 5
SMALLEST = 200_000


def budget_overrun(fleet: Fleet) -> Iterator[Signal]:
    """Compared with its repository, or with its agent where there are too few to compare with."""
    for group in _alike(fleet.sessions):
        usual = median_low([session.tokens for session in group])
        for session in group:
            if session.tokens > max(SMALLEST, TIMES * usual):
                times = session.tokens // max(1, usual)
                yield fleet.signal(
                    session.session_uid,
                    "budget_overrun",
                    locus=session.repo or session.flavor,
                    magnitude=1,
                    detail=f"{session.tokens:,} tokens, {times} times the {usual:,} that are usual",
                    tokens=session.tokens - usual,
                )


def _alike(sessions: list[DigestRow]) -> Iterator[list[DigestRow]]:
    by_repo: dict[tuple[str, bool], list[DigestRow]] = defaultdict(list)
    by_flavor: dict[tuple[str, bool], list[DigestRow]] = defaultdict(list)
    for session in sessions:
        if session.tokens:
            is_part = session.relation == "subagent"
            by_repo[session.repo or "", is_part].append(session)
    for (_, is_part), group in sorted(by_repo.items()):
        if len(group) >= FEWEST_SESSIONS:
            yield group
        else:
            for session in group:
                by_flavor[session.flavor, is_part].append(session)
    yield from (group for _, group in sorted(by_flavor.items()) if len(group) >= FEWEST_SESSIONS)
