"""Find the files of Droid's sessions.

sessions/<working directory>/<session>.jsonl            the log
sessions/<working directory>/<session>.settings.json    the session's model and token sums
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import logs, own_directory
from session_memory.core.roles import REWRITTEN

_HOME = ".factory"
_PREFIX = f"{_HOME}/sessions"
_LOG, _SETTINGS = ".jsonl", ".settings.json"
_START = re.compile(
    rb'\s*\{"type": ?"session_start", ?"id": ?"[^"]{1,80}", ?"(?:title|owner|version)'
)
_MARKS = (b'"tokenUsage"', b'"autonomyMode"')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``~/.factory``."""
    return [home / _HOME]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory of sessions belongs to a repository whose name fits ``pattern``.

    Droid names the directory after the working directory, with a dash for every slash.
    """
    return fnmatchcase(name, f"*-{pattern}") or fnmatchcase(name, pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Droid, or another directory with logs of Droid.
    """
    base = own_directory(root, _HOME, "sessions", f"*/*{_LOG}", recognizes)
    return chain(
        logs(root, base, _LOG, recognizes, _log),
        logs(root, base, _SETTINGS, _are_settings, _settings),
    )


def _log(path: Path, below: str) -> SourceRef:
    session = path.name.removesuffix(_LOG)
    return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=session)


def _settings(path: Path, below: str) -> SourceRef:
    session = path.name.removesuffix(_SETTINGS)
    return SourceRef(path, REWRITTEN, f"{_PREFIX}/{below}", session)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with the start of a Droid session."""
    return _START.match(head) is not None


def _are_settings(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and all(mark in head for mark in _MARKS)
