"""Mask secrets while logs are collected.

Only the masked bytes are stored. ``redacted_from`` of a source says from which byte on it
is masked. A mask is as long as the secret it replaces, so every offset and length stays valid.
A log is masked line by line, any other source from its beginning. So the result does not depend
on where an earlier sync stopped.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

import msgspec

from session_memory.collect.file_pieces import SEGMENT, FilePiece, bytes_between, pieces
from session_memory.core.roles import LOGS, SPILL
from session_memory.store.sources import SourceRow

PlacedBytes = tuple[int, bytes]
"""Bytes of a source and their offset."""

_LONGEST_KEY = 32 * 1024


# The functions below import the rules when they are called. Loading the rules takes longer than a
# sync that finds nothing new, and most syncs mask nothing.


def mask_bytes(data: bytes) -> bytes:
    """``data`` with every secret masked."""
    from session_memory.redact import hide  # noqa: PLC0415

    return hide(data)


def begin_masking(row: SourceRow, redact: bool, start: int) -> bool:
    """Return whether to mask a source, which is read from ``start`` on; set ``redacted_from`` of
    its row.

    Once masked, a source is always masked, even without ``redact``.
    """
    if redact and row.redacted_from is None:
        row.redacted_from = start
    return row.redacted_from is not None


def masked_piece(piece: FilePiece) -> FilePiece:
    """Mask a piece of a log.

    The pieces of a line that is too long for memory are masked one by one.
    """
    from session_memory.redact import hide_lines  # noqa: PLC0415

    data = hide_lines(piece.data)
    return piece if data is piece.data else FilePiece(piece.offset, data, piece.whole, piece.giant)


def masked_spill(file: BinaryIO, start: int, size: int) -> Iterator[PlacedBytes]:
    """Yield a file of any size from ``start`` on, masked. Pieces end where no secret is cut."""
    file.seek(start)
    rest = b""
    while start + len(rest) < size:
        more = file.read(min(SEGMENT, size - start - len(rest)))
        if not more:
            break
        data = rest + more
        end = len(data) if start + len(data) >= size else _safe_end(data)
        yield start, mask_bytes(data[:end])
        start, rest = start + end, data[end:]
    if rest:
        yield start, mask_bytes(rest)


def _safe_end(data: bytes) -> int:
    """Return where to cut: after a line, and before a private key that is not read to its end."""
    end = data.rfind(b"\n") + 1 or len(data)
    begun = data.rfind(b"-----BEGIN", max(end - _LONGEST_KEY, 0), end)
    is_open = begun > 0 and data.find(b"-----END", begun, end) < 0
    return begun if is_open else end


def as_kept(row: SourceRow, file: BinaryIO) -> Iterator[PlacedBytes]:
    """Yield the first ``row.kept`` bytes of a file, masked as a sync of today would store them."""
    masked_from = min(row.redacted_from or 0, row.kept)
    if row.role in LOGS:
        yield from bytes_between(file, 0, masked_from)
        for piece in pieces(file, masked_from, row.kept):
            yield piece.offset, masked_piece(piece).data
        return
    start = 0
    if row.role != SPILL:
        file.seek(0)
        body = file.read(min(row.kept, SEGMENT))
        yield 0, mask_bytes(body)
        start = len(body)
    yield from masked_spill(file, start, row.kept)


def masked_row(row: SourceRow) -> SourceRow:
    """Return a copy of a source's row that says that the source is masked from its first byte."""
    from session_memory.redact import mask  # noqa: PLC0415

    return msgspec.structs.replace(row, redacted_from=0, cursor_state=mask(row.cursor_state))


@contextmanager
def masked_copy(row: SourceRow, body: IO[bytes]) -> Iterator[BinaryIO]:
    """Yield a temporary file with all bytes of a source, masked."""
    with tempfile.TemporaryFile() as plain, tempfile.TemporaryFile() as masked:
        shutil.copyfileobj(body, plain)
        for _, data in as_kept(row, plain):
            masked.write(data)
        masked.seek(0)
        yield masked
