"""Read sources that are parts of a database: their changed rows become further lines."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from session_memory.adapters.agent import Rows
from session_memory.adapters.base import Cursor, SourceRef
from session_memory.adapters.databases import PART
from session_memory.adapters.registry import agent_or_substitute
from session_memory.collect.discover import Root
from session_memory.collect.native import Stat
from session_memory.store.sources import SourceRow

_INDEX = ".db-shm"
_FILES = (".db", ".db-wal", _INDEX)


def rows_of(flavor: str, ref: SourceRef) -> Rows | None:
    """Return the function that turns a part of a database into lines; None for another source."""
    return None if ref.stamp is None else agent_or_substitute(flavor).rows


def is_part(row: SourceRow) -> bool:
    """Whether a stored source is a part of a database."""
    return PART in Path(row.path).name and agent_or_substitute(row.flavor).rows is not None


def file_of(row: SourceRow) -> Path | None:
    """Return the file of a stored source; None for a part that is no longer in its database."""
    if not is_part(row):
        return Path(row.path)
    return None if row.vanished else Path(row.path.rpartition(PART)[0])


def changed_databases(where: list[Root], paths: Iterable[Path]) -> tuple[list[Root], list[Path]]:
    """Return the roots in which a database changed, and the paths that belong to no database.

    A write changes the write-ahead log beside a database. The index of that log is ignored, because
    reading changes it, too.
    """
    roots = [root for root in where if agent_or_substitute(root.flavor).rows is not None]
    changed: list[Root] = []
    others: list[Path] = []
    for path in paths:
        own = [root for root in roots if path.is_relative_to(root.path)]
        if not own or not path.name.endswith(_FILES):
            others.append(path)
        elif not path.name.endswith(_INDEX):
            changed += [root for root in own if root not in changed]
    return changed, others


def part_stat(ref: SourceRef) -> Stat:
    """Return a stat for a part of a database: its stamp as the time, and the file's inode."""
    found = Stat.of(ref.place.stat())
    return Stat(0, ref.stamp or 0, found.ctime_ns, found.inode)


@contextmanager
def following_lines(ref: SourceRef, row: SourceRow, rows: Rows) -> Iterator[BinaryIO]:
    """Yield a temporary file with the lines that follow the stored ones, at their offsets.

    In place of the stored lines it has a hole, which takes no space.
    """
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryFile() as file:
        if row.kept:
            file.seek(row.kept - 1)
            file.write(b"\n")
        for line in rows(ref, Cursor(row.read_to, row.cursor_state)):
            file.write(line)
        file.flush()
        file.seek(0)
        yield file
