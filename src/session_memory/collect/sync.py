"""Sync: discover sources, read what is new, write it, and say what was done.

Reading and compressing happen outside the database's lock; a batch of what was read is then
written in one short transaction together with the cursors that say so. Killed anywhere, the next
run neither skips nor repeats.
"""

import gc
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from session_memory.adapters.base import (
    LOG,
    LOGS,
    SPILL,
    TIMELINE,
    Cursor,
    Record,
    SourceRef,
    Unlisted,
)
from session_memory.adapters.registry import adapter
from session_memory.collect.config import Config, this_host
from session_memory.collect.derive import Tally, derive_stale
from session_memory.collect.discover import Discovered, Root, discover, is_wanted
from session_memory.collect.ingest import Ingest, Known, repo_of
from session_memory.collect.live_sessions import LiveSync
from session_memory.collect.native import (
    SEGMENT,
    TAIL,
    GiantLine,
    MemorySource,
    Piece,
    Stat,
    change_of,
    database_stat,
    dump_of,
    dumped,
    opened,
    pieces,
    tail_hash,
    unpacked,
)
from session_memory.collect.tables import LIVE
from session_memory.core.text import escaped
from session_memory.core.time import now_ms
from session_memory.store.problems import UNREADABLE
from session_memory.store.raw import Packed, Packer
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.store import Store

# Small enough that a live writer beside us never waits long for the lock.
BATCH_RECORDS = 1000
BATCH_BYTES = 1024 * 1024
# Each of many logs that grew by a line costs a dozen statements, which on a server take their time.
BATCH_CHUNKS = 50
# An empty store has nobody to stall: large transactions write every page once.
FIRST_LOAD_BYTES = 8 * 1024 * 1024
FIRST_LOAD_RECORDS = 10_000
HEAD = 256 * 1024
FIRST_LOAD_TRANSACTION = 64 * 1024 * 1024
# Bad lines can be as many as there are lines; whoever follows a sync is told of some.
MOST_NOTED = 100


class Report(msgspec.Struct, kw_only=True):
    """What a sync did. ``discovered`` = ``ingested`` + ``unchanged`` + ``failed``, in sources."""

    discovered: int = 0
    ingested: int = 0
    unchanged: int = 0
    failed: int = 0
    problems: int = 0
    sessions: int = 0
    events: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Noted(msgspec.Struct, frozen=True):
    """A problem as it was met: in which file, where, and why."""

    path: str
    place: int
    reason: str
    detail: str


class Outcome(msgspec.Struct, kw_only=True):
    """The report, and what only a person wants to know.

    ``touched`` are the sessions that were written to, each with the events it had before;
    ``noted`` are the first of the new problems.
    """

    report: Report
    touched: dict[str, int] = {}
    noted: list[Noted] = []
    new_problems: int = 0
    vanished: int = 0
    roots: list[Root] = []
    by_flavor: dict[str, int] = {}


class Progress:
    """Told how many bytes there are to read and when some were; a view may subclass it."""

    def begin(self, files: int, size: int) -> None: ...

    def advance(self, size: int) -> None: ...

    def end(self) -> None: ...


class Task(msgspec.Struct):
    """One source with something to read."""

    flavor: str
    ref: SourceRef
    row: SourceRow
    stat: Stat
    is_new: bool
    counted: bool = True
    replaces: SourceRow | None = None
    left_out: bool = False


class Chunk(msgspec.Struct):
    """A stretch of a source, translated and compressed, ready to be written."""

    task: Task
    start: int
    packs: list[Packed]
    records: list[Record]
    cursor: Cursor
    kept: int
    tail_hash: str
    is_last: bool


def sync(
    store: Store,
    config: Config,
    where: list[Root],
    *,
    progress: Progress | None = None,
    dry_run: bool = False,
    host: str | None = None,
) -> Outcome:
    """Bring the store up to date with every source below ``where``."""
    started = time.perf_counter()
    run = Sync(store, config, host or this_host(config), progress or Progress())
    with _collector_off():
        run.look(where)
        if dry_run:
            run.count_only()
        else:
            run.read()
    run.outcome.report.seconds = round(time.perf_counter() - started, 3)
    run.outcome.roots = where
    return run.outcome


