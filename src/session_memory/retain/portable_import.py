"""Import a portable file: its sources are read like logs of the machine that exported them.

Only the bytes of a source and its description (path, role, session and the like) are taken from the
file. Cursors, counts and times are made again here, in short transactions, as a sync makes them. If
an import is killed, the next one goes on where it stopped. What a machine reads itself is never
overruled: an imported source is marked, and the next sync of its machine compares the file with it
(`SourceRow.is_imported`).
"""

import os
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, BinaryIO

import msgspec

from session_memory.collect.batch_writing import BatchWriting
from session_memory.collect.batches import Batches, Chunk, ReadTask
from session_memory.collect.evicted_sources import EvictedSources
from session_memory.collect.live_sessions import LiveSync
from session_memory.collect.native import Stat
from session_memory.collect.reading import SourceReading
from session_memory.collect.run_context import RunContext
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config, this_host
from session_memory.core.errors import (
    AdapterFailed,
    ArchiveError,
    SessionEvicted,
    SessionMemoryError,
)
from session_memory.core.text import escaped, visible
from session_memory.core.time import now_ms
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.derive.forgotten import blanked
from session_memory.derive.live_sources import NOWHERE
from session_memory.derive.raw_source import RawSource
from session_memory.derive.readers import note_substitute, reader_of
from session_memory.derive.stale_sessions import derive_stale
from session_memory.retain.first_store import FIRST_RECORDS, FirstStore
from session_memory.retain.live_files import PortableSessions
from session_memory.retain.portable_names import import_names
from session_memory.retain.portable_reading import PIECE, ImportedSource, PortableFile
from session_memory.store.known_sources import KnownSources
from session_memory.store.sources import NO_INODE, SourceRow
from session_memory.store.store import Store

# A file may hold thousands of wrong sources. Only the first ones are listed.
PROBLEMS_LISTED = 20
LONGEST_SHOWN = 300
ELSEWHERE = "To see both, import it into a store of its own: session-memory import FILE --store NEW"


class StoreImport(msgspec.Struct, kw_only=True):
    """The result of an import. ``problems`` says why sources were refused, ``refused`` counts them.

    Two fields are only for a store of schema version 1: ``refused_records`` is the number of
    refused single records, which ``refused`` includes, and ``left_out`` are files without sessions.
    """

    sources: int = 0
    known: int = 0
    refused: int = 0
    refused_records: int = 0
    bytes: int = 0
    sessions: int = 0
    problems: list[str] = []
    left_out: list[str] = []


def import_store(
    store: Store,
    source: Path,
    config: Config,
    *,
    is_limited: bool = True,
    progress: ReadProgress | None = None,
) -> StoreImport:
    """Import every source of a portable file that is not in the store yet.

    With ``is_limited`` a file that unpacks to much more than a real export is refused.
    """
    if not (source.is_dir() or source.is_file()):
        # Reading a pipe would wait for a writer, and the file is read twice.
        hint = "Write it to a file first, and import that."
        raise SessionMemoryError(f"{source} cannot be imported: it is a device or a pipe", hint)
    if source.is_dir() or source.suffix in FIRST_RECORDS:
        return _import_first(store, source, config, progress or ReadProgress())
    file = PortableFile(source, is_limited=is_limited)
    with store.db.operation_lock(shared=True):
        return _ImportRun(store, config, progress or ReadProgress()).run(file)


def _import_first(
    store: Store, source: Path, config: Config, progress: ReadProgress
) -> StoreImport:
    """Import the sessions of a store of schema version 1."""
    with store.db.operation_lock(shared=True):
        first = FirstStore(source, store, escaped(this_host(config)))
        done = _ImportRun(store, config, progress).run(first)
    done.left_out = sorted(first.left_out)
    done.refused_records = len(first.problems)
    done.refused += done.refused_records
    done.problems = [*done.problems, *map(visible, first.problems)][:PROBLEMS_LISTED]
    return done


