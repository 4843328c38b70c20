"""The tasks of Kilo Code."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import discover_tasks, storage_roots
from session_memory.adapters.editor_tasks.translate import read_task

EXTENSION = "kilocode.kilo-code"


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return storage_roots(environ, home, EXTENSION)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """The tasks below a home or the directory of Kilo Code."""
    return discover_tasks(root, EXTENSION, loose=False)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on."""
    return read_task(source, cursor, may_include_cache=True)
