"""Find the files of Copilot's sessions.

session-state/<session>/events.jsonl     the log
session-state/<session>/workspace.yaml   the session's name and directory
session-state/<session>.jsonl            the log of versions before 0.0.360
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.log_files import logs, own_directory
from session_memory.core.roles import DOCUMENT

_PREFIX = ".copilot/session-state"
_LOG, _ABOUT = "events.jsonl", "workspace.yaml"
_SUFFIX = ".jsonl"
_START = re.compile(
    rb'\s*\{"type": ?"session\.start", ?"data": ?\{[^{}]{0,400}"producer": ?"copilot'
)


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$COPILOT_HOME`` if it is set, else ``~/.copilot``."""
    configured = environ.get("COPILOT_HOME")
    return [Path(configured).expanduser() if configured else home / ".copilot"]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for each log below ``root``.

    ``root`` is a home directory, a directory of Copilot, or another directory with logs of Copilot.
    """
    base = own_directory(root, ".copilot", "session-state", f"*/{_LOG}", recognizes)
    return logs(root, base, _SUFFIX, recognizes, _ref, _loose_ref)


def _ref(path: Path, below: str) -> SourceRef | None:
    """Return the source for a log; None for other files of a session, such as its checkpoints."""
    place = below.split("/")
    if len(place) == 1:
        session = path.name.removesuffix(_SUFFIX)
        return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=session)
    if len(place) != 2 or path.name != _LOG:
        return None
    return _with_about(path, f"{_PREFIX}/{place[0]}", place[0])


def _with_about(path: Path, home_path: str, session: str) -> SourceRef:
    about = path.with_name(_ABOUT)
    beside = SourceRef(about, DOCUMENT, f"{home_path}/{_ABOUT}", session)
    companions = (beside,) if about.is_file() else ()
    return SourceRef(path, home_path=f"{home_path}/{_LOG}", session=session, companions=companions)


def _loose_ref(path: Path, below: str) -> SourceRef:
    if path.name == _LOG:
        return _with_about(path, f"{_PREFIX}/{path.parent.name}", path.parent.name)
    session = path.name.removesuffix(_SUFFIX)
    return SourceRef(path, home_path=f"{_PREFIX}/{below}", session=session)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins with the start of a Copilot session."""
    return _START.match(head) is not None
