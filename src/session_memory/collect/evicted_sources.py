"""Bring back evicted sessions whose logs grew: a new part cannot be derived without the old part.

The old part is restored from the archive. If there is no archive, the logs are read again from
their beginning, if they are unchanged. Otherwise only the bytes of the new part are stored.
"""

import os
from pathlib import Path

import msgspec

from session_memory.adapters.base import SourceRef
from session_memory.collect.batches import ReadTask
from session_memory.collect.database_copies import dump_of
from session_memory.collect.masking import as_kept
from session_memory.collect.native import Stat, change_of, opened, tail_hash, unpacked
from session_memory.collect.row_sources import is_part
from session_memory.collect.run_context import RunContext
from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.core.roles import REWRITTEN
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.store.sources import SourceRow

# The ``reason`` of the problem that a new part waits for the evicted part of its session.
EVICTED = "evicted"


class EvictedSources:
    """Brings evicted sessions back during one sync."""

    def __init__(self, run: RunContext) -> None:
        self._run = run

    def bring_back(self, task: ReadTask) -> None:
        """If the source of a task is evicted and grew, bring back its sessions."""
        run = self._run
        if not run.is_evicted(task.row):
            return
        sessions = run.store.sessions.of_source(task.row.id)
        try:
            self._restore(sessions)
        except (ArchiveError, SessionEvicted):
            task.is_evicted = not self._read_again(task, sessions)

    def bring_back_grown(self) -> None:
        """Bring back evicted sessions that got new records from another of their sources."""
        store = self._run.store
        for session_id in store.sessions.grew_while_evicted():
            row = store.sessions.row_by_id(session_id)
            if row.evicted_at is None:
                continue
            try:
                self._restore([session_id])
            except (ArchiveError, SessionEvicted) as error:
                newest = max(store.sessions.source_ids(session_id))
                detail = f"it waits for the rest of {row.uid}, which was evicted: {error}"
                with store.transaction():
                    self._run.add_problems(store.sources.get(newest), [(0, 0, EVICTED, detail)])

    def _restore(self, sessions: list[int]) -> None:
        store = self._run.store
        together = {other for session_id in sessions for other in family(store, session_id)}
        with store.transaction():
            bring_back(store, archive_of(store, self._run.config), sorted(together))

    def _read_again(self, task: ReadTask, sessions: list[int]) -> bool:
        """Plan to read all sources of the sessions from their beginning.

        Returns False and changes nothing if that is impossible, as when a file no longer begins
        with the bytes that were read.
        """
        store = self._run.store
        if is_part(task.row):
            # A database has its present rows, not the lines that were made from earlier ones.
            return False
        together = {other for one in sessions for other in family(store, one)}
        evicted = {
            source.source_id for one in together for source in store.retention.evicted_of(one)
        }
        others = [store.sources.get(one) for one in sorted(evicted - {task.row.id})]
        if not all(self._is_unchanged(row) for row in others):
            return False
        with store.transaction():
            for row in (task.row, *others):
                store.retention.put_back(row.id, ())
                row.read_to = row.kept = row.lines = row.lenient = row.size = 0
                row.cursor_state, row.bookkeeping = "", "{}"
                row.tail_hash = tail_hash(b"")
                store.raw.replace_from(row.id, 0, [])
                store.sources.save(row)
            for session_id in together:
                store.retention.unfreeze(session_id)
        for row in others:
            ref = SourceRef(Path(row.path), row.role, row.home_path, row.session, row.agent)
            stat = Stat.of(ref.place.stat())
            # Another task of this sync may have read the source from its old cursor. The row of
            # that task no longer equals the stored one, so what that task read is not written.
            self._run.tasks.append(
                ReadTask(row.flavor, ref, row, stat, is_new=False, counted=False)
            )
        return True

    def _is_unchanged(self, row: SourceRow) -> bool:
        """Whether a file still begins with the bytes that were read of it earlier."""
        if row.host != self._run.host or row.superseded:
            return False
        if dump_of(row.flavor) is not None or is_part(row):
            return False
        if row.role == REWRITTEN:
            # The file holds the document. It does not hold the lines that were made from the
            # document.
            return False
        place = Path(row.path)
        try:
            with opened(place) as native, unpacked(native, place) as file:
                stat = Stat.of(os.fstat(native.fileno()))
                content = msgspec.structs.replace(stat, size=os.fstat(file.fileno()).st_size)
                return change_of(self._run.store, row, file, content, as_kept) != "rewritten"
        except OSError:
            return False
