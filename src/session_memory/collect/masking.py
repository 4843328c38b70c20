"""Masking while collecting: the masked bytes are the raw, and the source says from where on.

A mask is as long as what it hides, so every place, length and cursor keeps its meaning. What bytes
become depends on them alone, wherever a reader stopped before: a log is masked line by line, any
other source from its beginning.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import msgspec

from session_memory.collect.native import SEGMENT, Piece, pieces
from session_memory.core.roles import LOGS, SPILL
from session_memory.store.sources import SourceRow

Placed = tuple[int, bytes]

_LONGEST_KEY = 32 * 1024


# The rules take longer to load than a sync that finds nothing new, and most never mask.


def hide(data: bytes) -> bytes:
    from session_memory.redact import hide as hide_now  # noqa: PLC0415

    return hide_now(data)


def begin_hiding(row: SourceRow, wanted: bool, start: int) -> bool:
    """Whether to mask what is read from ``start`` on; a source once masked stays so."""
    if wanted and row.redacted_from is None:
        row.redacted_from = start
    return row.redacted_from is not None


def hidden_piece(piece: Piece) -> Piece:
    """A stretch of a log; of a line too long to hold the parts are masked one by one."""
    from session_memory.redact import hide_lines  # noqa: PLC0415

    data = hide_lines(piece.data)
    return piece if data is piece.data else Piece(piece.offset, data, piece.whole, piece.giant)


def hidden_spill(file: BinaryIO, start: int, size: int) -> Iterator[Placed]:
    """A body of any size from ``start`` on, masked, in pieces that end where no secret goes on."""
    file.seek(start)
    rest = b""
    while start + len(rest) < size:
        more = file.read(min(SEGMENT, size - start - len(rest)))
        if not more:
            break
        data = rest + more
        end = len(data) if start + len(data) >= size else _safe_end(data)
        yield start, hide(data[:end])
        start, rest = start + end, data[end:]
    if rest:
        yield start, hide(rest)


def _safe_end(data: bytes) -> int:
    """After a line, and before a key that is written on several lines."""
    end = data.rfind(b"\n") + 1 or len(data)
    begun = data.rfind(b"-----BEGIN", max(end - _LONGEST_KEY, 0), end)
    is_open = begun > 0 and data.find(b"-----END", begun, end) < 0
    return begun if is_open else end


def as_kept(row: SourceRow, file: BinaryIO) -> Iterator[Placed]:
    """The first bytes of a file, as many as were kept of it, as they would be kept today."""
    masked_from = min(row.redacted_from or 0, row.kept)
    if row.role in LOGS:
        file.seek(0)
        place = 0
        while place < masked_from and (data := file.read(min(SEGMENT, masked_from - place))):
            yield place, data
            place += len(data)
        for piece in pieces(file, masked_from, row.kept):
            yield piece.offset, hidden_piece(piece).data
        return
    start = 0
    if row.role != SPILL:
        file.seek(0)
        body = file.read(min(row.kept, SEGMENT))
        yield 0, hide(body)
        start = len(body)
    yield from hidden_spill(file, start, row.kept)


def masked_row(row: SourceRow) -> SourceRow:
    """The row of a source as if it had been masked from its beginning."""
    from session_memory.redact import mask  # noqa: PLC0415

    return msgspec.structs.replace(row, redacted_from=0, cursor_state=mask(row.cursor_state))


@contextmanager
def masked_copy(row: SourceRow, body: IO[bytes]) -> Iterator[BinaryIO]:
    """All bytes of such a source, masked, on disk, without a name."""
    with tempfile.TemporaryFile() as plain, tempfile.TemporaryFile() as masked:
        shutil.copyfileobj(body, plain)
        for _, data in as_kept(row, plain):
            masked.write(data)
        masked.seek(0)
        yield masked
