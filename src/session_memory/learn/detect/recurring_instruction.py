"""Detect instructions that a person gave in several sessions. An instruction file needs them."""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from session_memory.learn.detector import FleetDetector
from session_memory.learn.digest.wishes import Wish
from session_memory.learn.fleet import Fleet
from session_memory.learn.recurring_wishes import (
    MOST_COMPARED,
    SessionWish,
    recurring_wishes,
)
from session_memory.learn.signal import Signal
from session_memory.store.digests import DigestRow

DAY_MS = 86_400_000
# If several sessions have the same longer text, it is one task that was started again.
_LONG = 120


def recurring_instruction(fleet: Fleet) -> Iterator[Signal]:
    for asked in _by_repo(fleet).values():
        for group in recurring_wishes(asked):
            by_session: dict[str, list[str]] = {}
            for one in group.wishes:
                by_session.setdefault(one.session_uid, []).append(one.wish.event_uid)
            for session, events in by_session.items():
                yield fleet.signal(
                    session,
                    "recurring_instruction",
                    locus=" ".join(group.words),
                    magnitude=len(events),
                    detail=group.text,
                    evidence=tuple(events[:5]),
                )


def _by_repo(fleet: Fleet) -> dict[str | None, list[SessionWish]]:
    """Return the newest wishes (things that a person asked for) of each repository, oldest first.

    At most about `MOST_COMPARED` of each repository are read, because no more are compared.
    """
    # An agent wrote a subagent's prompts, not a person.
    own = [session for session in fleet.sessions if session.relation != "subagent"]
    own.sort(key=lambda session: (session.started_at or 0, session.session_uid))
    by_repo: dict[str | None, list[DigestRow]] = defaultdict(list)
    for session in own:
        by_repo[session.repo].append(session)
    return {repo: list(_newest_wishes(sessions)) for repo, sessions in by_repo.items()}


def _newest_wishes(sessions: list[DigestRow]) -> Iterator[SessionWish]:
    newest: list[tuple[DigestRow, list[Wish]]] = []
    count = 0
    for session in reversed(sessions):
        newest.append((session, msgspec.json.decode(session.directives, type=list[Wish])))
        count += len(newest[-1][1])
        if count >= MOST_COMPARED:
            break
    first_in: dict[str, str] = {}
    for session, wishes in reversed(newest):
        for wish in wishes:
            first = first_in.setdefault(wish.text, session.session_uid)
            if len(wish.text) <= _LONG or first == session.session_uid:
                day = (session.started_at or 0) // DAY_MS
                yield SessionWish(session.session_uid, day, wish)


DETECTOR = FleetDetector(
    type="recurring_instruction",
    title="The same instruction in session after session",
    advice="Put it into the agent's instruction file: {detail}",
    find=recurring_instruction,
)
