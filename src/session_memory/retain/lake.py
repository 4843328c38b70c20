"""The lake: sessions, events and usage as Parquet files, for queries over all of them.

The partition of a session is its agent and the month in which it started. Exported rows stay in the
lake when a session is evicted. An export writes only partitions with changes. It writes
``sessions`` last, because the revisions there say which state of a session ``events`` and ``usage``
hold.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from session_memory.config import Config
from session_memory.core.schema import Session
from session_memory.core.text import one_line
from session_memory.derive.connected import connected_sessions
from session_memory.derive.evicted import archive_of
from session_memory.retain.lake_files import (
    Partition,
    Rows,
    arrow,
    event_row,
    exported_sessions,
    file_of,
    parquet_files,
    partition,
    read_tables,
    session_row,
    session_uids,
    usage_row,
    write_file,
)
from session_memory.store.private_files import make_private
from session_memory.store.store import Store

_SAME_EVENT = ("event_uid", "role", "summary")


class LakeExport(msgspec.Struct, kw_only=True):
    """What an export wrote. ``without_events``: sessions that were evicted before their export."""

    sessions: int = 0
    removed: int = 0
    unchanged: int = 0
    without_events: int = 0
    partitions: int = 0
    events: int = 0
    directory: str = ""


def place(store: Store, config: Config) -> Path | None:
    """The directory of the lake, beside the archive. None for a store in memory."""
    archive = archive_of(store, config)
    if archive is None:
        return None
    if config.retention.archive_dir:
        return archive.directory / "lake"
    return archive.directory.parent.parent / "lake" / archive.directory.name


def is_there(directory: Path | None) -> bool:
    return directory is not None and (directory / "sessions").is_dir()


def export(store: Store, directory: Path) -> LakeExport:
    """Write the changes since the last export to the lake."""
    pa = arrow()
    make_private(directory)
    with store.db.operation_lock(shared=False), store.db.snapshot():
        known = exported_sessions(pa, directory)
        return _Export(pa, store, directory, known).run()


def forget(directory: Path | None, is_gone: Callable[[str], bool]) -> list[str]:
    """Delete sessions, by uid, from all files of the lake. Returns the files that are unreadable.

    An export that was killed may have left files of events without files of sessions.
    """
    if directory is None or not directory.is_dir():
        return []
    for left in directory.rglob(".*.part"):
        left.unlink()
    unreadable: list[str] = []
    for file in parquet_files(directory):
        pa = arrow()
        try:
            gone = {uid for uid in session_uids(pa, file) if is_gone(uid)}
        except (pa.ArrowException, OSError) as error:
            unreadable.append(f"{file}: {one_line(str(error), 100)}")
            continue
        if gone:
            write_file(pa, file, file.relative_to(directory).parts[0], gone, iter(()))
    return unreadable


def require_reader(directory: Path | None) -> None:
    """Raise `MissingExtra` if there is a lake and pyarrow is not installed."""
    if directory is not None and parquet_files(directory):
        arrow()


# ---------------------------------------------------------------- exporting


class _Export:
    def __init__(
        self,
        pa: Any,
        store: Store,
        directory: Path,
        known: dict[str, tuple[Partition, dict[str, Any]]],
    ) -> None:
        self._pa = pa
        self._store = store
        self._directory = directory
        self._known = known
        self._evicted = store.retention.evicted_sessions()
        self.done = LakeExport(directory=str(directory))

    def run(self) -> LakeExport:
        now = {one.session_uid: one for one in self._store.sessions.every()}
        rows = {uid: session_row(one) for uid, one in now.items()}
        changed: dict[Partition, set[str]] = {}
        updated: dict[Partition, set[str]] = {}
        for uid, one in now.items():
            before = self._known.get(uid)
            here = partition(one)
            if before is None or before[0] != here or _is_changed(before[1], one):
                self._note(changed, uid, before, here)
                self.done.sessions += 1
                self.done.without_events += one.evicted_at is not None
            elif before[1] != rows[uid]:
                updated.setdefault(here, set()).add(uid)
                self.done.sessions += 1
            else:
                self.done.unchanged += 1
        for uid in self._known.keys() - now.keys():
            changed.setdefault(self._known[uid][0], set()).add(uid)
            self.done.removed += 1
        for where in sorted(changed.keys() | updated.keys()):
            self._write(where, now, rows, changed.get(where, set()), updated.get(where, set()))
            self.done.partitions += 1
        return self.done

    @staticmethod
    def _note(changed: dict[Partition, set[str]], uid: str, before: Any, here: Partition) -> None:
        changed.setdefault(here, set()).add(uid)
        if before is not None:
            changed.setdefault(before[0], set()).add(uid)

    def _write(
        self,
        where: Partition,
        now: dict[str, Session],
        rows: dict[str, dict[str, Any]],
        changed: set[str],
        updated: set[str],
    ) -> None:
        here = [uid for uid in sorted(changed) if uid in now and partition(now[uid]) == where]
        # The events of an evicted session are only in the lake, so they must stay there.
        fresh = {uid for uid in changed if uid not in now or now[uid].evicted_at is None}
        if changed:
            own = [uid for uid in here if uid in fresh]
            self._file(where, "events", fresh, self._events(own))
            self._file(where, "usage", changed, self._usage(here))
        again = changed | updated
        kept = (rows[uid] for uid in sorted(again) if uid in now and partition(now[uid]) == where)
        self._file(where, "sessions", again, kept)

    def _file(self, where: Partition, dataset: str, gone: set[str], rows: Rows) -> None:
        file = file_of(self._directory, dataset, where)
        write_file(self._pa, file, dataset, gone, rows)

    def _events(self, uids: list[str]) -> Rows:
        for uid in uids:
            row = self._store.sessions.row(uid)
            if row is None:
                continue
            exported = self._exported_for_evicted(row.id)
            for event in self._store.events.each_of(row.id, uid):
                if (event.event_uid, event.role, event.summary) not in exported:
                    self.done.events += 1
                    yield event_row(event)

    def _exported_for_evicted(self, session_id: int) -> set[tuple[str, ...]]:
        """Return the events that this session took over when their owner was evicted.

        The lake already has them as events of that owner. Another session may use the same ids for
        other events, so the role and the summary are compared, too.
        """
        if not self._evicted:
            return set()
        evicted = set(connected_sessions(self._store, session_id)) & self._evicted
        uids = {self._store.sessions.row_by_id(one).uid for one in evicted} & self._known.keys()
        owners = self._pa.array(sorted(uids), type=self._pa.string())
        events: set[tuple[str, ...]] = set()
        for where in {self._known[uid][0] for uid in uids}:
            file = file_of(self._directory, "events", where)
            for table in read_tables(self._pa, file, ["session_uid", *_SAME_EVENT]):
                is_theirs = self._pa.compute.is_in(table.column("session_uid"), owners)
                theirs = table.filter(is_theirs)
                columns = (theirs.column(name).to_pylist() for name in _SAME_EVENT)
                events.update(zip(*columns, strict=True))
        return events

    def _usage(self, uids: list[str]) -> Rows:
        for uid in uids:
            row = self._store.sessions.row(uid)
            for used in self._store.usage.of(row.id, uid) if row else ():
                yield usage_row(used)


def _is_changed(before: dict[str, Any], now: Session) -> bool:
    """Whether a session changed or was restored since it was exported."""
    is_restored = before["evicted_at"] is not None and now.evicted_at is None
    return bool(before["revision"] != now.revision or is_restored)
