"""Read one part of a transcript by its number. The last part takes no longer than the first.

A part has the events at `SECTION` successive places (values of ``seq``). It has no events of
subagents; each subagent is a transcript of its own.
"""

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.store import Store
from session_memory.views.event_reader import EventReader
from session_memory.views.evicted import MissingEvents, readable_events
from session_memory.views.outline import SECTION
from session_memory.views.transcript_items import TranscriptEvent, TranscriptOptions


class TranscriptPart(msgspec.Struct, frozen=True):
    """The events of one part, in order. ``hidden`` is the number of events that were left out:
    bookkeeping, or without a text."""

    number: int
    first: int
    last: int
    events: tuple[TranscriptEvent, ...]
    hidden: int
    missing: MissingEvents | None = None


def section_of(seq: int) -> int:
    """Return the number of the part that has the event at ``seq``."""
    return seq // SECTION


def transcript_part(
    store: Store, uid: str, number: int, options: TranscriptOptions
) -> TranscriptPart:
    """Return part ``number`` (from 0) of a session, with the events that it inherited."""
    session = store.sessions.get(uid)
    if session is None:
        raise UnknownSession(uid)
    read, missing = readable_events(store, uid)
    row = read.sessions.row(uid)
    first, last = number * SECTION, (number + 1) * SECTION - 1
    if row is None:
        return TranscriptPart(number, first, last, (), 0, missing)
    reader = EventReader(read, session, options, 0)
    # The calls of the first results may be in the part before. Their times give the durations.
    placed = read.events.between(row.id, uid, max(first - SECTION, 0), last)
    for _, _, event in placed:
        if event.seq < first:
            reader.note_call(event)
    admitted = [one for one in placed if one[0] >= first and options.admits(one[2])]
    shown = [reader.of(*one) for one in admitted]
    events = tuple(one for one in shown if one is not None)
    return TranscriptPart(number, first, last, events, len(shown) - len(events), missing)
