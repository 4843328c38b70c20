"""Find and read the tasks (sessions) of Roo Code."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import (
    IN_TERMINAL,
    discover_tasks,
    storage_roots,
    tasks_in,
)
from session_memory.adapters.log_files import directory_in

EXTENSION = "rooveterinaryinc.roo-cline"
# Here Roo Code keeps its tasks if it runs in a terminal instead of an editor.
_STORAGE = f"{IN_TERMINAL}/global-storage"


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the directories of the extension in each installed editor, and that of the program for
    a terminal if it is there."""
    terminal = home / _STORAGE
    return [*storage_roots(environ, home, EXTENSION), *([terminal] if terminal.is_dir() else [])]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the tasks below ``root``: a user's home, or a directory of Roo Code."""
    is_storage = root.parent.name == IN_TERMINAL
    tasks = directory_in(root, "tasks" if is_storage else f"{_STORAGE}/tasks")
    if tasks is not None:
        yield from tasks_in(tasks)
    if not is_storage:
        yield from discover_tasks(root, EXTENSION, loose=False)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    # Imported here: a sync asks every agent for its roots, but most users have no such tasks.
    from session_memory.adapters.editor_tasks.translate import read_task  # noqa: PLC0415

    return read_task(source, cursor, may_include_cache=True)
