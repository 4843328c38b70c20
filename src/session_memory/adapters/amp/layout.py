"""Find the threads of Amp.

~/.local/share/amp/threads/T-<id>.json                                  a thread
<editor>/User/globalStorage/sourcegraph.amp/threads3/T-<id>.json        a thread of older extensions
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.editor_tasks.layout import storage_roots
from session_memory.adapters.log_files import directory_in, logs
from session_memory.core.roles import REWRITTEN

EXTENSION = "sourcegraph.amp"
_SUFFIX = ".json"
_NAME = re.compile(r"T-[0-9A-Za-z-]{1,80}\.json")
_HEAD = re.compile(rb'\s*\{(?:[^\[\]]{0,200}?,)?\s*"id":\s*"T-[0-9A-Za-z-]{8,80}"')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$XDG_DATA_HOME/amp``, or ``~/.local/share/amp`` if the variable is not set, and the
    directories of old editor extensions that exist."""
    data = environ.get("XDG_DATA_HOME")
    own = (Path(data).expanduser() if data else home / ".local" / "share") / "amp"
    return [own, *(one for one in storage_roots(environ, home, EXTENSION) if one.is_dir())]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the threads below ``root``.

    ``root`` is a home directory, a directory of Amp, or any other directory with threads.
    """
    places = (
        (".local/share/amp/threads", "threads")
        if root.name == "amp"
        else (".local/share/amp/threads",)
    )
    base = directory_in(root, *places)
    if root.name == EXTENSION:
        base = directory_in(root, "threads3")
    elif root.name == "threads" and root.parent.name == "amp":
        base = root
    return logs(root, base, _SUFFIX, recognizes, _ref)


def _ref(path: Path, below: str) -> SourceRef | None:
    if _NAME.fullmatch(path.name) is None:
        return None
    home_path = f".local/share/amp/threads/{below}"
    return SourceRef(path, REWRITTEN, home_path, path.stem)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a thread of Amp."""
    return _HEAD.match(head) is not None
