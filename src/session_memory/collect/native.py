"""Open agents' log files, and tell how one changed since it was read."""

import os
import stat as modes
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from session_memory.adapters.base import SourceRef
from session_memory.collect.file_pieces import SEGMENT, bytes_between
from session_memory.derive.forgotten import blanked
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

TAIL = 4096
# A log compresses by a factor of five to thirty. A larger factor than this is an attack.
MOST_RATIO = 1000
UNPACKING: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 25}
MOST_UNPACKED = 8 * 1024**3


class Stat(msgspec.Struct, frozen=True):
    """A file's size, times and inode.

    If size, time of writing and inode are equal, the file counts as unchanged. The time of change
    (``ctime_ns``) does not matter: a backup, a chmod or a hard link sets it too.
    """

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
        return (self.size, self.mtime_ns, self.inode) == (row.size, row.mtime_ns, row.inode)


class FileSource:
    """A log file on disk, as a source that an adapter can read."""

    def __init__(self, ref: SourceRef) -> None:
        self.ref = ref

    def open(self, offset: int) -> BinaryIO:
        file = opened(self.ref.path)
        file.seek(offset)
        return file


def opened(path: Path) -> BinaryIO:
    """Open a regular file for reading. Anything else is refused: a pipe would block for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not modes.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


@contextmanager
def unpacked(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield the file itself; for a ``.zst`` file, a temporary file with its content, of bounded
    size."""
    if path.suffix != ".zst":
        yield file
        return
    # Compressed logs are rare.
    import tempfile  # noqa: PLC0415

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


def tail_hash(data: bytes) -> str:
    """The hash of the last bytes, by which a grown file is recognized."""
    return sha256(data[-TAIL:]).hexdigest()[:32]


class AsKept(Protocol):
    """A function that yields the first bytes of a file, masked as in the store, with offsets."""

    def __call__(self, row: SourceRow, file: BinaryIO) -> Iterator[tuple[int, bytes]]: ...


def change_of(store: Store, row: SourceRow, file: BinaryIO, stat: Stat, as_kept: AsKept) -> str:
    """Whether a file is the ``same``, has ``grown``, or was ``rewritten``.

    If a file grew in place, only the last stored bytes are compared. A file of the same size, or
    with another inode, is compared in full.
    """
    if stat.size < row.kept:
        return "rewritten"
    if stat.size > row.kept and stat.inode == row.inode:
        return "grown" if grew_in_place(row, file, stat) else "rewritten"
    if not _begins_with(store, row, file, as_kept):
        return "rewritten"
    return "same" if stat.size == row.kept else "grown"


def grew_in_place(row: SourceRow, file: BinaryIO, stat: Stat) -> bool:
    """Whether bytes were only appended to a file, judged by the last bytes that were stored."""
    if stat.size <= row.kept or stat.inode != row.inode:
        return False
    file.seek(max(row.kept - TAIL, 0))
    return _hash_to(file, row.kept) == row.tail_hash


def _begins_with(store: Store, row: SourceRow, file: BinaryIO, as_kept: AsKept) -> bool:
    """Whether a file begins with the bytes stored of it, apart from forgotten records."""
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
    """Whether a file begins with the evicted part, by its hash, and goes on as the stored logs."""
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
