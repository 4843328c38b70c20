"""Where mycode's store keeps its sessions and the files beside them.

Messages and metadata are rows of a database. ``data_dir`` has a directory for each session, whose
``tool-output`` holds outputs that are too large for a message: a result names the file, and the
model can read it.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from session_memory.config import default_store
from session_memory.live.connection import check_id, place_of

DATABASE = "memory.db"
TOOL_OUTPUT = "tool-output"
_DATABASES = (".db", ".sqlite", ".sqlite3")


class SessionPlaces(NamedTuple):
    """``home`` is set if sessions of other homes may be in the same database."""

    data_dir: Path
    database: str | Path
    home: str | None


def resolve_mycode_home() -> Path:
    """``$MYCODE_HOME``, else ``~/.mycode``."""
    return Path(os.environ.get("MYCODE_HOME") or "~/.mycode").expanduser().resolve()


def resolve_sessions_dir() -> Path:
    return resolve_mycode_home() / "sessions"


def places_of(data_dir: str | Path | None, place: str | Path | None) -> SessionPlaces:
    """The directory and the database of a store.

    mycode's home uses the store of the command line, so that ``sync`` collects its sessions. Any
    other directory has a database of its own.
    """
    if place is None and data_dir is not None and is_database(data_dir):
        data_dir, place = None, data_dir
    if place is not None and data_dir is None:
        is_server = "://" in str(place)
        beside = Path() if is_server else Path(place_of(place)).with_suffix(".sessions")
        return SessionPlaces(resolve_sessions_dir() if is_server else beside, place, None)
    directory = resolve_sessions_dir() if data_dir is None else Path(data_dir)
    own = directory.expanduser().resolve()
    if place is None and own != resolve_sessions_dir():
        return SessionPlaces(directory, own / DATABASE, None)
    return SessionPlaces(directory, default_store() if place is None else place, str(own))


def is_database(place: str | Path) -> bool:
    """Whether a place is an address or a file. Any other place is a directory."""
    if isinstance(place, str) and "://" in place:
        return True
    path = Path(place).expanduser()
    return path.is_file() or (path.suffix in _DATABASES and not path.is_dir())


class SessionDirectories:
    """The paths that mycode's callers ask for. ``messages.jsonl`` and ``meta.json`` exist only
    if mycode itself wrote them."""

    data_dir: Path

    def session_dir(self, session_id: str) -> Path:
        return self.data_dir / check_id(session_id)

    def meta_path(self, session_id: str) -> Path:
        return self.session_dir(session_id) / "meta.json"

    def messages_path(self, session_id: str) -> Path:
        return self.session_dir(session_id) / "messages.jsonl"

    def tool_output_dir(self, session_id: str) -> Path:
        """The directory for the session's large outputs. Only the user can read it."""
        directory = self.session_dir(session_id) / TOOL_OUTPUT
        if not directory.is_dir():
            self.data_dir.mkdir(parents=True, exist_ok=True)
            for made in (directory.parent, directory):
                made.mkdir(mode=0o700, exist_ok=True)
        return directory

    def _remove_tool_output(self, session_id: str) -> None:
        directory = self.session_dir(session_id)
        if self.messages_path(session_id).exists():
            # mycode's own log refers to these files.
            return
        shutil.rmtree(directory / TOOL_OUTPUT, ignore_errors=True)
        if directory.is_dir() and not any(directory.iterdir()):
            directory.rmdir()
