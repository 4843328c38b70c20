"""How to work, told in session after session: it belongs into the instructions of the agents."""

from collections.abc import Iterator

import msgspec

from session_memory.learn.detect.repeated_instruction import ALIKE, FEWEST_WORDS
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal
from session_memory.learn.words import likeness, telling_words

SESSIONS = 2
MOST_COMPARED = 2_000


def recurring_instruction(fleet: Fleet) -> Iterator[Signal]:
    groups: list[tuple[frozenset[str], str, dict[str, list[str]]]] = []
    for session, event, text in _told(fleet):
        words = telling_words(text)
        if len(words) < FEWEST_WORDS:
            continue
        for known, _, told in groups:
            if likeness(known, words) >= ALIKE:
                told.setdefault(session, []).append(event)
                break
        else:
            if len(groups) < MOST_COMPARED:
                groups.append((words, text, {session: [event]}))
    for words, text, told in groups:
        if len(told) >= SESSIONS:
            for session, events in told.items():
                yield fleet.signal(
                    session,
                    "recurring_instruction",
                    locus=" ".join(sorted(words)),
                    magnitude=len(events),
                    detail=text,
                    evidence=tuple(events[:5]),
                )


def _told(fleet: Fleet) -> Iterator[tuple[str, str, str]]:
    # Whoever said it first names it: what is said later does not rename the pattern.
    order = sorted(fleet.sessions, key=lambda s: (s.started_at or 0, s.session_uid))
    for session in order:
        # The prompts of a subagent are an agent's words.
        if session.relation != "subagent":
            for event, text in msgspec.json.decode(session.directives, type=list[tuple[str, str]]):
                yield session.session_uid, event, text
