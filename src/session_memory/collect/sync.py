"""Sync: look for changed sources, read what is new, write it, and report.

Reading and compressing happen outside the database's lock. A batch of what was read is then
written in one short transaction, together with the cursors.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.adapters.databases import databases_kept
from session_memory.collect.batches import BYTES_PER_WORKER, Batches, Chunk, ReadTask
from session_memory.collect.discover import Discovered, Root, discover
from session_memory.collect.doctor import adapter_problems
from session_memory.collect.looking import Looking
from session_memory.collect.row_sources import changed_databases
from session_memory.collect.run_context import RunContext
from session_memory.collect.sync_report import ReadProgress, SyncOutcome
from session_memory.config import Config, this_host
from session_memory.core.errors import AdapterFailed
from session_memory.core.garbage import collector_off
from session_memory.core.text import escaped
from session_memory.derive.live_sources import LIVE
from session_memory.store.known_sources import KnownSources
from session_memory.store.live_imports import LiveImports
from session_memory.store.live_rows import LiveRows
from session_memory.store.store import Store

# A sync that finds nothing new must not load the modules that read, settle and write: that takes
# longer than to look at a thousand files.
if TYPE_CHECKING:
    from session_memory.collect.batch_writing import BatchWriting
    from session_memory.collect.evicted_sources import EvictedSources
    from session_memory.collect.live_sessions import LiveSync
    from session_memory.collect.parallel_reading import ParallelReading
    from session_memory.collect.reading import SourceReading
    from session_memory.store.live_rows import LiveHead

# Some agents put only this many characters of the session id in the name of a log.
SHORT_ID = 8


def sync(
    store: Store,
    config: Config,
    where: list[Root],
    *,
    progress: ReadProgress | None = None,
    dry_run: bool = False,
    host: str | None = None,
    jobs: int | None = None,
) -> SyncOutcome:
    """Bring the store up to date with every source below ``where``.

    ``jobs`` worker processes read when there is much to read; None: as the configuration says, or
    one for each processor. With 1 this process does everything.
    """
    started = time.perf_counter()
    with (
        collector_off(),
        databases_kept(),
        # Nothing may be evicted or forgotten meanwhile: the sync would write it again.
        nullcontext() if dry_run else store.db.operation_lock(shared=True),
    ):
        run = Sync(store, config, host or this_host(config), progress or ReadProgress())
        run.look_below(where)
        if dry_run:
            run.count_only()
        else:
            run.read(jobs)
    run.outcome.report.seconds = round(time.perf_counter() - started, 3)
    run.outcome.roots = where
    run.outcome.broken_adapters = adapter_problems(config)
    return run.outcome


def sync_paths(
    store: Store,
    config: Config,
    where: list[Root],
    paths: Collection[Path],
    *,
    host: str | None = None,
) -> tuple[SyncOutcome, list[Path]]:
    """Read what is new in the sources at ``paths``, and in live sessions.

    If a path belongs to an agent's database, all sources below the root of that database are
    compared with the store. No other source is looked at.

    Also returns the paths for which the caller must search the whole root: no source was read there
    yet, or its file is gone. ``report.problems`` stays 0, because counting problems takes long.
    """
    started = time.perf_counter()
    changed, others = changed_databases(where, paths)
    named = {escaped(str(path)): path for path in others}
    host = host or this_host(config)
    with collector_off(), databases_kept(), store.db.operation_lock(shared=True):
        found = list(discover(config, changed)) if changed else []
        known = [*named, *(escaped(str(one.ref.path)) for one in found)]
        run = Sync(store, config, host, ReadProgress(), known)
        unexplained = run.look_at_paths(named, {root.flavor for root in where})
        run.look_at(found)
        run.read()
    run.outcome.report.seconds = round(time.perf_counter() - started, 3)
    return run.outcome, unexplained


def sync_sessions(
    store: Store,
    config: Config,
    where: list[Root],
    ids: Collection[str],
    *,
    host: str | None = None,
) -> SyncOutcome:
    """Read what is new in the sources whose paths contain one of these session ids, or whose names
    end with the first `SHORT_ID` characters of one."""
    started = time.perf_counter()
    with collector_off(), databases_kept(), store.db.operation_lock(shared=True):
        run = Sync(store, config, host or this_host(config), ReadProgress())
        endings = tuple(f"-{one[:SHORT_ID]}.jsonl" for one in ids)
        run.look_for(where, lambda path: path.endswith(endings) or any(one in path for one in ids))
        run.read()
    run.outcome.report.seconds = round(time.perf_counter() - started, 3)
    return run.outcome


class Sync:
    """One sync of all sources, or of the sources at ``paths`` alone."""

    def __init__(
        self,
        store: Store,
        config: Config,
        host: str,
        progress: ReadProgress,
        paths: Collection[str] | None = None,
    ) -> None:
        host = escaped(host)
        sources = store.sources
        rows = None if paths is None else sources.known_at(host, paths)
        known = KnownSources(store.db, host, rows)
        self.context = RunContext(store, config, host, progress, known)
        self.outcome = self.context.outcome
        self._store = store
        self._is_whole = paths is None
        self._looking = Looking(self.context)
        is_live_wanted = config.source(LIVE).enabled
        live = len(LiveRows(store.db).heads()) if is_live_wanted else 0
        self._live_changed: list[LiveHead] = self._live.changed() if live else []
        self._is_first_load = sources.is_empty() and not live
        self._count_live(live)

    @cached_property
    def reading(self) -> "SourceReading":
        from session_memory.collect.reading import SourceReading  # noqa: PLC0415

        return SourceReading(self.context, self._evicted)

    @cached_property
    def writing(self) -> "BatchWriting":
        from session_memory.collect.batch_writing import BatchWriting  # noqa: PLC0415

        return BatchWriting(self.context)

    @cached_property
    def _evicted(self) -> "EvictedSources":
        from session_memory.collect.evicted_sources import EvictedSources  # noqa: PLC0415

        return EvictedSources(self.context)

    @cached_property
    def _live(self) -> "LiveSync":
        from session_memory.collect.live_sessions import LiveSync  # noqa: PLC0415

        return LiveSync(self._store, self.context.now, self.context.config.domain_of)

    def _count_live(self, found: int) -> None:
        """Count live sessions as sources; their revision says whether they changed."""
        changed = len(self._live_changed)
        self.outcome.report.discovered += found
        self.outcome.report.unchanged += found - changed
        if found:
            self.outcome.by_flavor[LIVE] = found

    def look_below(self, where: list[Root]) -> None:
        """Find the sources below some roots that changed."""
        self._looking.look_below(where)

    def look_for(self, where: list[Root], is_asked: Callable[[str], bool]) -> None:
        self._looking.look_for(where, is_asked)

    def look_at(self, found: Iterable[Discovered]) -> None:
        """Find which of these sources changed."""
        for one in found:
            self._looking.look_at(one)

    def look_at_paths(self, named: dict[str, Path], flavors: set[str]) -> list[Path]:
        """Find which known sources changed. Returns the paths that do not exist, or were not read
        yet."""
        return self._looking.look_at_paths(named, flavors)

    def count_only(self) -> None:
        """For a dry run: report the changed sources and live sessions as read, without reading
        them."""
        counted = sum(task.counted for task in self.context.tasks)
        self.outcome.report.ingested = counted + len(self._live_changed)
        self.outcome.report.problems = self._store.problems.count()

    def read(self, jobs: int | None = 1) -> None:
        """Read every changed source and store its records, batch by batch."""
        store, outcome, tasks = self._store, self.outcome, self.context.tasks
        size = sum(max(task.stat.size - task.row.read_to, 0) for task in tasks)
        self.context.progress.begin(len(tasks), size)
        events_before, problems_before = store.events.gained, store.problems.added
        if self._has_work():
            with self._loading():
                self._read_tasks(size, jobs)
                self._read_live()
                self._evicted.bring_back_grown()
                self._finish()
        self.context.progress.end()
        if not store.index.is_complete:
            self._ensure_index()
        outcome.report.events = store.events.gained - events_before
        outcome.report.sessions = len(outcome.touched)
        outcome.new_problems = store.problems.added - problems_before
        if self._is_whole:
            outcome.report.problems = store.problems.count()

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Make the first load of an empty store faster."""
        if not (self._is_first_load and self.context.tasks):
            yield
            return
        with self._store.db.loading(), self._store.index.loading():
            yield

    def _has_work(self) -> bool:
        """Whether anything changed, or an earlier sync left something to do."""
        run, store = self.context, self._store
        return bool(
            run.tasks
            or run.failures
            or run.vanished
            or self._live_changed
            or store.sessions.stale()
            or store.sessions.grew_while_evicted()
            or LiveImports(store.db).has_newly_collected()
        )

    def _read_tasks(self, size: int, jobs: int | None) -> None:
        tasks = self.context.tasks
        parallel = None if size < BYTES_PER_WORKER else self._parallel(jobs)
        with (
            Batches(self.writing.write, self._is_first_load, self._store) as batches,
            # On an error the workers end before what was read is written.
            nullcontext() if parallel is None else parallel.started(),
        ):
            # The list grows meanwhile: an evicted session may need its other sources again.
            for number, task in enumerate(tasks):
                if parallel is None:
                    self._read_task(task, self.reading.chunks(task), batches)
                else:
                    self._read_task(task, parallel.chunks(number, task, batches), batches)

    def _finish(self) -> None:
        """Store which sources could not be read, and derive stale sessions again."""
        from session_memory.derive.stale_sessions import derive_stale  # noqa: PLC0415

        run, store = self.context, self._store
        if run.failures or run.vanished:
            with store.transaction():
                self.writing.write_failures()
                self.writing.write_vanished()
        # This derives what an interrupted sync left stale, too. Nobody reads a store that was
        # empty, so a first load derives everything in one transaction.
        with store.transaction() if self._is_first_load else nullcontext():
            derive_stale(store, run.now, run.config.domain_of)

    def _ensure_index(self) -> None:
        from session_memory.derive.reindex import ensure_index  # noqa: PLC0415

        ensure_index(self._store)

    def _parallel(self, jobs: int | None) -> "ParallelReading":
        # Most syncs have too little to read for worker processes.
        from session_memory.collect.parallel_reading import ParallelReading  # noqa: PLC0415

        return ParallelReading(self.context, self.reading, jobs)

    def _read_live(self) -> None:
        # The origin of an imported session may have been read just now.
        if self._live.note_collected() and self.context.config.source(LIVE).enabled:
            self._live_changed = self._live.changed()
        self._live.read(self._live_changed)
        self.outcome.report.ingested += self._live.ingested
        self.outcome.report.bytes += self._live.bytes
        for uid, count in self._live.touched.items():
            self.outcome.touched.setdefault(uid, count)

    def _read_task(self, task: ReadTask, chunks: Iterator[Chunk], batches: Batches) -> None:
        try:
            for chunk in chunks:
                batches.add(chunk)
        except (OSError, AdapterFailed) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.context.fail(task.flavor, task.ref, reason, counted=task.counted)
            return
        if task.counted:
            self.outcome.report.ingested += not task.left_out
            self.outcome.report.unchanged += task.left_out
