"""Native files: how one changed since it was read, and its bytes in pieces of bounded size."""

import io
import os
import shutil
import stat as modes
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from session_memory.adapters.agent import Dump
from session_memory.adapters.base import SourceRef
from session_memory.adapters.registry import agent_or_substitute
from session_memory.derive.forgotten import blanked
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

SEGMENT = 4 * 1024 * 1024
TAIL = 4096
MANY_LINES = 4000
WINDOW = 64 * 1024
# A line this long is not parsed. jsonl.MAX_LINE must be the same.
LONGEST_LINE = 64 * 1024 * 1024
# A log compresses by a factor of five to thirty. A larger factor than this is an attack.
MOST_RATIO = 1000
TRIES = 10
UNPACKING: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 25}
MOST_UNPACKED = 8 * 1024**3


class Stat(msgspec.Struct, frozen=True):
    """A file's size, times and inode. When all are equal, nothing was written."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stat":
        # Some file systems have inodes and times that are too large for a database.
        values = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        return cls(*(value if abs(value) < 1 << 63 else value % (1 << 63) for value in values))

    def matches(self, row: SourceRow) -> bool:
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode) == (
            row.size,
            row.mtime_ns,
            row.ctime_ns,
            row.inode,
        )


class FilePiece(msgspec.Struct):
    """Bytes of a file from ``offset`` on. The first ``whole`` of them are whole lines.

    ``giant`` is the length of a line that is too long to hold, in the piece with its end.
    """

    offset: int
    data: bytes
    whole: int
    giant: int = 0


class MemorySource:
    """A piece of a file, as an adapter reads it."""

    def __init__(self, ref: SourceRef, piece: FilePiece) -> None:
        self.ref = ref
        self._piece = piece

    def open(self, offset: int) -> BinaryIO:
        piece = self._piece
        return io.BytesIO(piece.data[max(offset - piece.offset, 0) : piece.whole])


class FileSource:
    """A native file itself."""

    def __init__(self, ref: SourceRef) -> None:
        self.ref = ref

    def open(self, offset: int) -> BinaryIO:
        file = opened(self.ref.path)
        file.seek(offset)
        return file


class GiantLine:
    """A line that is too long to hold, filled with zeros: an adapter needs only its length.

    It is not read again from the file, which may have changed meanwhile.
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


def opened(path: Path) -> BinaryIO:
    """Open a regular file for reading. Anything else is refused: a pipe would block for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not modes.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return os.fdopen(descriptor, "rb")


@contextmanager
def unpacked(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """The file itself; of a compressed file, its content in a temporary file of bounded size."""
    if path.suffix != ".zst":
        yield file
        return
    most = min(max(os.fstat(file.fileno()).st_size * MOST_RATIO, SEGMENT), MOST_UNPACKED)
    with tempfile.TemporaryFile() as plain:
        try:
            packed = zstd.open(file, "rb", options=UNPACKING)
            while data := packed.read(SEGMENT):
                if plain.tell() + len(data) > most:
                    raise OSError(f"{path.name} holds more than {most:,} bytes, unpacked")
                plain.write(data)
        except (zstd.ZstdError, EOFError) as error:
            raise OSError(f"{path.name} cannot be unpacked: {error}") from error
        plain.flush()
        plain.seek(0)
        yield plain


def dump_of(flavor: str) -> Dump | None:
    """The function that turns a flavor's databases into lines; None when its sources are files."""
    return agent_or_substitute(flavor).dump


def database_stat(path: Path) -> Stat:
    """The stat of a database together with its write-ahead log."""
    stat = Stat.of(path.stat())
    try:
        log = Stat.of(Path(f"{path}-wal").stat())
    except FileNotFoundError:
        return stat
    return Stat(
        stat.size + log.size,
        max(stat.mtime_ns, log.mtime_ns),
        max(stat.ctime_ns, log.ctime_ns),
        stat.inode,
    )


@contextmanager
def dumped(ref: SourceRef, dump: Dump) -> Iterator[BinaryIO]:
    """The rows of a database as lines, in a temporary file."""
    with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
        copy = copied_database(ref.place, Path(directory))
        with tempfile.TemporaryFile() as plain:
            for line in dump(copy, ref):
                plain.write(line)
            plain.flush()
            plain.seek(0)
            yield plain


def copied_database(path: Path, directory: Path) -> Path:
    """Copy a database, so that the agent's own is neither locked nor written to.

    The copy is good when the file did not change meanwhile. What is appended to the write-ahead
    log does no harm: a transaction that is cut off in the copy is ignored.
    """
    copy = directory / "copy.db"
    for _ in range(TRIES):
        before, first = Stat.of(path.stat()), _log_head(path)
        shutil.copyfile(path, copy)
        if first:
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        if (Stat.of(path.stat()), _log_head(path)) == (before, first):
            return copy
        Path(f"{copy}-wal").unlink(missing_ok=True)
    raise OSError(f"{path.name} is being written to all the time")


