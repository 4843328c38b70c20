"""Sync: discover sources, read what is new, write it, and say what was done.

Reading and compressing happen outside the database's lock; a batch of what was read is then
written in one short transaction together with the cursors that say so. Killed anywhere, the next
run neither skips nor repeats.
"""

import gc
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

import msgspec

from session_memory.adapters.base import Cursor, Record, SourceRef, Unlisted
from session_memory.adapters.registry import agent
from session_memory.collect.batches import Batches, Chunk, Task
from session_memory.collect.discover import Discovered, Root, discover, is_wanted
from session_memory.collect.live_sessions import LiveSync
from session_memory.collect.masking import as_kept, begin_hiding, hidden_piece, hidden_spill, hide
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
from session_memory.config import Config, this_host
from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.core.roles import LOG, LOGS, SPILL, TIMELINE
from session_memory.core.text import escaped
from session_memory.core.time import now_ms
from session_memory.derive.derivation import Tally, derive_stale
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.derive.forgotten import Forgotten, blanked
from session_memory.derive.ingest import Ingest, repo_of
from session_memory.derive.reindex import ensure_index
from session_memory.derive.tables import LIVE
from session_memory.derive.writing import Known
from session_memory.store.problems import UNREADABLE
from session_memory.store.raw import Packer
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.store import Store

