"""Find out where agents keep logs, which logs they delete soon, and whether the store has them."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from session_memory.collect.discover import Root, discover
from session_memory.collect.doctor import retention_days
from session_memory.config import Config
from session_memory.core.text import escaped
from session_memory.derive.forgotten import Forgotten
from session_memory.store import Store
from session_memory.store.sources import SourceRow

WARNING_DAYS = 7
DAY_S = 86_400


class CollectedLogs:
    """What the store has read from the logs of one machine. Without a store, that is nothing."""

    def __init__(self, store: Store | None, host: str) -> None:
        self._store, self._host = store, host
        self._forgotten = Forgotten(store) if store else None

    def known_at(self, paths: Collection[str]) -> dict[str, SourceRow]:
        return self._store.sources.known_at(self._host, paths) if self._store else {}

    def is_forgotten(self, flavor: str, path: str, session: str) -> bool:
        """Whether a sync will not read a source that is not in the store, because a person deleted
        its session with ``forget``."""
        names = self._forgotten
        if not names:
            return False
        return names.holds_source(self._host, path) or names.holds_session(flavor, session)


class Expiring(msgspec.Struct, frozen=True):
    """A file the agent deletes in ``days_left`` days; ``kept`` if the store has all of it."""

    path: str
    bytes: int
    days_left: int
    kept: bool


class RootState(msgspec.Struct, frozen=True, kw_only=True):
    """One directory where an agent keeps its logs. ``retention_days`` is a setting of the agent,
    which deletes logs that are older. ``kept`` counts the files that the store has whole."""

    flavor: str
    path: str
    exists: bool
    is_default: bool
    files: int = 0
    bytes: int = 0
    unreadable: int = 0
    kept: int = 0
    retention_days: int | None = None
    expiring: list[Expiring] = []

    @property
    def at_risk(self) -> list[Expiring]:
        return [file for file in self.expiring if not file.kept]


class _File(msgspec.Struct):
    """A file with logs. If it is a database with many sessions, ``stamps`` has the time of the last
    change of each session, by the path of its source. ``forgotten`` are the sources that will not
    be read if they are not in the store."""

    path: str
    status: os.stat_result | None
    stamps: dict[str, int] = {}
    forgotten: set[str] = set()

    @property
    def sources(self) -> list[str]:
        return list(self.stamps) or [self.path]

    def is_forgotten(self, known: dict[str, SourceRow]) -> bool:
        """Whether no sync will read anything of the file."""
        return all(self._is_forgotten(path, known) for path in self.sources)

    def _is_forgotten(self, path: str, known: dict[str, SourceRow]) -> bool:
        return path in self.forgotten and path not in known

    def is_kept(self, known: dict[str, SourceRow]) -> bool:
        if self.status is None or self.is_forgotten(known):
            return False
        if self.stamps:
            rows = {
                path: known.get(path) for path in self.stamps if not self._is_forgotten(path, known)
            }
            return all(row and row.mtime_ns == self.stamps[path] for path, row in rows.items())
        row = known.get(self.path)
        if row is None:
            return False
        return row.size == self.status.st_size and row.mtime_ns == self.status.st_mtime_ns


def root_state(root: Root, config: Config, collected: CollectedLogs, now_s: float) -> RootState:
    """Examine a root, a directory with the logs of an agent."""
    state = RootState(
        flavor=root.flavor, path=str(root.path), exists=root.exists, is_default=root.is_default
    )
    if not root.exists:
        return state
    days = retention_days(root.flavor, root.path)
    found = list(_files(root, config, collected))
    files = [file for file in found if file.status is not None]
    known = collected.known_at([path for file in files for path in file.sources])
    return msgspec.structs.replace(
        state,
        files=len(files),
        bytes=sum(file.status.st_size for file in files if file.status),
        unreadable=len(found) - len(files),
        kept=sum(file.is_kept(known) for file in files),
        retention_days=days,
        expiring=[] if days is None else _expiring(files, known, days, now_s),
    )


def _expiring(
    files: list[_File], known: dict[str, SourceRow], days: int, now_s: float
) -> list[Expiring]:
    """Return the files that the agent deletes soon, the next one first. A person who forgot a
    session does not want its log, so it is left out."""
    soon = []
    for file in files:
        if file.status is None or file.is_forgotten(known):
            continue
        left = days - int((now_s - file.status.st_mtime) / DAY_S)
        if left <= WARNING_DAYS:
            kept = file.is_kept(known)
            soon.append(Expiring(file.path, file.status.st_size, max(left, 0), kept))
    return sorted(soon, key=lambda file: (file.days_left, file.path))


def _files(root: Root, config: Config, collected: CollectedLogs) -> Iterator[_File]:
    databases: dict[Path, _File] = {}
    for found in discover(config, [root]):
        for part in (found.ref, *getattr(found.ref, "companions", ())):
            # A path that cannot be read has no ``place``; every source has one.
            place, stamp = getattr(part, "place", None), getattr(part, "stamp", None)
            path, session = escaped(str(part.path)), getattr(part, "session", "")
            forgotten = {path} if collected.is_forgotten(root.flavor, path, session) else set[str]()
            if stamp is None or place is None:
                yield _File(path, _status(place) if place else None, forgotten=forgotten)
                continue
            if place not in databases:
                databases[place] = _File(escaped(str(place)), _status(place), {}, set())
            databases[place].stamps[path] = stamp
            databases[place].forgotten |= forgotten
    yield from databases.values()


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat() if os.access(path, os.R_OK) and path.is_file() else None
    except OSError:
        return None
