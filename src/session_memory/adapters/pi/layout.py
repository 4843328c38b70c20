"""Find the files of pi's sessions.

sessions/--<working directory>--/<time>_<session>.jsonl     a session
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import logs, own_directory

_PREFIX = ".pi/agent/sessions"
_SUFFIX = ".jsonl"
_HEADER = re.compile(
    rb'\s*\{"type": ?"session", ?(?:"version": ?\d+, ?)?"id": ?"[^"]{1,80}", ?"timestamp": ?"'
)


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$PI_CODING_AGENT_DIR`` if it is set, else ``~/.pi/agent``."""
    configured = environ.get("PI_CODING_AGENT_DIR")
    return [Path(configured).expanduser() if configured else home / ".pi" / "agent"]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory of logs belongs to a repository whose name fits ``pattern``.

    pi names the directory after the working directory, with a dash for every slash and two dashes
    before and after it.
    """
    return fnmatchcase(name, f"*-{pattern}--") or fnmatchcase(name, pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of pi, or another directory with logs of pi.
    """
    base = own_directory(root, ".pi/agent", "sessions", "--*--/*.jsonl", recognizes)
    return logs(root, base, _SUFFIX, recognizes, _ref)


def _ref(path: Path, below: str) -> SourceRef:
    return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=session_named(path.name))


def session_named(file_name: str) -> str:
    """Return the session id in the name of a log, ``<time>_<id>.jsonl``."""
    return file_name.removesuffix(_SUFFIX).rpartition("_")[2]


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with the header of a pi session."""
    return _HEADER.match(head) is not None