class _ImportRun:
    """One import. ``_newest`` has the newest stored generation of every file."""

    def __init__(self, store: Store, config: Config, progress: ReadProgress) -> None:
        self._store = store
        self._config = config
        self._progress = progress
        self._here = escaped(this_host(config))
        self._done = StoreImport()
        self._newest: dict[tuple[str, str], SourceRow] = {}
        self._read_by_host: set[tuple[str, str]] = set()
        for row in store.sources.every():
            self._newest[row.host, row.path] = row
            if not row.is_imported:
                self._read_by_host.add((row.host, row.path))

    def run(self, file: PortableFile | FirstStore) -> StoreImport:
        store, done, now = self._store, self._done, now_ms()
        before = frozenset(store.sessions.uids())
        self._progress.begin(file.count, file.bytes)
        for host, sources in groupby(file.sources(), key=lambda source: source.row.host):
            if host == NOWHERE:
                self._import_live(sources, now)
                continue
            known = KnownSources(store.db, host, {})
            run = RunContext(store, self._config, host, self._progress, known)
            with Batches(BatchWriting(run).write, first_load=False, store=store) as batches:
                for chunk in self._chunks(run, sources):
                    batches.add(chunk)
            done.bytes += run.outcome.report.bytes
        derive_stale(store, now, self._config.domain_of)
        if isinstance(file, PortableFile) and file.names:
            import_names(store, file.names, before)
        self._progress.end()
        done.sessions = store.sessions.count() - len(before)
        return done

    def _import_live(self, sources: Iterator[ImportedSource], now: int) -> None:
        """Store live sessions, then collect them as a sync does."""
        with PortableSessions(self._store) as live:
            for source in sources:
                self._done.sources += 1
                if source.refusal:
                    self._refuse(source.row, source.refusal)
                else:
                    live.add(source.row, source.body)
            stored = live.finish()
        self._done.known += live.known
        for row, reason in live.refused:
            self._refuse(row, reason)
        if stored:
            collected = LiveSync(self._store, now, self._config.domain_of)
            collected.note_collected()
            collected.read(collected.changed())
            self._done.bytes += collected.bytes

    def _chunks(self, run: RunContext, sources: Iterator[ImportedSource]) -> Iterator[Chunk]:
        # The bytes are stored as they are. Whether they are masked was decided on their machine.
        reading = SourceReading(run, EvictedSources(run), lambda row, redact, start: False)
        for source in sources:
            self._done.sources += 1
            if source.is_known:
                self._done.known += 1
            elif source.refusal:
                self._refuse(source.row, source.refusal)
            elif not self._is_known(run, source.row):
                with tempfile.TemporaryFile() as file:
                    _copy(source.body, file)
                    task = self._task(run, source.row, file)
                    if task is not None:
                        yield from self._read(reading, task, file)

    def _refuse(self, row: SourceRow, reason: str) -> None:
        self._done.refused += 1
        if len(self._done.problems) < PROBLEMS_LISTED:
            self._done.problems.append(f"{visible(row.path[:LONGEST_SHOWN])}: {reason}")

    def _is_known(self, run: RunContext, row: SourceRow) -> bool:
        """Whether the store has the whole source already, or a ``forget`` removed its session.

        If so, the source is counted as known.
        """
        known = self._store.sources.by_uid(row.uid)
        is_forgotten = run.forgotten.holds_source(row.host, row.path) or (
            known is None and run.forgotten.holds_session(row.flavor, row.session)
        )
        is_known = is_forgotten or (known is not None and known.kept >= row.kept)
        self._done.known += is_known
        return is_known

    # ------------------------------------------------------------ what to read

    def _task(self, run: RunContext, row: SourceRow, file: BinaryIO) -> ReadTask | None:
        """Return the task to read a source; None if it is refused or known, or has no adapter."""
        known = self._store.sources.by_uid(row.uid)
        if self._is_local(row) and (known is None or os.path.lexists(row.path)):
            if known is not None and self._begins_with(known, file):
                # The next sync reads the rest from the file itself.
                self._done.known += 1
            else:
                self._refuse(row, f"this machine reads the file itself. {ELSEWHERE}")
            return None
        reader = reader_of(known or msgspec.structs.replace(row, adapter_version=0))
        if reader.problem and (known is not None or run.forgotten):
            # Without the adapter, the records of forgotten sessions cannot be found and left out,
            # and a known source cannot be continued.
            note_substitute(self._store, row.flavor, reader.problem)
            return None
        stat = Stat(0, row.mtime_ns if 0 < row.mtime_ns < run.now * 1_000_000 else 0, 0, NO_INODE)
        if known is None:
            return self._new_task(run, row, stat, reader.version)
        if reason := self._cannot_continue(known, row, file):
            self._refuse(row, reason)
            return None
        known.inode = NO_INODE
        if known.redacted_from is None:
            known.redacted_from = row.redacted_from
        return ReadTask(known.flavor, RawSource.ref_of(known), known, stat, is_new=False)

    def _is_local(self, row: SourceRow) -> bool:
        """Whether a sync of this machine has read the file.

        If the agent has deleted the file since, an import may add to the stored log, but it may not
        replace the log.
        """
        return row.host == self._here and (row.host, row.path) in self._read_by_host

    def _new_task(self, run: RunContext, row: SourceRow, stat: Stat, version: int) -> ReadTask:
        fresh = SourceRow(
            host=row.host,
            flavor=row.flavor,
            role=row.role,
            path=row.path,
            home_path=row.home_path,
            session=row.session,
            agent=row.agent,
            generation=row.generation,
            adapter_version=version,
            inode=NO_INODE,
            discovered_at=run.now,
            redacted_from=row.redacted_from,
        )
        task = ReadTask(row.flavor, RawSource.ref_of(row), fresh, stat, is_new=True)
        newest = self._newest.get((row.host, row.path))
        if newest is not None and newest.generation > row.generation:
            fresh.superseded = 1
        else:
            task.replaces = newest
            self._newest[row.host, row.path] = fresh
        return task

    def _cannot_continue(self, known: SourceRow, row: SourceRow, file: BinaryIO) -> str:
        """Return why the rest of a known source cannot be added; empty if it can."""
        if (known.flavor, known.role, known.session) != (row.flavor, row.role, row.session):
            return f"it is a {known.role} of {known.flavor} here. {ELSEWHERE}"
        if self._store.retention.evicted_source(known.id) is not None:
            sessions = self._store.sessions.of_source(known.id)
            related = {other for one in sessions for other in family(self._store, one)}
            try:
                with self._store.transaction():
                    bring_back(self._store, archive_of(self._store, self._config), sorted(related))
            except (ArchiveError, SessionEvicted) as error:
                return f"it continues an evicted log: {error}"
        if not self._begins_with(known, file):
            return f"it was rewritten since it was collected here. {ELSEWHERE}"
        return ""

    def _begins_with(self, known: SourceRow, file: BinaryIO) -> bool:
        """Whether a longer version of a source begins with the stored one."""
        if self._store.retention.evicted_source(known.id) is not None:
            return True
        masks, place = self._store.retention.masks(known.id), 0
        file.seek(0)
        for stored in self._store.raw.pieces(known.id):
            if blanked(file.read(len(stored)), place, masks) != stored:
                return False
            place += len(stored)
        return True

    # ------------------------------------------------------------ reading

    def _read(self, reading: SourceReading, task: ReadTask, file: BinaryIO) -> Iterator[Chunk]:
        """Yield a source as chunks. Without a working adapter only its bytes are stored.

        Such a source gets the adapter version 0, so that ``doctor`` asks for a rebuild once there
        is an adapter.
        """
        size, row = file.seek(0, os.SEEK_END), task.row
        kept, last = row.kept, None
        problem = reader_of(row).problem
        if not problem:
            try:
                for chunk in reading.new_chunks(task, file, size):
                    kept, last = chunk.kept, chunk
                    yield chunk
            except AdapterFailed as failure:
                problem = str(failure)
        if problem:
            note_substitute(self._store, row.flavor, problem)
            row.adapter_version = 0
        if kept < size or (problem and not kept):
            yield from reading.plain_chunks(task, file, kept, size, last)


def _copy(body: IO[bytes], file: BinaryIO) -> None:
    while piece := body.read(PIECE):
        file.write(piece)
    file.flush()
