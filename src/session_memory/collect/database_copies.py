"""Read an agent's database as lines, from a copy of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from session_memory.adapters.agent import Dump
from session_memory.adapters.base import SourceRef
from session_memory.adapters.registry import agent_or_substitute
from session_memory.collect.native import Stat

# How often a copy is tried while the database is written to.
TRIES = 10


def dump_of(flavor: str) -> Dump | None:
    """The function that turns a flavor's databases into lines; None when its sources are files."""
    return agent_or_substitute(flavor).dump


def database_stat(path: Path) -> Stat:
    """Return size, times and inode of a database together with its write-ahead log."""
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
    """Copy a database, and yield a temporary file with its rows as lines."""
    import tempfile  # noqa: PLC0415

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

    The copy is good if the database file did not change meanwhile. An appended write-ahead log does
    no harm: SQLite ignores a transaction that is cut off in the copy.
    """
    import shutil  # noqa: PLC0415

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
