"""Claude Code: one JSONL file per session, one line per content block, lines linked by ``uuid``.

Evidence: docs/formats/claude.md. Lines are translated one by one; what needs the lines around
them is settled later (`session_memory.derive.settle`).
"""

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.claude.layout import discover, recognizes, roots
from session_memory.adapters.claude.translate import (
    BOOKKEEPING,
    from_line,
    from_meta,
    session_named_in,
)
from session_memory.core.roles import DOCUMENT, SPILL

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "read", "recognizes", "roots"]

FLAVOR = "claude"
# Raise it whenever the same bytes give other events: stores then offer a rebuild from the raw.
VERSION = 2
# Well below what collect hands over at once, or the wait would never end.
LONGEST_WAIT = 1024 * 1024
MOST_WAITING = 500
LONGEST_DOCUMENT = 1024 * 1024


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a meta document is a single one."""
    ref = source.ref
    if ref.role == SPILL:
        return
    with source.open(cursor.offset) as stream:
        if ref.role == DOCUMENT:
            body = stream.read(LONGEST_DOCUMENT)
            # Nothing yet: the agent has created it and will write it in a moment.
            if body and not cursor.offset:
                yield Cursor(len(body)), from_meta(ref, body)
        elif ref.agent and not ref.session:
            yield from _of_a_subagent_beside_its_session(ref, stream, cursor)
        else:
            for offset, length, line in jsonl.lines(stream, cursor.offset):
                if line is None or not line.isspace():
                    yield Cursor(offset + length), from_line(ref, offset, length, line)


def _of_a_subagent_beside_its_session(
    ref: SourceRef, stream: BinaryIO, cursor: Cursor
) -> Iterator[tuple[Cursor, Record]]:
    """Only the lines say whose subagent it is, and the first ones may not: those wait.

    A line of the conversation that names no session ends the wait too: none will. The cursor
    remembers the answer behind a ``=``.
    """
    session, decided = cursor.state[1:], bool(cursor.state)
    waiting: list[tuple[int, int, bytes | None]] = []
    held = 0
    for offset, length, line in jsonl.lines(stream, cursor.offset):
        if line is not None and line.isspace():
            continue
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
