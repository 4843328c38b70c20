"""Read a source of Claude Code: a log, a subagent's log, or a subagent's meta document."""

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.claude.translate import from_line, from_meta, session_named_in
from session_memory.adapters.documents import read_document
from session_memory.core.roles import DOCUMENT, SPILL

# The most bytes and lines that wait until a line names the session. A sync reads a log in parts,
# which must be much larger than this. If a part ended while lines wait, every later sync would stop
# at the same place.
LONGEST_WAIT = 1024 * 1024
MOST_WAITING = 500


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``. A meta document is a single record; the files
    of long tool outputs have none."""
    ref = source.ref
    if ref.role == SPILL:
        return
    if ref.role == DOCUMENT:
        yield from read_document(source, cursor, from_meta)
        return
    with source.open(cursor.offset) as stream:
        if ref.agent and not ref.session:
            yield from _of_a_subagent_beside_its_session(ref, stream, cursor)
        else:
            for end, record in jsonl.records(stream, cursor.offset, partial(from_line, ref)):
                yield Cursor(end), record


def _of_a_subagent_beside_its_session(
    ref: SourceRef, stream: BinaryIO, cursor: Cursor
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a subagent's log that is in the same directory as its session's log.

    The session is named in the lines only, and perhaps not in the first ones. The first lines wait
    until a line names the session, or until a line of the conversation does not name it. From then
    on, the state in the cursor is ``=`` with the session's name.
    """
    session, decided = cursor.state[1:], bool(cursor.state)
    waiting: list[tuple[int, int, bytes | None]] = []
    held = 0
    for offset, length, line in jsonl.split_lines(stream, cursor.offset):
        if not decided:
            record = from_line(ref, offset, length, line)
            if record.problem is not None and not waiting:
                yield Cursor(offset + length), record
                continue
            session = session_named_in(line) or ""
            decided = bool(session or record.native_id or record.usage)
        waiting.append((offset, length, line))
        held += length
        if decided or held > LONGEST_WAIT or len(waiting) >= MOST_WAITING:
            decided = True
            known = msgspec.structs.replace(ref, session=session)
            for place, size, text in waiting:
                yield Cursor(place + size, f"={session}"), from_line(known, place, size, text)
            waiting, held = [], 0
