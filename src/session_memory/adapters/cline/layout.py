"""Find the files of Cline's sessions.

data/sessions/<session>/<session>.messages.json     a session
data/sessions/<session>/<agent>.messages.json       a subagent
data/sessions/<session>/<session>.json              what Cline says about the session
data/sessions/<session>/<session>.compaction.json   what the model gets after a compaction
data/tasks/<task>                                   a task of the extension, or of an older CLI
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import (
    discover_tasks,
    storage_roots,
    tasks_in,
)
from session_memory.adapters.editor_tasks.layout import recognizes as recognizes_task
from session_memory.adapters.log_files import directory_in, logs, own_directory
from session_memory.core.roles import DOCUMENT, REWRITTEN

EXTENSION = "saoudrizwan.claude-dev"
_PREFIX = ".cline/data/sessions"
_SUFFIX, _META = ".messages.json", ".json"
COMPACTION = ".compaction.json"
_HEAD = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"updated_at":\s*"[^"]{1,40}",\s*"agent":\s*"')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$CLINE_SESSION_DATA_DIR`` or ``$CLINE_DATA_DIR`` if set, else ``~/.cline/data``; and
    the directories of the editor extension."""
    given = environ.get("CLINE_SESSION_DATA_DIR") or environ.get("CLINE_DATA_DIR")
    own = Path(given).expanduser() if given else home / ".cline" / "data"
    return [own, *storage_roots(environ, home, EXTENSION)]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions and tasks below ``root``.

    ``root`` is a home directory, a directory of Cline, or any other directory with its
    documents.
    """
    place = root / "data" if root.name == ".cline" else root
    base = own_directory(place, ".cline/data", "sessions", f"*/*{_SUFFIX}", recognizes)
    yield from logs(root, base, _SUFFIX, recognizes, _ref, _loose_ref)
    tasks = directory_in(place, "tasks" if place.name == "data" else ".cline/data/tasks")
    if tasks is not None:
        yield from tasks_in(tasks)
    yield from discover_tasks(root, EXTENSION, loose=base is None and tasks is None)


def _ref(path: Path, below: str) -> SourceRef:
    return _session(path, f"{_PREFIX}/{below}")


def _loose_ref(path: Path, below: str) -> SourceRef:
    return _session(path, f"{_PREFIX}/gathered/{below}")


def _session(path: Path, home_path: str) -> SourceRef:
    name = path.name.removesuffix(_SUFFIX)
    meta = path.with_name(name + _META)
    beside = [(meta, DOCUMENT), (path.with_name(name + COMPACTION), REWRITTEN)]
    companions = tuple(
        SourceRef(file, role, f"{home_path.removesuffix(path.name)}{file.name}", name)
        for file, role in beside
        if file.is_file()
    )
    return SourceRef(path, REWRITTEN, home_path, name, companions=companions)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a document with the messages of a Cline session or task."""
    return _HEAD.match(head) is not None or recognizes_task(head)
