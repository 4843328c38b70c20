"""Find and read sessions of Kilo Code: the tasks of its old editor extension, and the database of
the program since 7.0."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import discover_tasks, storage_roots
from session_memory.adapters.gathered import files_below, is_an_agents
from session_memory.adapters.opencode import layout, source
from session_memory.core.roles import LOG

EXTENSION = "kilocode.kilo-code"
PROGRAM = "kilo"


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the directory of the program, and the directories of the old extension in each
    installed editor."""
    tasks = storage_roots(environ, home, EXTENSION)
    return [*layout.data_roots(environ, home, PROGRAM), *tasks]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each session below ``root``.

    ``root`` is a home directory, a directory of Kilo Code, or another directory with databases of
    Kilo Code.
    """
    base = layout.own_base(root, PROGRAM)
    if base is not None:
        yield from layout.own_sessions(base, PROGRAM)
    elif root.is_dir() and not is_an_agents(root):
        for name, problem in files_below(str(root)):
            path = Path(name)
            if not problem and path.match(f"{PROGRAM}*.db"):
                yield from layout.sessions_of(path, PROGRAM, set(), root)
    yield from discover_tasks(root, EXTENSION, loose=False)


def read(origin: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    if origin.ref.role == LOG:
        return source.read(origin, cursor)
    # Imported here: a sync asks every agent for its roots, but most users have no such tasks.
    from session_memory.adapters.editor_tasks.translate import read_task  # noqa: PLC0415

    return read_task(origin, cursor, may_include_cache=True)
