"""Find and read the tasks (sessions) of Roo Code."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import discover_tasks, storage_roots

EXTENSION = "rooveterinaryinc.roo-cline"


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return storage_roots(environ, home, EXTENSION)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the tasks below ``root``: a user's home, or the directory of Roo Code."""
    return discover_tasks(root, EXTENSION, loose=False)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    # Imported here: a sync asks every agent for its roots, but most users have no such tasks.
    from session_memory.adapters.editor_tasks.translate import read_task  # noqa: PLC0415

    return read_task(source, cursor, may_include_cache=True)
