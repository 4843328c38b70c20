"""Detect instructions that a person gave in several sessions. An instruction file needs them."""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from session_memory.learn.detector import FleetDetector
from session_memory.learn.digest.wishes import Wish
from session_memory.learn.fleet import Fleet
from session_memory.learn.recurring_wishes import SessionWish, recurring_wishes
from session_memory.learn.signal import Signal

DAY_MS = 86_400_000
# A longer text that several sessions have is one task that was started again.
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
    """Return the wishes (things that a person asked for) by repository, oldest session first."""
    found: dict[str | None, list[SessionWish]] = defaultdict(list)
    seen: dict[tuple[str | None, str], str] = {}
    order = sorted(fleet.sessions, key=lambda s: (s.started_at or 0, s.session_uid))
    for session in order:
        # An agent wrote a subagent's prompts, not a person.
        if session.relation == "subagent":
            continue
        for wish in msgspec.json.decode(session.directives, type=list[Wish]):
            key = session.repo, wish.text
            first = seen.setdefault(key, session.session_uid)
            if len(wish.text) <= _LONG or first == session.session_uid:
                day = (session.started_at or 0) // DAY_MS
                found[session.repo].append(SessionWish(session.session_uid, day, wish))
    return found


DETECTOR = FleetDetector(
    type="recurring_instruction",
    title="The same instruction in session after session",
    advice="Put it into the agent's instruction file: {detail}",
    find=recurring_instruction,
)
