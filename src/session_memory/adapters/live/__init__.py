"""Live sessions of our own store, as its reader gives them: one row is one line.

Evidence: docs/formats/live.md. There are no files: nothing is discovered, ``collect`` hands the
lines over. Where a row stands is said in its line; an offset counts rows.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.live.answer import restored, saved
from session_memory.adapters.live.translate import BOOKKEEPING, from_row, from_session
from session_memory.core.roles import DOCUMENT

__all__ = ["BOOKKEEPING", "FLAVOR", "VERSION", "discover", "read", "recognizes", "roots"]

FLAVOR = "live"
# Raise it whenever the same rows give other events: stores then offer a rebuild from them.
VERSION = 1


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return []


def discover(root: Path) -> Iterator[SourceRef]:
    return iter(())


def recognizes(head: bytes) -> bool:
    return False


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    ref = source.ref
    with source.open(cursor.offset) as stream:
        if ref.role == DOCUMENT:
            yield Cursor(1), from_session(ref, stream.read())
            return
        rows, answer = cursor.offset, restored(cursor.state)
        for _, length, line in jsonl.lines(stream, 0):
            rows += 1
            record = from_row(ref, length, line, answer)
            yield Cursor(rows, saved(answer)), record
