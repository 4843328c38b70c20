"""A person gave the same instruction in several sessions. It belongs in the instruction file."""

from collections.abc import Iterator

import msgspec

from session_memory.learn.detect.repeated_instruction import ALIKE, FEWEST_WORDS
from session_memory.learn.detector import FleetDetector
from session_memory.learn.digest.similarity import content_words, word_overlap
from session_memory.learn.fleet import Fleet
from session_memory.learn.signal import Signal

SESSIONS = 2
MOST_COMPARED = 2_000


def recurring_instruction(fleet: Fleet) -> Iterator[Signal]:
    groups: list[tuple[frozenset[str], str, dict[str, list[str]]]] = []
    for session, event, text in _instructions(fleet):
        words = content_words(text)
        if len(words) < FEWEST_WORDS:
            continue
        for known, _, by_session in groups:
            if word_overlap(known, words) >= ALIKE:
                by_session.setdefault(session, []).append(event)
                break
        else:
            if len(groups) < MOST_COMPARED:
                groups.append((words, text, {session: [event]}))
    for words, text, by_session in groups:
        if len(by_session) >= SESSIONS:
            for session, events in by_session.items():
                yield fleet.signal(
                    session,
                    "recurring_instruction",
                    locus=" ".join(sorted(words)),
                    magnitude=len(events),
                    detail=text,
                    evidence=tuple(events[:5]),
                )


def _instructions(fleet: Fleet) -> Iterator[tuple[str, str, str]]:
    # The oldest wording names the pattern, so that its id stays when sessions are added.
    order = sorted(fleet.sessions, key=lambda s: (s.started_at or 0, s.session_uid))
    for session in order:
        # An agent wrote a subagent's prompts, not a person.
        if session.relation != "subagent":
            for event, text in msgspec.json.decode(session.directives, type=list[tuple[str, str]]):
                yield session.session_uid, event, text


DETECTOR = FleetDetector(
    type="recurring_instruction",
    title="The same instruction in session after session",
    advice="Put it into the agent's instruction file: {detail}",
    lesson="The user asks for this again and again, so do it unasked: {detail}",
    find=recurring_instruction,
)
