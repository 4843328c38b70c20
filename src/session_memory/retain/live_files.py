"""Write live sessions to files as lines, and import them from a portable file.

Lines from outside are hostile. They are first loaded into an empty store, where the tables check
their types, and read there as a runtime would read them. Only then are the rows stored here.
"""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from session_memory.core.errors import SessionMemoryError
from session_memory.core.ids import is_uid
from session_memory.core.roles import TABLE
from session_memory.derive.live_sources import LIVE, NOWHERE, refs_of
from session_memory.live.connection import is_usable
from session_memory.live.store import SessionStore
from session_memory.store.live_bundle import dump, load, with_origins
from session_memory.store.live_check import live_findings, live_message_findings
from session_memory.store.live_imports import LiveImports
from session_memory.store.live_rows import LiveRows
from session_memory.store.retention import FORGOTTEN_LIVE, session_key
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.store import Store, open_store

_STATE = "select created_at, revision from live_sessions where session_id = :native"
_WRONG = (
    *(SessionMemoryError, msgspec.MsgspecError, ValueError, TypeError),
    *(KeyError, OverflowError, RecursionError, AttributeError),
)


def live_rows(store: Store, natives: Iterable[str] | None = None) -> list[SourceRow]:
    """Return a source row for each live session, with the size of its lines; origins before forks.

    With ``natives``, the result has these sessions and the sessions that they continue. Without, it
    has all live sessions, closed ones too.
    """
    if natives is None:
        natives = [head.session_id for head in LiveRows(store.db).heads()]
    return [_row(store, native) for native in with_origins(store.db, natives)]


def _row(store: Store, native: str) -> SourceRow:
    ref = refs_of(native)[1]
    return SourceRow(
        uid=source_uid(NOWHERE, str(ref.path), 0),
        host=NOWHERE,
        flavor=LIVE,
        role=TABLE,
        path=str(ref.path),
        home_path=f"{LIVE}/{native}.jsonl",
        session=native,
        kept=sum(map(len, dump(store.db, native))),
        ingested_at=0,
    )


def is_live_rows(row: SourceRow) -> bool:
    """Whether a source of a portable file claims to be a live session. Its rows are not checked."""
    return (
        (row.flavor, row.host, row.role, row.generation) == (LIVE, NOWHERE, TABLE, 0)
        and is_usable(row.session)
        and row.path == str(refs_of(row.session)[1].path)
    )


class PortableSessions:
    """The live sessions of a portable file: `add` checks each of them, `finish` stores them.

    ``refused`` has a row for each session that was not stored, with the reason.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._directory = tempfile.TemporaryDirectory(prefix="session-memory-import-")
        self._scratch: Store | None = None
        self._waiting: list[str] = []
        self.known = 0
        self.refused: list[tuple[SourceRow, str]] = []

    def add(self, row: SourceRow, body: IO[bytes]) -> None:
        """Load a session into the empty store and read it there."""
        if self._scratch is None:
            place = Path(self._directory.name) / "live.db"
            self._scratch = open_store(place, durability="normal")
        scratch = self._scratch
        try:
            with scratch.transaction():
                if load(scratch.db, body) != row.session:
                    raise ValueError("its lines are of another session")
                _read_everything(SessionStore(scratch.db), row.session)
            self._waiting.append(row.session)
        except _WRONG as error:
            self._refuse(row.session, f"its lines cannot be loaded: {error}")

    def finish(self) -> int:
        """Store each session that the store does not have yet. Returns how many were stored."""
        scratch = self._scratch
        if scratch is None:
            return 0
        findings = [*live_findings(scratch.db), *live_message_findings(scratch.db)]
        stored = 0
        for native in self._waiting:
            named = [one for one in findings if one.startswith(f"live session {native}:")]
            # A fault that names no session may belong to any of them.
            faults = named or [one for one in findings if not one.startswith("live session ")]
            if faults:
                self._refuse(native, faults[0])
            else:
                stored += self._store_one(scratch, native)
        return stored

    def _store_one(self, scratch: Store, native: str) -> bool:
        forgotten = self._store.retention.tombstones().get(FORGOTTEN_LIVE, set())
        theirs = scratch.db.one(_STATE, {"native": native}) or (0, 0)
        with self._store.transaction():
            ours = self._store.db.one(_STATE, {"native": native})
            if session_key(f"{LIVE}:{native}") in forgotten:
                self.known += 1
                return False
            if ours is not None:
                if ours[0] == theirs[0] and ours[1] >= theirs[1]:
                    self.known += 1
                else:
                    self._refuse(native, "this store has another session with this id")
                return False
            if self._store.sessions.is_evicted(f"{LIVE}:{native}"):
                restore = f"session-memory restore {LIVE}:{native}"
                self._refuse(native, f"this store has evicted it. Run: {restore}")
                return False
            origins = set(with_origins(scratch.db, [native])) - {native}
            if origins & {row.session for row, _ in self.refused}:
                self._refuse(native, "the session that it continues was refused")
                return False
            load(self._store.db, dump(scratch.db, native))
        return True

    def _refuse(self, native: str, reason: str) -> None:
        path = str(refs_of(native)[1].path)
        row = SourceRow(
            host=NOWHERE, flavor=LIVE, role=TABLE, path=path, home_path=path, session=native
        )
        self.refused.append((row, reason))

    def __enter__(self) -> "PortableSessions":
        return self

    def __exit__(self, *failure: object) -> None:
        if self._scratch is not None:
            self._scratch.close()
        self._directory.cleanup()


def _read_everything(live: SessionStore, native: str) -> None:
    """Read a session in every way. Raises if a value in it is of the wrong kind."""
    row = live.get_session(native, with_closed=True)
    if row is None or not (isinstance(row.config, dict) and isinstance(row.metadata, dict)):
        raise ValueError("its config or metadata is not an object")
    known = LiveImports(live._db).of_name(native)
    if known is not None and not (is_uid(known.origin) and isinstance(known.places, dict)):
        raise ValueError("its origin is not a session")
    live.load_all_messages(native)
    live.load_active_messages(native)
    live.list_compactions(native)
    live.list_usage(native)
    live.pending(native)
    live.get_state(native)
    for _ in LiveRows(live._db).lines(native, LiveRows(live._db).order(native)):
        pass


def live_lines(store: Store, native: str) -> Iterator[bytes]:
    """All rows of a live session as lines."""
    return dump(store.db, native)
