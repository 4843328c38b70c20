"""Read logs that are plain text: one record for each line that is not blank.

The agent is still writing a last line without a newline, so that line is left out.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO, TypeVar

import msgspec

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.cursor_state import StateText

S = TypeVar("S", bound=msgspec.Struct)

MAX_LINE = 16 * 1024 * 1024
"""A longer line is a problem: neither a person nor a model writes one."""
_PIECE = 1024 * 1024

FromText = Callable[[SourceRef, S, int, bytes | None, int], Record]
"""A function that translates one line. Its arguments are the source, the state, the offset of the
line, the line without its newline (None if it is too long), and its length."""


def read_text(
    source: Readable, cursor: Cursor, texts: StateText[S], from_text: "FromText[S]"
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records after ``cursor`` of a text whose lines need a state to be translated."""
    state = texts.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        for offset, length, line in _lines(stream, cursor.offset):
            record = from_text(source.ref, state, offset, line, length)
            yield Cursor(offset + length, texts.saved(state)), record


def _lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes | None]]:
    while line := stream.readline(MAX_LINE):
        size, is_whole = len(line), line.endswith(b"\n")
        if not is_whole and size < MAX_LINE:
            return
        if not is_whole:
            rest = _rest(stream)
            if rest is None:
                return
            yield offset, size + rest - 1, None
            size += rest
        elif line.strip():
            kept = line[:-1].removesuffix(b"\r")
            yield offset, len(kept), kept
        offset += size


def _rest(stream: BinaryIO) -> int | None:
    """Skip the rest of a line that is too long and return its size; None if the file ends first."""
    skipped = 0
    while piece := stream.readline(_PIECE):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            return skipped
    return None