def _log_head(path: Path) -> bytes:
    try:
        with Path(f"{path}-wal").open("rb") as log:
            return log.read(32)
    except FileNotFoundError:
        return b""


def pieces(file: BinaryIO, offset: int, size: int) -> Iterator[FilePiece]:
    """The file from ``offset`` to ``size``, cut at line ends; the last line may be torn.

    A line that is too long to hold comes in pieces without a whole line. The piece with its end
    has its length (``giant``).
    """
    file.seek(offset)
    rest = b""
    begun = offset
    while offset + len(rest) < size:
        data = file.read(min(SEGMENT, size - offset - len(rest)))
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
            yield from _of_few_lines(offset, data)
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
        yield FilePiece(offset, rest, 0)


def _of_few_lines(offset: int, data: bytes) -> Iterator[FilePiece]:
    """Whole lines, in several pieces when they are many: memory holds all records of a piece."""
    if data.count(b"\n") <= MANY_LINES:
        yield FilePiece(offset, data, len(data))
        return
    start = end = lines = 0
    while end < len(data):
        begin, end = end, data.find(b"\n", min(end + WINDOW, len(data) - 1)) + 1
        lines += data.count(b"\n", begin, end)
        if lines >= MANY_LINES or end == len(data):
            yield FilePiece(offset + start, data[start:end], end - start)
            start, lines = end, 0


def bytes_between(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a file from ``start`` to ``end`` in pieces, each with its offset."""
    file.seek(start)
    while start < end and (data := file.read(min(SEGMENT, end - start))):
        yield start, data
        start += len(data)


def tail_hash(data: bytes) -> str:
    """The hash of the last bytes, by which a grown file is recognized."""
    return sha256(data[-TAIL:]).hexdigest()[:32]


class AsKept(Protocol):
    """The first bytes of a file, masked as they are stored, in pieces with their offsets."""

    def __call__(self, row: SourceRow, file: BinaryIO) -> Iterator[tuple[int, bytes]]: ...


def change_of(store: Store, row: SourceRow, file: BinaryIO, stat: Stat, as_kept: AsKept) -> str:
    """Whether a file is the ``same``, has ``grown``, or was ``rewritten``.

    Of a file that grew in place only the last bytes that were kept are compared. A file of the
    same size, or with another inode, is compared in full.
    """
    if stat.size < row.kept:
        return "rewritten"
    if stat.size > row.kept and stat.inode == row.inode:
        file.seek(max(row.kept - TAIL, 0))
        return "grown" if _hash_to(file, row.kept) == row.tail_hash else "rewritten"
    if not _begins_with(store, row, file, as_kept):
        return "rewritten"
    return "same" if stat.size == row.kept else "grown"


def _begins_with(store: Store, row: SourceRow, file: BinaryIO, as_kept: AsKept) -> bool:
    """Whether a file begins with what was kept of it, apart from forgotten records."""
    masks, place = store.retention.masks(row.id), 0
    evicted = store.retention.evicted_source(row.id)
    if evicted is not None:
        placed = (
            bytes_between(file, 0, row.kept) if row.redacted_from is None else as_kept(row, file)
        )
        return _begins_with_both(store, row, placed, evicted.digest)
    if row.redacted_from is not None:
        now = sha256()
        for start, data in as_kept(row, file):
            now.update(blanked(data, start, masks))
        return now.hexdigest() == _digest(store.raw.pieces(row.id))
    for stored in store.raw.pieces(row.id):
        if blanked(file.read(len(stored)), place, masks) != stored:
            return False
        place += len(stored)
    return True


def _begins_with_both(
    store: Store, row: SourceRow, placed: Iterator[tuple[int, bytes]], archived: str
) -> bool:
    """Compare the evicted part by its hash, and the part that came later with the raw."""
    masks, first = store.retention.masks(row.id), store.retention.evicted_up_to(row.id, row.kept)
    away, here = sha256(), sha256()
    for start, data in placed:
        now = blanked(data, start, masks)
        cut = max(first - start, 0)
        away.update(now[:cut])
        here.update(now[cut:])
    same = not first or away.hexdigest() == archived
    return same and here.hexdigest() == _digest(store.raw.pieces(row.id))


def _digest(pieces_of_it: Iterator[bytes]) -> str:
    digest = sha256()
    for piece in pieces_of_it:
        digest.update(piece)
    return digest.hexdigest()


def _hash_to(file: BinaryIO, end: int) -> str:
    return tail_hash(file.read(end - file.tell()))