HEAD = 256 * 1024
AWAY = "evicted"
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
    with (
        _collector_off(),
        # What is evicted or forgotten meanwhile would be written again.
        nullcontext() if dry_run else store.db.operation_lock(shared=True),
    ):
        run = Sync(store, config, host or this_host(config), progress or Progress())
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
    with _collector_off(), store.db.operation_lock(shared=True):
        run = Sync(store, config, host, Progress(), list(named))
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
        self._first_load = store.sources.is_empty() and not self._live.discovered
        self._forgotten = Forgotten(store)
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
        if self._forgotten and self._is_forgotten(flavor, ref, path, row):
            return None
        if row is None:
            return Task(flavor, ref, self._new_row(flavor, ref, 0), stat, True)
        if row.ingested_at is None:
            # It could not be read until now, and perhaps nobody knew what it was.
            fresh = self._new_row(flavor, ref, row.generation)
            row = msgspec.structs.replace(fresh, id=row.id, uid=row.uid)
        if stat.matches(row) and not row.vanished:
            return None
        return Task(flavor, ref, row, stat, False)

    def _is_forgotten(self, flavor: str, ref: SourceRef, path: str, row: SourceRow | None) -> bool:
        """A source that is known has others' records too; in a new one they would be named."""
        if self._forgotten.holds_source(self._host, path):
            return True
        return row is None and self._forgotten.holds_session(flavor, ref.session)

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
            adapter_version=agent(flavor).version,
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
        events_before, problems_before = store.events.gained, store.problems.added
        with store.db.loading() if self._first_load and self._tasks else nullcontext():
            with Batches(self._write, self._first_load, store) as writing:
                for task in self._tasks:
                    self._read_task(task, writing)
            self._read_live()
            self._bring_back_grown()
            if self._failures or self._gone:
                with store.transaction():
                    self._note_failures()
                    self._note_gone()
            # Also what an interrupted sync left undone. Nobody else reads a store that was empty:
            # one transaction for all of it.
            with store.transaction() if self._first_load else nullcontext():
                derive_stale(store, self._now, self._config.domain_of)
        self._progress.end()
        ensure_index(store)
        report.events = store.events.gained - events_before
        report.sessions = len(self.outcome.touched)
        self.outcome.new_problems = store.problems.added - problems_before
        if self._is_whole:
            report.problems = store.problems.count()

    def _read_live(self) -> None:
        self._live.read(self._live_changed)
        self.outcome.report.ingested += self._live.ingested
        self.outcome.report.bytes += self._live.bytes
        for uid, count in self._live.touched.items():
            self.outcome.touched.setdefault(uid, count)

    def _read_task(self, task: Task, writing: Batches) -> None:
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
            change = "grown" if task.is_new else change_of(self._store, row, file, content, as_kept)
            if task.is_new and self._is_left_out(task, file):
                task.left_out = True
                return
            if change == "rewritten":
                self._begin_generation(task)
            elif change == "same":
                task.is_away = self._is_away(row)
                cursor = Cursor(row.read_to, row.cursor_state)
                yield Chunk(task, row.kept, [], [], cursor, row.kept, row.tail_hash, is_last=True)
                return
            elif not task.is_new:
                self._bring_back(task)
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
        records = agent(task.flavor).read(MemorySource(task.ref, piece), Cursor())
        cwd = next((record.cwd for _, record in records if record.cwd), None)
        return self._config.excludes_repo(repo_of(cwd))

    def _is_away(self, row: SourceRow) -> bool:
        return self._store.retention.evicted_source(row.id) is not None

    def _bring_back(self, task: Task) -> None:
        """What is evicted and goes on comes back first: out of the archive, or, where the logs are
        all there is of it, by reading those from their beginning. Else what is new waits."""
        if not self._is_away(task.row):
            return
        sessions = self._store.sessions.of_source(task.row.id)
        try:
            self._out_of_archive(sessions)
        except (ArchiveError, SessionEvicted):
            task.is_away = not self._read_again(task, sessions)

    def _read_again(self, task: Task, sessions: list[int]) -> bool:
        """Begin anew with all that the sessions were read from, if every file of it is still what
        it was."""
        store = self._store
        kin = {other for one in sessions for other in family(store, one)}
        away = {found.source_id for one in kin for found in store.retention.evicted_of(one)}
        others = [store.sources.get(one) for one in sorted(away - {task.row.id})]
        if not all(self._is_as_it_was(row) for row in others):
            return False
        with store.transaction():
            for row in (task.row, *others):
                store.retention.put_back(row.id, ())
                row.read_to = row.kept = row.lines = row.lenient = row.size = 0
                row.cursor_state, row.bookkeeping = "", "{}"
                row.tail_hash = tail_hash(b"")
                store.raw.replace_from(row.id, 0, [])
                store.sources.save(row)
            for session_id in kin:
                store.retention.unfreeze(session_id)
        for row in others:
            ref = SourceRef(Path(row.path), row.role, row.home_path, row.session, row.agent)
            stat = Stat.of(ref.place.stat())
            # With a row of its own: whatever was read after the old cursor is not written.
            self._tasks.append(Task(row.flavor, ref, row, stat, False, counted=False))
        return True

    def _is_as_it_was(self, row: SourceRow) -> bool:
        if row.host != self._host or row.superseded or dump_of(row.flavor) is not None:
            return False
        place = Path(row.path)
        try:
            with opened(place) as native, unpacked(native, place) as file:
                stat = Stat.of(os.fstat(native.fileno()))
                content = msgspec.structs.replace(stat, size=os.fstat(file.fileno()).st_size)
                return change_of(self._store, row, file, content, as_kept) != "rewritten"
        except OSError:
            return False

    def _out_of_archive(self, sessions: list[int]) -> None:
        kin = {other for session_id in sessions for other in family(self._store, session_id)}
        with self._store.transaction():
            bring_back(self._store, archive_of(self._store, self._config), sorted(kin))

    def _bring_back_grown(self) -> None:
        """Evicted sessions that another source of theirs has something new of."""
        store = self._store
        for session_id in store.sessions.grew_while_evicted():
            row = store.sessions.row_by_id(session_id)
            if row.evicted_at is None:
                continue
            try:
                self._out_of_archive([session_id])
            except (ArchiveError, SessionEvicted) as error:
                newest = max(store.sessions.source_ids(session_id))
                detail = f"it waits for the rest of {row.uid}, which was evicted: {error}"
                with store.transaction():
                    self._note_problems(store.sources.get(newest), [(0, 0, AWAY, detail)])

    def _begin_generation(self, task: Task) -> None:
        """The file is another one now. What we have of the old one stays, out of the way."""
        task.replaces = task.row
        task.row = self._new_row(task.flavor, task.ref, task.row.generation + 1)
        task.is_new, task.is_away = True, False

    def _log_chunks(self, task: Task, file: BinaryIO, size: int) -> Iterator[Chunk]:
        row, packer = task.row, self._packer(task.flavor)
        cursor, kept = Cursor(row.read_to, row.cursor_state), row.kept
        masking = begin_hiding(row, self._config.redact, cursor.offset)
        away = self._store.retention.evicted_up_to(row.id, kept) if task.is_away else 0
        for found in pieces(file, cursor.offset, size):
            piece = hidden_piece(found) if masking else found
            records, cursor = self._translate(task, piece, cursor)
            self._progress.advance(len(piece.data))
            # What the adapter did not take up waits, like a torn line, for what follows it.
            taken = max(cursor.offset - piece.offset, 0)
            waits = not piece.giant and taken < piece.whole and not piece.data[taken:].isspace()
            kept = piece.offset + len(piece.data)
            masks = self._forgotten.masks(task.flavor, records) if self._forgotten else []
            data = blanked(piece.data, piece.offset, masks)
            if masks:
                gone = set(masks)
                records = [r for r in records if (r.offset, r.length) not in gone]
            # What is away ends where what waits for it begins.
            skipped = min(max(away - piece.offset, 0), len(data))
            packs = packer.packs(data[skipped:], piece.offset + skipped, max(taken - skipped, 0))
            yield Chunk(
                task,
                piece.offset + skipped,
                packs,
                records,
                cursor,
                kept,
                self._tail(file, kept),
                is_last=kept >= size,
                masks=masks,
            )
            if waits:
                return
        if kept == row.kept:
            yield Chunk(task, kept, [], [], cursor, kept, self._tail(file, kept), is_last=True)

    @staticmethod
    def _tail(file: BinaryIO, end: int) -> str:
        return tail_hash(os.pread(file.fileno(), min(TAIL, end), max(end - TAIL, 0)))

    def _translate(self, task: Task, piece: Piece, cursor: Cursor) -> tuple[list[Record], Cursor]:
        read = agent(task.flavor).read
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
        if begin_hiding(task.row, self._config.redact, 0):
            yield from self._masked_spill(task, file, start, size)
            return
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

    def _masked_spill(self, task: Task, file: BinaryIO, start: int, size: int) -> Iterator[Chunk]:
        """What grew is masked again from the beginning: a secret may go on where it ended."""
        end = start = 0 if task.ref.role == SPILL else start
        for place, data in hidden_spill(file, start, size):
            end = place + len(data)
            packs = self._packer(task.flavor).packs(data, place)
            self._progress.advance(len(data))
            tail = self._tail(file, end)
            yield Chunk(task, place, packs, [], Cursor(), end, tail, is_last=end >= size)
        if start == end:
            yield Chunk(task, end, [], [], Cursor(), end, self._tail(file, end), is_last=True)

    def _whole_chunk(self, task: Task, body: bytes, *, is_last: bool) -> Chunk:
        # One that only grew was caught while it was being written: all we had of it is in there.
        task.row.lines = task.row.lenient = 0
        tail = tail_hash(body)
        if begin_hiding(task.row, self._config.redact, 0):
            body = hide(body)
        piece = Piece(0, body, len(body))
        records, cursor = self._translate(task, piece, Cursor())
        packs = self._packer(task.flavor).packs(body, 0)
        self._progress.advance(len(body))
        return Chunk(task, 0, packs, records, cursor, len(body), tail, is_last=is_last)

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
        if others_wrote:
            # Forgetting a session takes words along that nobody else used.
            self._store.names.forget()
            self._forgotten = Forgotten(self._store)
        if not self._wrote and self._store.sources.is_empty():
            self._known_all = Known()
        elif others_wrote or (self._known_all is not None and self._known_all.is_full):
            self._known_all = None
        self._wrote = True

    def _claim(self, chunk: Chunk) -> bool:
        """Whether the source still stands where we began to read it; another sync may be ahead, or
        it was evicted or forgotten meanwhile."""
        row = chunk.task.row
        if row.superseded:
            return False
        if not row.id:
            if self._store.sources.exists(row.host, row.path, row.generation):
                row.superseded = 1
                return False
        elif (
            self._store.sources.was_read_by_others(row) or self._is_away(row) != chunk.task.is_away
        ):
            row.superseded = 1
            return False
        if self._forgotten and self._was_forgotten(chunk):
            row.superseded = 1
            return False
        return True

    def _was_forgotten(self, chunk: Chunk) -> bool:
        """Whether it holds something that was forgotten after it was read."""
        task, row = chunk.task, chunk.task.row
        if self._is_forgotten(task.flavor, task.ref, row.path, row if row.id else None):
            return True
        masks = self._forgotten.masks(task.flavor, chunk.records)
        return not set(masks) <= set(chunk.masks)

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
        if chunk.masks:
            store.retention.add_masks(row.id, chunk.masks)
            self._forgotten.bury_orphans(self._now)
        if is_known:
            store.problems.clear_unreadable(row.id)
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
            self._store.problems.clear_unreadable(row.id)


def _is_gone(path: str) -> bool:
    try:
        Path(path).lstat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


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
