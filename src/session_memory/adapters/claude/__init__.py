"""Claude Code: one JSONL file per session, one line per content block, lines linked by ``uuid``.

Evidence: docs/formats/claude.md. Lines are translated one by one; what needs the lines around
them is settled later (`session_memory.collect.settle`).
"""

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import DOCUMENT, SPILL, Cursor, Readable, Record, SourceRef
from session_memory.adapters.claude.layout import discover, recognizes, roots
from session_memory.adapters.claude.translate import (
    BOOKKEEPING,
    from_line,
    from_meta,
    session_named_in,
)

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "read", "recognizes", "roots"]

FLAVOR = "claude"
# Raise it whenever the same bytes give other events: stores then offer a rebuild from the raw.
VERSION = 1
LONGEST_WAIT = 1024 * 1024


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on; a meta document is a single one."""
    ref = source.ref
    if ref.role == SPILL:
        return
    with source.open(cursor.offset) as stream:
        if ref.role == DOCUMENT:
            body = stream.read()
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

    Once a line has named the session, the cursor remembers it.
    """
    session, waiting, held = cursor.state, [], 0
    for offset, length, line in jsonl.lines(stream, cursor.offset):
        if line is not None and line.isspace():
            continue
        session = session or session_named_in(line) or ""
        waiting.append((offset, length, line))
        held += length
        if session or held > LONGEST_WAIT:
            known = msgspec.structs.replace(ref, session=session)
            for place, size, text in waiting:
                yield Cursor(place + size, session), from_line(known, place, size, text)
            waiting, held = [], 0
