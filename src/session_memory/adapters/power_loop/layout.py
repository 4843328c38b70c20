"""Find the databases of power-loop.

The program that uses power-loop decides where its database is. By default it is
``power_loop_sessions.db`` in the directory where the program runs.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import is_an_agents
from session_memory.adapters.power_loop.tables import prefixes
from session_memory.core.roles import DOCUMENT, LOG

DEFAULT = "power_loop_sessions.db"
HOME = ".power_loop"
MESSAGES, USAGE, SESSIONS = "messages.jsonl", "usage.jsonl", "sessions.jsonl"
_ENDINGS = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
# power-loop creates its tables first, so the beginning of a write-ahead log has their definitions.
_SNIFFED = 1 << 18


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the database of a program that was started in the user's home. The user can configure
    other databases."""
    return [home / DEFAULT]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield ``root`` if it is a database, the database in a user's home, or every database below
    any other directory."""
    if root.is_file():
        yield from _database(root, root.parent)
    elif is_an_agents(root):
        yield from _database(root / DEFAULT, root)
    elif root.is_dir():
        for directory, below, names in os.walk(root):
            below.sort()
            for name in sorted(names):
                if name.endswith(_ENDINGS):
                    yield from _database(Path(directory, name), root)


def log_at(path: Path) -> SourceRef | None:
    """Return the database that a user names by its file or its directory; None unless there is
    exactly one."""
    refs = list(discover(path))
    return refs[0] if len(refs) == 1 and isinstance(refs[0], SourceRef) else None


def _database(path: Path, root: Path) -> Iterator[SourceRef | Unlisted]:
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            if not recognizes(file.read(len(_MAGIC))):
                return
    except OSError as error:
        yield Unlisted(path, error.strerror or str(error))
        return
    if path.name != DEFAULT and not (_has_tables(path) or _will_have_tables(path)):
        return
    place = "/".join((HOME, *path.relative_to(root).parts))
    beside = (
        SourceRef(Path(f"{path}#usage"), LOG, f"{place}/{USAGE}", at=path),
        SourceRef(Path(f"{path}#sessions"), DOCUMENT, f"{place}/{SESSIONS}", at=path),
    )
    yield SourceRef(path, LOG, f"{place}/{MESSAGES}", companions=beside)


def _has_tables(path: Path) -> bool:
    """Whether a database has power-loop's tables. Opening it takes no lock and creates no file."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        db = apsw.Connection(f"{path.absolute().as_uri()}?immutable=1", flags=flags)
        try:
            return bool(prefixes(db))
        finally:
            db.close()
    except apsw.Error:
        return False


def _will_have_tables(path: Path) -> bool:
    """Whether power-loop's tables are in the write-ahead log beside a database.

    While the first program that uses the database runs, or if that program was killed, the tables
    are not in the database itself.
    """
    try:
        with Path(f"{path}-wal").open("rb") as file:
            head = file.read(_SNIFFED)
    except OSError:
        return False
    return all(name in head for name in (b"spawn_tool_call_id", b"compact_seq"))


def recognizes(head: bytes) -> bool:
    """Whether a file is a SQLite database. Only its tables tell whether it is power-loop's."""
    return head.startswith(_MAGIC)