def sync_paths(
    store: Store,
    config: Config,
    where: list[Root],
    paths: Collection[Path],
    *,
    host: str | None = None,
) -> tuple[Outcome, list[Path]]:
    """Read what is new in the sources at ``paths``; what other sources there are costs nothing.

    Also says which of the paths a whole look must explain: no source is known there, or it is
    gone. ``events`` and ``problems`` are not counted, for that would look at all there are.
    """
    started = time.perf_counter()
    named = {escaped(str(path)): path for path in paths}
    host = host or this_host(config)
    run = Sync(store, config, host, Progress(), list(named))
    with _collector_off():
        strange = run.look_at(named, {root.flavor for root in where})
        run.read()
    run.outcome.report.seconds = round(time.perf_counter() - started, 3)
    return run.outcome, strange


class Sync:
    """One run: over everything, or over the sources at ``paths`` alone."""

    def __init__(
        self,
        store: Store,
        config: Config,
        host: str,
        progress: Progress,
        paths: Collection[str] | None = None,
    ) -> None:
        self._store = store
        self._config = config
        self._host = escaped(host)
        self._progress = progress
        self._now = now_ms()
        self._is_whole = paths is None
        self._known = (
            store.sources.known(self._host)
            if paths is None
            else store.sources.known_at(self._host, paths)
        )
        self._live = LiveSync(store, self._now, config.domain_of)
        self._live_changed = self._live.changed() if config.source(LIVE).enabled else []
        self._first_load = store.sources.none() and not self._live.discovered
        self._known_all: Known | None = None
        self._wrote = False
        self._tasks: list[Task] = []
        self._failures: list[tuple[str, SourceRef | Unlisted, str]] = []
        self._seen: set[str] = set()
        self._gone: list[SourceRow] = []
        self._packers: dict[str, Packer] = {}
        self.outcome = Outcome(report=Report())
        self._count_live()

    def _count_live(self) -> None:
        """A live session is looked at by asking for its revision."""
        found, changed = self._live.discovered, len(self._live_changed)
        self.outcome.report.discovered += found
        self.outcome.report.unchanged += found - changed
        if found:
            self.outcome.by_flavor[LIVE] = found

    # ------------------------------------------------------------ looking

    def look(self, where: list[Root]) -> None:
        """Find out what there is and what changed, without reading more than needed."""
        for found in discover(self._config, where):
            self._look_at(found)
        prefixes = tuple(f"{escaped(str(root.path))}{os.sep}" for root in where if root.exists)
        for path, row in self._known.items():
            expected = path.startswith(prefixes) and not row.vanished
            # Excluded now, or behind a directory we may not enter: that is not gone.
            if expected and path not in self._seen and _is_gone(path):
                self._gone.append(row)
        kept = [row for row in self._gone if row.role == LOG and row.ingested_at is not None]
        self.outcome.vanished = len(kept)

    def look_at(self, named: dict[str, Path], flavors: set[str]) -> list[Path]:
        """Look at sources by path, as they were found before; gives back what is none, or gone."""
        strange = []
        timelines = {name for name, row in self._known.items() if row.role == TIMELINE}
        for name, path in sorted(named.items(), key=lambda item: item[0] not in timelines):
            row = self._known.get(name)
            if row is None or row.ingested_at is None or _is_gone(str(path)):
                strange.append(path)
            elif row.flavor in flavors and is_wanted(self._config, row.flavor, str(path)):
                ref = SourceRef(path, row.role, row.home_path, row.session, row.agent)
                self._look_at(Discovered(row.flavor, ref))
        return strange

    def _look_at(self, found: Discovered) -> None:
        report = self.outcome.report
        report.discovered += 1
        flavor, ref = found.flavor, found.ref
        self.outcome.by_flavor[flavor] = self.outcome.by_flavor.get(flavor, 0) + 1
        if isinstance(ref, Unlisted):
            self._seen.add(escaped(str(ref.path)))
            self._fail(flavor, ref, ref.reason)
            return
        counted = False
        for part in sorted((ref, *ref.companions), key=lambda part: part.role != TIMELINE):
            try:
                task = self._task(flavor, part)
            except OSError as error:
                self._fail(flavor, part, error.strerror or str(error), counted=not counted)
            else:
                if task is None:
                    continue
                task.counted = not counted
                self._tasks.append(task)
            counted = True
        if not counted:
            report.unchanged += 1

    def _task(self, flavor: str, ref: SourceRef) -> Task | None:
        path = escaped(str(ref.path))
        if path in self._seen:
            raise OSError("written down, its name is that of another file")
        self._seen.add(path)
        is_database = dump_of(flavor) is not None
        stat = database_stat(ref.place) if is_database else Stat.of(ref.place.stat())
        row = self._known.get(path)
        if row is None:
            return Task(flavor, ref, self._new_row(flavor, ref, 0), stat, True)
        if row.ingested_at is None:
            # It could not be read until now, and perhaps nobody knew what it was.
            fresh = self._new_row(flavor, ref, row.generation)
            row = msgspec.structs.replace(fresh, id=row.id, uid=row.uid)
        if stat.matches(row) and not row.vanished:
            return None
        return Task(flavor, ref, row, stat, False)

    def _new_row(self, flavor: str, ref: SourceRef, generation: int) -> SourceRow:
        return SourceRow(
            host=self._host,
            flavor=flavor,
            role=ref.role,
            path=escaped(str(ref.path)),
            home_path=escaped(ref.home_path),
            session=escaped(ref.session),
            agent=escaped(ref.agent),
            generation=generation,
            adapter_version=adapter(flavor).VERSION,
            discovered_at=self._now,
        )

    def _fail(
        self, flavor: str, ref: SourceRef | Unlisted, reason: str, *, counted: bool = True
    ) -> None:
        self.outcome.report.failed += counted
        self._failures.append((flavor, ref, reason))

    # ------------------------------------------------------------ reading

    def count_only(self) -> None:
        """A dry run: what would be read counts as read."""
        found = sum(task.counted for task in self._tasks)
        self.outcome.report.ingested = found + len(self._live_changed)

    def read(self) -> None:
        """Read every changed source and write what it says, batch by batch."""
        store, report = self._store, self.outcome.report
        size = sum(max(task.stat.size - task.row.read_to, 0) for task in self._tasks)
        self._progress.begin(len(self._tasks), size)
        events_before, problems_before = store.events.gained, store.problems.gained
        with store.db.loading() if self._first_load and self._tasks else nullcontext():
            with _Batches(self._write, self._first_load, store) as writing:
                for task in self._tasks:
                    self._read_task(task, writing)
            self._read_live()
            if self._failures or self._gone:
                with store.transaction():
                    self._note_failures()
                    self._note_gone()
            # Also what an interrupted sync left undone. Nobody else reads a store that was empty:
            # one transaction for all of it.
            with store.transaction() if self._first_load else nullcontext():
                derive_stale(store, self._now, self._config.domain_of)
        self._progress.end()
        report.events = store.events.gained - events_before
        report.sessions = len(self.outcome.touched)
        self.outcome.new_problems = store.problems.gained - problems_before
        if self._is_whole:
            report.problems = store.problems.count()

    def _read_live(self) -> None:
        self._live.read(self._live_changed)
        self.outcome.report.ingested += self._live.ingested
        self.outcome.report.bytes += self._live.bytes
        for uid, count in self._live.touched.items():
            self.outcome.touched.setdefault(uid, count)

    def _read_task(self, task: Task, writing: "_Batches") -> None:
        try:
            for chunk in self._chunks(task):
                writing.add(chunk)
        except OSError as error:
            reason = error.strerror or str(error)
            self._fail(task.flavor, task.ref, reason, counted=task.counted)
            return
        if task.counted:
            self.outcome.report.ingested += not task.left_out
            self.outcome.report.unchanged += task.left_out

    def _chunks(self, task: Task) -> Iterator[Chunk]:
        row, place, dump = task.row, task.ref.place, dump_of(task.flavor)
        if dump is not None:
            # Before it is copied: what is written meanwhile shall be noticed the next time.
            task.stat = database_stat(place)
        with (
            opened(place) as native,
            unpacked(native, place) if dump is None else dumped(task.ref, dump) as file,
        ):
            if dump is None:
                # What was appended since the first look is read too: the cursor must match it.
                task.stat = Stat.of(os.fstat(native.fileno()))
            size = os.fstat(file.fileno()).st_size
            content = msgspec.structs.replace(task.stat, size=size)
            change = "grown" if task.is_new else change_of(self._store, row, file, content)
            if task.is_new and self._is_left_out(task, file):
                task.left_out = True
                return
            if change == "rewritten":
                self._begin_generation(task)
            elif change == "same":
                cursor = Cursor(row.read_to, row.cursor_state)
                yield Chunk(task, row.kept, [], [], cursor, row.kept, row.tail_hash, is_last=True)
                return
            if task.ref.role in LOGS:
                yield from self._log_chunks(task, file, size)
            elif task.ref.role == SPILL:
                yield from self._spill_chunks(task, file, task.row.kept, size)
            else:
                file.seek(0)
                # A document too long to be one is kept all the same, piece by piece.
                body = file.read(min(size, SEGMENT))
                yield self._whole_chunk(task, body, is_last=len(body) >= size)
                if len(body) < size:
                    yield from self._spill_chunks(task, file, len(body), size)

    def _is_left_out(self, task: Task, file: BinaryIO) -> bool:
        """Whether a new log is of a repository that is not to be read. Some agents say only inside
        where they worked; of those the beginning is looked at, and nothing is kept."""
        if not self._config.exclude.repos or task.ref.role not in LOGS:
            return False
        head = os.pread(file.fileno(), HEAD, 0)
        piece = Piece(0, head, head.rfind(b"\n") + 1)
        records = adapter(task.flavor).read(MemorySource(task.ref, piece), Cursor())
        cwd = next((record.cwd for _, record in records if record.cwd), None)
        return self._config.excludes_repo(repo_of(cwd))

    def _begin_generation(self, task: Task) -> None:
        """The file is another one now. What we have of the old one stays, out of the way."""
        task.replaces = task.row
        task.row = self._new_row(task.flavor, task.ref, task.row.generation + 1)
        task.is_new = True

    def _log_chunks(self, task: Task, file: BinaryIO, size: int) -> Iterator[Chunk]:
        row, packer = task.row, self._packer(task.flavor)
        cursor, kept = Cursor(row.read_to, row.cursor_state), row.kept
        for piece in pieces(file, cursor.offset, size):
            records, cursor = self._translate(task, piece, cursor)
            self._progress.advance(len(piece.data))
            # What the adapter did not take up waits, like a torn line, for what follows it.
            taken = max(cursor.offset - piece.offset, 0)
            waits = not piece.giant and taken < piece.whole and not piece.data[taken:].isspace()
            kept = piece.offset + len(piece.data)
            packs = packer.packs(piece.data, piece.offset, taken)
            yield Chunk(
                task,
                piece.offset,
                packs,
                records,
                cursor,
                kept,
                self._tail(file, kept),
                is_last=kept >= size,
            )
            if waits:
                return
        if kept == row.kept:
            yield Chunk(task, kept, [], [], cursor, kept, self._tail(file, kept), is_last=True)

    @staticmethod
    def _tail(file: BinaryIO, end: int) -> str:
        return tail_hash(os.pread(file.fileno(), min(TAIL, end), max(end - TAIL, 0)))

    def _translate(self, task: Task, piece: Piece, cursor: Cursor) -> tuple[list[Record], Cursor]:
        read = adapter(task.flavor).read
        if piece.giant:
            begin = Cursor(piece.offset + len(piece.data) - piece.giant, cursor.state)
            cursor, record = next(read(GiantLine(task.ref, piece.giant), begin))
            return [record], cursor
        begin = Cursor(piece.offset, cursor.state) if piece.whole else cursor
        records, last = [], begin
        # Only the last cursor is kept: each may hold as much as an adapter must remember.
        for cursor, record in read(MemorySource(task.ref, piece), begin):
            records.append(record)
            last = cursor
        return records, last

    def _spill_chunks(self, task: Task, file: BinaryIO, start: int, size: int) -> Iterator[Chunk]:
        """A spilled body of any size, piece by piece; it gives no records."""
        end = start
        file.seek(start)
        while end < size and (data := file.read(min(SEGMENT, size - end))):
            start, end = end, end + len(data)
            packs = self._packer(task.flavor).packs(data, start)
            self._progress.advance(len(data))
            tail = self._tail(file, end)
            yield Chunk(task, start, packs, [], Cursor(), end, tail, is_last=end >= size)
        if start == end:
            yield Chunk(task, end, [], [], Cursor(), end, self._tail(file, end), is_last=True)

    def _whole_chunk(self, task: Task, body: bytes, *, is_last: bool) -> Chunk:
        # One that only grew was caught while it was being written: all we had of it is in there.
        task.row.lines = task.row.lenient = 0
        piece = Piece(0, body, len(body))
        records, cursor = self._translate(task, piece, Cursor())
        packs = self._packer(task.flavor).packs(body, 0)
        self._progress.advance(len(body))
        return Chunk(task, 0, packs, records, cursor, len(body), tail_hash(body), is_last=is_last)

    def _packer(self, flavor: str) -> Packer:
        if flavor not in self._packers:
            self._packers[flavor] = self._store.raw.packer(flavor)
        return self._packers[flavor]

    # ------------------------------------------------------------ writing

    def _write(self, chunks: list[Chunk]) -> None:
        """One batch, inside a transaction of the caller's."""
        self._refresh_known()
        ingest = Ingest(self._store, self._now, self._config.domain_of, self._known_all)
        for chunk in chunks:
            if self._claim(chunk):
                self._write_chunk(ingest, chunk)
        for uid, count in ingest.counts.items():
            self.outcome.touched.setdefault(uid, count)

    def _refresh_known(self) -> None:
        """What we hold in memory is all there is only while nobody else has written."""
        others_wrote = self._store.db.others_wrote()
        if not self._wrote and self._store.sources.none():
            self._known_all = Known()
        elif others_wrote or (self._known_all is not None and self._known_all.is_full):
            self._known_all = None
        self._wrote = True

    def _claim(self, chunk: Chunk) -> bool:
        """Whether the source still stands where we began to read it; another sync may be ahead."""
        row = chunk.task.row
        if row.superseded:
            return False
        if not row.id:
            if self._store.sources.exists(row.host, row.path, row.generation):
                row.superseded = 1
                return False
        elif self._store.sources.moved_on(row):
            row.superseded = 1
            return False
        return True

    def _write_chunk(self, ingest: Ingest, chunk: Chunk) -> None:
        store, row, records = self._store, chunk.task.row, chunk.records
        is_known = bool(row.id)
        if row.starts_at is None and row.role in LOGS:
            row.starts_at = next((r.ts for r in records if r.ts is not None), None)
            if is_known and row.starts_at is not None:
                self._reorder(row)
        tally = Tally()
        tally.count(records)
        tally.apply(row)
        self.outcome.report.bytes += chunk.kept - max(row.kept, chunk.start)
        row.read_to, row.cursor_state = chunk.cursor.offset, chunk.cursor.state
        row.kept, row.tail_hash = chunk.kept, chunk.tail_hash
        row.vanished, row.ingested_at = 0, self._now
        if chunk.is_last:
            stat = chunk.task.stat
            row.size, row.mtime_ns = stat.size, stat.mtime_ns
            row.ctime_ns, row.inode = stat.ctime_ns, stat.inode
        store.sources.save(row)
        if chunk.task.replaces is not None:
            store.sources.mark_superseded(chunk.task.replaces.id)
            chunk.task.replaces = None
        if chunk.packs:
            store.raw.replace_from(row.id, chunk.start, chunk.packs, is_known)
        if is_known:
            store.problems.file_is_well(row.id)
        if is_known and row.role not in LOGS:
            store.problems.forget(row.id)
        self._note_problems(row, Tally.problems_of(records))
        ingest.add(row, records)

    def _note_problems(self, row: SourceRow, found: list[tuple[int, int, str, str]]) -> None:
        new = self._store.problems.add(row.id, found, self._now)
        if new and len(self.outcome.noted) < MOST_NOTED:
            some = [Noted(row.path, place, why, detail) for place, _, why, detail in found]
            self.outcome.noted += some[:MOST_NOTED]

    def _reorder(self, row: SourceRow) -> None:
        """A source that turns out to begin at some time may belong before another one."""
        sessions = self._store.sessions
        for session_id in sessions.of_source(row.id):
            if len(sessions.source_ids(session_id)) > 1:
                sessions.mark_stale(session_id)

    def _note_failures(self) -> None:
        for flavor, ref, reason in self._failures:
            path = escaped(str(ref.path))
            row = self._known.get(path)
            if row is None:
                source = SourceRef(Path(ref.path)) if isinstance(ref, Unlisted) else ref
                fresh = self._new_row(flavor, source, 0)
                uid = source_uid(fresh.host, fresh.path, 0)
                row = self._store.sources.by_uid(uid) or fresh
            if not row.id:
                self._store.sources.save(row)
            self._note_problems(row, [(0, 0, UNREADABLE, reason)])

    def _note_gone(self) -> None:
        """The file is gone, its session stays."""
        for row in self._gone:
            self._store.sources.mark_vanished(row.id)
            self._store.problems.file_is_well(row.id)


