"""Where pi keeps its sessions, and what each file there is.

sessions/--<working directory>--/<time>_<session>.jsonl     a session
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import directory_in, logs

_PREFIX = ".pi/agent/sessions"
_SUFFIX = ".jsonl"
_HEADER = re.compile(
    rb'\s*\{"type": ?"session", ?(?:"version": ?\d+, ?)?"id": ?"[^"]{1,80}", ?"timestamp": ?"'
)


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """``$PI_CODING_AGENT_DIR`` when set, else ``~/.pi/agent``."""
    configured = environ.get("PI_CODING_AGENT_DIR")
    return [Path(configured).expanduser() if configured else home / ".pi" / "agent"]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory of logs belongs to a repository. pi names it after the working
    directory, with a dash for every slash and two dashes around it."""
    return fnmatchcase(name, f"*-{pattern}--") or fnmatchcase(name, pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Every session below pi's directory, a home, ``sessions`` alone, or loose logs."""
    base = directory_in(root, ".pi/agent/sessions", "agent/sessions")
    if base is None and _is_sessions(root):
        base = root
    elif base is None and root.name == "agent":
        base = directory_in(root, "sessions")
    return logs(root, base, _SUFFIX, recognizes, _ref)


def _is_sessions(root: Path) -> bool:
    return root.name == "sessions" and root.parent.name == "agent"


def _ref(path: Path, below: str) -> SourceRef:
    return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=session_named(path.name))


def session_named(file_name: str) -> str:
    """The id in the name of a log, which follows the time: ``<time>_<id>.jsonl``."""
    return file_name.removesuffix(_SUFFIX).rpartition("_")[2]


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with the header of a pi session."""
    return _HEADER.match(head) is not None
