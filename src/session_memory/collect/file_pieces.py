"""Read a file in pieces of bounded size, cut at line ends."""

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import SourceRef

SEGMENT = 4 * 1024 * 1024
MANY_LINES = 4000
# In a store that others use, a piece is smaller, so that the transaction that writes it is short.
SHORT_SEGMENT = 512 * 1024
SHORT_LINES = 400
WINDOW = 64 * 1024
# A line this long is not parsed. jsonl.MAX_LINE must be the same.
LONGEST_LINE = 64 * 1024 * 1024


class FilePiece(msgspec.Struct):
    """Bytes of a file from ``offset`` on. The first ``whole`` of them are whole lines, or whole
    records of a last line without a newline.

    ``giant``: if the piece ends a line that is too long for memory, the length of that line.
    """

    offset: int
    data: bytes
    whole: int
    giant: int = 0


def pieces(file: BinaryIO, offset: int, size: int, *, short: bool = False) -> Iterator[FilePiece]:
    """Yield a file from ``offset`` to ``size``, cut at line ends; the last line may lack its end.

    A line that is too long for memory comes in pieces without a whole line. Its last piece has the
    length of the line (``giant``).
    """
    file.seek(offset)
    rest = b""
    begun = offset
    lines = SHORT_LINES if short else MANY_LINES
    while offset + len(rest) < size:
        # In a long line, read more at once: each read copies the part of the line that was read
        # before.
        segment = min(SEGMENT, max(SHORT_SEGMENT, len(rest))) if short else SEGMENT
        data = file.read(min(segment, size - offset - len(rest)))
        if not data:
            break
        data = rest + data
        whole = data.rfind(b"\n") + 1
        if whole and offset > begun:
            # This is the end of a giant line, up to its newline.
            end = data.find(b"\n") + 1
            yield FilePiece(offset, data[:end], end, giant=offset + end - begun)
            offset += end
            begun, rest = offset, data[end:]
            if not rest.rfind(b"\n") + 1:
                continue
            data, whole, rest = rest, rest.rfind(b"\n") + 1, b""
        if whole:
            # Memory must hold the lines once, not twice: they may be very long.
            data, rest = data[:whole], data[whole:]
            yield from _of_few_lines(offset, data, lines)
            offset += whole
            begun = offset
        elif len(data) >= LONGEST_LINE or offset > begun:
            rest = b""
            for start in range(0, len(data), SEGMENT):
                yield FilePiece(offset + start, data[start : start + SEGMENT], 0)
            offset += len(data)
        else:
            rest = data
    if rest:
        yield FilePiece(offset, rest, jsonl.end_of_objects(rest))


def _of_few_lines(offset: int, data: bytes, most: int) -> Iterator[FilePiece]:
    """Yield whole lines, in several pieces if there are many lines: memory must hold all records of
    a piece."""
    if data.count(b"\n") <= most:
        yield FilePiece(offset, data, len(data))
        return
    start = end = lines = 0
    while end < len(data):
        begin, end = end, data.find(b"\n", min(end + WINDOW, len(data) - 1)) + 1
        lines += data.count(b"\n", begin, end)
        if lines >= most or end == len(data):
            yield FilePiece(offset + start, data[start:end], end - start)
            start, lines = end, 0


def bytes_between(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file from ``start`` to ``end`` in pieces, each with its offset."""
    file.seek(start)
    while start < end and (data := file.read(min(SEGMENT, end - start))):
        yield start, data
        start += len(data)


class MemorySource:
    """A piece of a file in memory, as a source that an adapter can read."""

    def __init__(self, ref: SourceRef, piece: FilePiece) -> None:
        self.ref = ref
        self._piece = piece

    def open(self, offset: int) -> BinaryIO:
        piece = self._piece
        return io.BytesIO(piece.data[max(offset - piece.offset, 0) : piece.whole])


class GiantLine:
    """A source that stands for a line too long for memory: as many zeros as the line has bytes.

    An adapter needs only the length. The file is not read again, because it may have changed.
    """

    def __init__(self, ref: SourceRef, length: int) -> None:
        self.ref = ref
        self._length = length

    def open(self, offset: int) -> BinaryIO:
        return io.BufferedReader(_Filler(self._length), SEGMENT)


class _Filler(io.RawIOBase):
    def __init__(self, length: int) -> None:
        self._left = length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self._left)
        self._left -= count
        buffer[:count] = bytes(count) if self._left or not count else bytes(count - 1) + b"\n"
        return count
