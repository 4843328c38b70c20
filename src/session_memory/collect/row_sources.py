"""Sources that are parts of a database: their rows as lines that follow those in the store."""

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
    """The function that gives the lines of a part of a database; None for any other source."""
    return None if ref.stamp is None else agent_or_substitute(flavor).rows


def is_part(row: SourceRow) -> bool:
    """Whether a stored source is a part of a database."""
    return PART in Path(row.path).name and agent_or_substitute(row.flavor).rows is not None


def file_of(row: SourceRow) -> Path | None:
    """The file that a stored source is in; None for a part that is no longer in its database."""
    if not is_part(row):
        return Path(row.path)
    return None if row.vanished else Path(row.path.rpartition(PART)[0])


def changed_databases(where: list[Root], paths: Iterable[Path]) -> tuple[list[Root], list[Path]]:
    """The roots of which a database changed, and the paths that are no part of a database.

    What changes is the write-ahead log beside a database. Its index says nothing; reading changes
    it, too.
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
    """The stat of a part: its stamp in place of a time, and the inode of the database."""
    found = Stat.of(ref.place.stat())
    return Stat(0, ref.stamp or 0, found.ctime_ns, found.inode)


@contextmanager
def following_lines(ref: SourceRef, row: SourceRow, rows: Rows) -> Iterator[BinaryIO]:
    """The lines that follow those in the store, at their offsets in a temporary file.

    What is stored already is a hole in this file, which takes no space.
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