def _is_gone(path: str) -> bool:
    try:
        Path(path).lstat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


class _Batches:
    """Gathers chunks and writes them together, often enough and not too often."""

    def __init__(
        self, write: Callable[[list[Chunk]], None], first_load: bool, store: Store
    ) -> None:
        self._write = write
        self._first_load = first_load
        self._store = store
        self._chunks: list[Chunk] = []
        self._records = 0
        self._bytes = 0
        self._open: AbstractContextManager[None] | None = None
        self._in_transaction = 0

    def add(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._records += len(chunk.records)
        self._bytes += chunk.kept - chunk.start
        limit = FIRST_LOAD_BYTES if self._first_load else BATCH_BYTES
        most = FIRST_LOAD_RECORDS if self._first_load else BATCH_RECORDS
        many = not self._first_load and len(self._chunks) >= BATCH_CHUNKS
        if self._bytes >= limit or self._records >= most or many:
            self._flush()

    def _flush(self) -> None:
        if not self._chunks:
            return
        if self._first_load:
            self._flush_into_long_transaction()
        else:
            with self._store.transaction():
                self._write(self._chunks)
        self._chunks, self._records, self._bytes = [], 0, 0

    def _flush_into_long_transaction(self) -> None:
        if self._open is None:
            self._open = self._store.transaction()
            self._open.__enter__()
        self._write(self._chunks)
        self._in_transaction += self._bytes
        if self._in_transaction >= FIRST_LOAD_TRANSACTION:
            self._commit()

    def _commit(self) -> None:
        open_transaction, self._open, self._in_transaction = self._open, None, 0
        if open_transaction is not None:
            open_transaction.__exit__(None, None, None)

    def __enter__(self) -> "_Batches":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
                self._commit()
        except BaseException as late:
            kind, error, trace = type(late), late, late.__traceback__
            raise
        finally:
            if self._open is not None:
                self._open.__exit__(kind, error, trace)


@contextmanager
def _collector_off() -> Iterator[None]:
    """Rows in the making are many and never cyclic; walking them again and again is wasted."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
