"""Write what a sync read: a batch of chunks in one transaction, together with the cursors.

A chunk and the cursor that says it was read commit together. A sync that is killed anywhere
neither skips nor repeats anything in the next run.
"""

from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.collect.batches import Chunk
from session_memory.collect.run_context import RunContext
from session_memory.core.roles import LOGS
from session_memory.core.text import escaped
from session_memory.derive.forgotten import Forgotten
from session_memory.derive.ingest import Ingest
from session_memory.derive.line_counts import lines_of
from session_memory.derive.repository_names import RepositoryNames
from session_memory.derive.stored_keys import StoredKeys
from session_memory.store.problems import UNREADABLE
from session_memory.store.sources import SourceRow, source_uid


class BatchWriting:
    """Writes to the store what one sync read: chunks of logs."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._stored_keys: StoredKeys | None = None
        self._has_written = False
        self._repositories = RepositoryNames(run.store, run.config.domain_of)

    def write(self, chunks: list[Chunk]) -> None:
        """Write one batch, inside the caller's transaction."""
        run = self._run
        self._notice_other_writers()
        ingest = Ingest(run.store, run.now, self._repositories, self._stored_keys)
        for chunk in chunks:
            if self._claim(chunk):
                self._write_chunk(ingest, chunk)
        for uid, count in ingest.counts.items():
            run.outcome.touched.setdefault(uid, count)

    def _notice_other_writers(self) -> None:
        """Drop cached names, keys and forgotten sessions if another process wrote to the store."""
        run = self._run
        others_wrote = run.store.db.others_wrote()
        if others_wrote:
            # Another process may have forgotten a session, and with it names that it alone used.
            run.store.names.forget()
            run.forgotten = Forgotten(run.store)
            self._repositories = RepositoryNames(run.store, run.config.domain_of)
        if not self._has_written and run.store.sources.is_empty():
            self._stored_keys = StoredKeys()
        elif others_wrote or (self._stored_keys is not None and self._stored_keys.is_full):
            self._stored_keys = None
        self._has_written = True

    def _claim(self, chunk: Chunk) -> bool:
        """Whether this sync may write a chunk.

        It may not if another sync has read the source since, or if the source was evicted, restored
        or forgotten. Then the later chunks of the source are not written either.
        """
        task = chunk.task
        if not task.is_taken:
            is_read = self._was_read_elsewhere(task.row)
            task.is_taken = is_read or self._was_retained_elsewhere(chunk)
        return not task.is_taken

    def _was_read_elsewhere(self, row: SourceRow) -> bool:
        sources = self._run.store.sources
        if row.id:
            return sources.was_read_by_others(row)
        if self._stored_keys is None:
            return sources.exists(row.host, row.path, row.generation)
        return not self._stored_keys.add_source((row.path, row.generation))

    def _was_retained_elsewhere(self, chunk: Chunk) -> bool:
        """Whether the source was evicted, restored or forgotten after this sync looked at it."""
        run, task = self._run, chunk.task
        if task.row.id and run.is_evicted(task.row) != task.is_evicted:
            return True
        return bool(run.forgotten) and self._was_forgotten(chunk)

    def _was_forgotten(self, chunk: Chunk) -> bool:
        """Whether a chunk holds records of a session that was forgotten after they were read."""
        run, task, row = self._run, chunk.task, chunk.task.row
        if run.is_forgotten(task.flavor, task.ref, row.path, row if row.id else None):
            return True
        if chunk.settled is not None:
            # A worker made events of the records, so this process does not have the records and
            # cannot look for forgotten sessions. The next sync reads the source again.
            return True
        masks = run.forgotten.masks(task.flavor, chunk.records)
        return not set(masks) <= set(chunk.masks)

    def _write_chunk(self, ingest: Ingest, chunk: Chunk) -> None:
        run, row, lines = self._run, chunk.task.row, chunk.settled or lines_of(chunk.records)
        store, is_known = run.store, bool(row.id)
        if row.starts_at is None and row.role in LOGS:
            row.starts_at = lines.starts_at
            if is_known and row.starts_at is not None:
                self._reorder(row)
        lines.counts.add_to(row)
        run.outcome.report.bytes += max(chunk.kept - max(row.kept, chunk.start), 0)
        self._move_cursor(chunk)
        store.sources.save(row)
        if chunk.task.replaces is not None:
            store.sources.mark_superseded(chunk.task.replaces.id)
            chunk.task.replaces = None
        if chunk.packs:
            store.raw.replace_from(row.id, chunk.start, chunk.packs, is_known)
        if chunk.masks:
            store.retention.add_masks(row.id, chunk.masks)
            run.forgotten.bury_orphans(run.now)
        if is_known:
            store.problems.clear_unreadable(row.id)
            if row.role not in LOGS and chunk.packs:
                # The document was read again. Without packs it is unchanged and keeps its problems.
                store.problems.forget(row.id)
        run.add_problems(row, lines.problems)
        if chunk.settled is None:
            ingest.add(row, chunk.records)
        else:
            ingest.add_settled(row, chunk.settled.sessions)

    def _move_cursor(self, chunk: Chunk) -> None:
        """Set how far the source is read; after its last chunk also its size and times."""
        row, stat = chunk.task.row, chunk.task.stat
        row.read_to, row.cursor_state = chunk.cursor.offset, chunk.cursor.state
        row.kept, row.tail_hash = chunk.kept, chunk.tail_hash
        row.vanished, row.ingested_at = 0, self._run.now
        if chunk.is_last:
            row.size, row.mtime_ns = stat.size, stat.mtime_ns
            row.ctime_ns, row.inode = stat.ctime_ns, stat.inode

    def _reorder(self, row: SourceRow) -> None:
        """Mark the sessions of a source as stale, because its first time is only known now.

        The sources of a session are ordered by their first times, so it must be derived again.
        """
        sessions = self._run.store.sessions
        for session_id in sessions.of_source(row.id):
            if len(sessions.source_ids(session_id)) > 1:
                sessions.mark_stale(session_id)

    def write_failures(self) -> None:
        """Store a problem for each source that cannot be read."""
        run = self._run
        for failure in run.failures:
            ref = failure.ref
            row = run.known.get(escaped(str(ref.path)))
            if row is None:
                source = SourceRef(Path(ref.path)) if isinstance(ref, Unlisted) else ref
                fresh = run.new_row(failure.flavor, source, 0)
                uid = source_uid(fresh.host, fresh.path, fresh.generation)
                row = run.store.sources.by_uid(uid) or fresh
            if not row.id:
                run.store.sources.save(row)
            run.add_problems(row, [(0, 0, UNREADABLE, failure.reason)])

    def write_vanished(self) -> None:
        """Mark sources whose file is gone. Their sessions stay."""
        for row in self._run.vanished:
            self._run.store.sources.mark_vanished(row.id)
            self._run.store.problems.clear_unreadable(row.id)
