"""Where mycode's store keeps its sessions and the files beside them.

Messages and metadata are rows of a database. ``data_dir`` has a directory for each session, whose
``tool-output`` holds outputs that are too large for a message: a result names the file, and the
model can read it.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from session_memory.config import default_store
from session_memory.live.connection import check_id, place_of
from session_memory.live.rows import SessionRow
from session_memory.live.store import SessionStore as LiveStore

T = TypeVar("T")

DATABASE = "memory.db"
TOOL_OUTPUT = "tool-output"
FORMAT = "message_format_version"
_DATABASES = (".db", ".sqlite", ".sqlite3")


class SessionPlaces(NamedTuple):
    """Where a mycode store keeps its sessions.

    ``home`` is set if sessions of other homes may be in the same database.
    """

    data_dir: Path
    database: str | Path
    home: str | None


def resolve_mycode_home() -> Path:
    """``$MYCODE_HOME``, else ``~/.mycode``."""
    return Path(os.environ.get("MYCODE_HOME") or "~/.mycode").expanduser().resolve()


def resolve_sessions_dir() -> Path:
    return resolve_mycode_home() / "sessions"


def places_of(data_dir: str | Path | None, place: str | Path | None) -> SessionPlaces:
    """Return the directory and the database of a mycode store.

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
    """Whether a place is a database: an address or a file. Otherwise it is a directory."""
    if isinstance(place, str) and "://" in place:
        return True
    path = Path(place).expanduser()
    return path.is_file() or (path.suffix in _DATABASES and not path.is_dir())


class MycodeHome:
    """A store and its directory. ``messages.jsonl`` and ``meta.json`` exist only if mycode itself
    wrote them."""

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        place: str | Path | None = None,
        durability: str = "full",
    ) -> None:
        self.data_dir, database, self._home = places_of(data_dir, place)
        # If only a database was given, no directory is made until a caller asks for one.
        self._has_files = data_dir is not database and (place is None or data_dir is not None)
        if self._has_files:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        self._live = LiveStore.open(database, durability=durability)

    def close(self) -> None:
        self._live.close()

    def _is_here(self, row: SessionRow) -> bool:
        """Whether a session belongs to this home.

        A session of a home that no longer exists counts too: that home may have been moved here.
        """
        if self._home is None:
            return True
        home, origin = (row.metadata.get(name) for name in ("data_dir", "imported_from"))
        if isinstance(home, str):
            return home == self._home or not Path(home).is_dir()
        # Other runtimes may have sessions in the same store. These do not belong to this home.
        return FORMAT in row.metadata or str(origin).startswith("mycode:")

    def _labelled(self) -> dict[str, str]:
        """The metadata of a new session that name its home, if the store may have several homes."""
        return {} if self._home is None else {"data_dir": self._home}

    def session_dir(self, session_id: str) -> Path:
        return self.data_dir / check_id(session_id)

    def meta_path(self, session_id: str) -> Path:
        return self.session_dir(session_id) / "meta.json"

    def messages_path(self, session_id: str) -> Path:
        return self.session_dir(session_id) / "messages.jsonl"

    def tool_output_dir(self, session_id: str) -> Path:
        """The place for the session's large outputs."""
        return self.session_dir(session_id) / TOOL_OUTPUT

    def _make_tool_output(self, session_id: str) -> None:
        if not self._has_files:
            return
        directory = self.tool_output_dir(session_id)
        while not directory.is_dir():
            # FileNotFoundError: another process deleted the session in between.
            with suppress(FileNotFoundError):
                self._make_directory(session_id)
                # Outputs may hold secrets: only the user can read them.
                directory.mkdir(mode=0o700, exist_ok=True)

    def _make_directory(self, session_id: str) -> None:
        if not self._has_files:
            return
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.session_dir(session_id).mkdir(mode=0o700, exist_ok=True)

    def _remove_tool_output(self, session_id: str) -> None:
        directory = self.session_dir(session_id)
        if self.messages_path(session_id).exists():
            # Keep the files: mycode's own log refers to them.
            return
        shutil.rmtree(self.tool_output_dir(session_id), ignore_errors=True)
        # The directory stays if it holds other files, or if the session has begun again.
        with suppress(OSError):
            directory.rmdir()


async def in_thread(operation: Callable[[], T]) -> T:
    # Shielded: a cancelled caller returns at once, and its operation still completes.
    return await asyncio.shield(asyncio.to_thread(operation))
