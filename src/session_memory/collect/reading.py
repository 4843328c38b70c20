"""Reading the new part of a source: translated into records and compressed, in chunks.

Nothing is written here, so the database is not locked while a source is read.
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.agent import Rows
from session_memory.adapters.base import Cursor, Record
from session_memory.adapters.checked_reading import records_of
from session_memory.adapters.registry import agent
from session_memory.collect.batches import Chunk, ReadTask
from session_memory.collect.database_copies import database_stat, dump_of, dumped
from session_memory.collect.evicted_sources import EvictedSources
from session_memory.collect.file_pieces import (
    SEGMENT,
    FilePiece,
    GiantLine,
    MemorySource,
    bytes_between,
    pieces,
)
from session_memory.collect.masking import (
    as_kept,
    begin_masking,
    mask_bytes,
    masked_piece,
    masked_spill,
)
from session_memory.collect.native import TAIL, Stat, change_of, opened, tail_hash, unpacked
from session_memory.collect.rewritten import document_hash, document_of, grown_lines
from session_memory.collect.row_sources import following_lines, rows_of
from session_memory.collect.run_context import RunContext
from session_memory.core.errors import AdapterFailed
from session_memory.core.roles import LOGS, REWRITTEN, SPILL
from session_memory.derive.forgotten import blanked
from session_memory.derive.repositories import names_in
from session_memory.store.raw import Packer
from session_memory.store.sources import SourceRow

BeginsMasking = Callable[[SourceRow, bool, int], bool]
"""Says whether to mask what is read of a source; `begin_masking` or a substitute."""

# How much of a new log is read to find out which repository it is about.
HEAD = 256 * 1024


class SourceReading:
    """Reads the sources of one sync."""

    def __init__(
        self,
        run: RunContext,
        evicted: EvictedSources,
        begins_masking: BeginsMasking = begin_masking,
    ) -> None:
        self._run = run
        self._evicted = evicted
        self._begins_masking = begins_masking
        self._packers: dict[str, Packer] = {}

    def chunks(self, task: ReadTask) -> Iterator[Chunk]:
        """What is new in a source. The last chunk has the file's size and times."""
        if task.ref.role == REWRITTEN:
            with opened(task.ref.place) as native:
                task.stat = Stat.of(os.fstat(native.fileno()))
                yield from self._rewritten_chunks(task, document_of(native))
            return
        rows = rows_of(task.flavor, task.ref)
        if rows is not None:
            yield from self._row_chunks(task, rows)
            return
        place, dump = task.ref.place, dump_of(task.flavor)
        if dump is not None:
            # Taken before the copy: what is written meanwhile is noticed by the next sync.
            task.stat = database_stat(place)
        with (
            opened(place) as native,
            unpacked(native, place) if dump is None else dumped(task.ref, dump) as file,
        ):
            if dump is None:
                # What was appended since the source was looked at is read too, so the stored
                # size must include it.
                task.stat = Stat.of(os.fstat(native.fileno()))
            size = os.fstat(file.fileno()).st_size
            if task.is_new and self._is_left_out(task, file):
                task.left_out = True
                return
            yield from self._changed_chunks(task, file, size)

    def _row_chunks(self, task: ReadTask, rows: Rows) -> Iterator[Chunk]:
        """What changed in a part of a database. Its lines follow those that are stored."""
        row = task.row
        with following_lines(task.ref, row, rows) as file:
            size = os.fstat(file.fileno()).st_size
            if task.is_new and self._is_left_out(task, file):
                task.left_out = True
            elif size > row.kept or task.is_new:
                self._evicted.bring_back(task)
                yield from self._log_chunks(task, file, size)
            else:
                yield self._unchanged(task)

    def _changed_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        row, content = task.row, msgspec.structs.replace(task.stat, size=size)
        if not task.is_new:
            change = change_of(self._run.store, row, file, content, as_kept)
            if change == "same":
                yield self._unchanged(task)
                return
            if change == "rewritten":
                self._begin_generation(task)
            else:
                self._evicted.bring_back(task)
        yield from self.new_chunks(task, file, size)

    def _unchanged(self, task: ReadTask) -> Chunk:
        """A source without news. Its times may be new."""
        row = task.row
        task.is_evicted = self._run.is_evicted(row)
        cursor = Cursor(row.read_to, row.cursor_state)
        return Chunk(task, row.kept, [], [], cursor, row.kept, row.tail_hash, is_last=True)

    def _rewritten_chunks(self, task: ReadTask, document: bytes) -> Iterator[Chunk]:
        """What is new in a document that the agent rewrites as a whole."""
        task.content_hash = document_hash(document)
        if not task.is_new:
            if task.content_hash == task.row.tail_hash:
                yield self._unchanged(task)
                return
            self._evicted.bring_back(task)
            if task.is_evicted:
                # Without its lines nobody knows which messages are new.
                self._begin_generation(task)
        redact, row = self._run.config.redact, task.row
        masked = self._begins_masking(row, redact, row.read_to)
        with grown_lines(self._run.store, row, document, masked=masked) as file:
            size = os.fstat(file.fileno()).st_size
            if task.is_new and self._is_left_out(task, file):
                task.left_out = True
                return
            yield from self._log_chunks(task, file, size)

    def new_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        """What follows the cursor of a source, from an open file."""
        if task.ref.role in LOGS:
            yield from self._log_chunks(task, file, size)
        elif task.ref.role == SPILL:
            yield from self.plain_chunks(task, file, task.row.kept, size)
        else:
            yield from self._document_chunks(task, file, size)

    def _is_left_out(self, task: ReadTask, file: BinaryIO) -> bool:
        """Whether the configuration excludes the repository that a new log is about.

        Some agents name the working directory only inside the log, so its beginning is read.
        """
        config = self._run.config
        if not config.exclude.repos or task.ref.role not in LOGS:
            return False
        head = os.pread(file.fileno(), HEAD, 0)
        piece = FilePiece(0, head, head.rfind(b"\n") + 1)
        source = MemorySource(task.ref, piece)
        records = records_of(agent(task.flavor), source, Cursor(), piece.whole)
        return any(config.excludes_repo(name) for name in names_in(record for _, record in records))

    def _begin_generation(self, task: ReadTask) -> None:
        """Read a rewritten file from its beginning. What was kept of the old one stays."""
        task.replaces = task.row
        task.row = self._run.new_row(task.flavor, task.ref, task.row.generation + 1)
        task.is_new, task.is_evicted = True, False

    # ------------------------------------------------------------ logs

    def _log_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        run, row, packer = self._run, task.row, self._packer(task.flavor)
        cursor, kept = Cursor(row.read_to, row.cursor_state), row.kept
        masking = self._begins_masking(row, run.config.redact, cursor.offset)
        evicted_to = run.store.retention.evicted_up_to(row.id, kept) if task.is_evicted else 0
        for found in pieces(file, cursor.offset, size, short=not run.is_first_load):
            # The lines of a document are masked when they are made.
            piece = masked_piece(found) if masking and not task.content_hash else found
            records, cursor = self._translate(task, piece, cursor)
            if piece.offset == row.read_to:
                _note_shared_line(file, piece.offset, records)
            run.progress.advance(len(piece.data))
            cursor = _after_blanks(cursor, piece)
            # Lines that the adapter did not take wait for what follows, like a torn line.
            taken = max(cursor.offset - piece.offset, 0)
            waits = not piece.giant and taken < piece.whole
            kept = piece.offset + len(piece.data)
            masks = run.forgotten.masks(task.flavor, records) if run.forgotten else []
            data = blanked(piece.data, piece.offset, masks)
            if masks:
                masked = set(masks)
                records = [r for r in records if (r.offset, r.length) not in masked]
            # An evicted range ends where the next unread line starts: no pack overlaps it.
            skipped = min(max(evicted_to - piece.offset, 0), len(data))
            packs = packer.packs(data[skipped:], piece.offset + skipped, max(taken - skipped, 0))
            yield Chunk(
                task,
                piece.offset + skipped,
                packs,
                records,
                cursor,
                kept,
                self._tail_at(task, file, kept, size),
                is_last=kept >= size,
                masks=masks,
            )
            if waits:
                return
        if kept == row.kept:
            tail = self._tail_at(task, file, kept, size)
            yield Chunk(task, kept, [], [], cursor, kept, tail, is_last=True)

    def _tail_at(self, task: ReadTask, file: BinaryIO, kept: int, size: int) -> str:
        """The hash by which the next sync sees that nothing changed before ``kept``."""
        return task.content_hash if task.content_hash and kept >= size else _tail(file, kept)

    def _translate(
        self, task: ReadTask, piece: FilePiece, cursor: Cursor
    ) -> tuple[list[Record], Cursor]:
        reader = agent(task.flavor)
        if piece.giant:
            return self._translate_giant(task, piece, cursor)
        begin = Cursor(piece.offset, cursor.state) if piece.whole else cursor
        end = piece.offset + piece.whole
        records, last = [], begin
        # Only the last cursor is kept: each may hold as much as an adapter must remember.
        for cursor, record in records_of(reader, MemorySource(task.ref, piece), begin, end):
            records.append(record)
            last = cursor
        return records, last

    def _translate_giant(
        self, task: ReadTask, piece: FilePiece, cursor: Cursor
    ) -> tuple[list[Record], Cursor]:
        end = piece.offset + len(piece.data)
        begin, line = Cursor(end - piece.giant, cursor.state), GiantLine(task.ref, piece.giant)
        found = next(records_of(agent(task.flavor), line, begin, end), None)
        if found is None:
            silence = ValueError(f"it gave no record for a line of {piece.giant:,} bytes")
            raise AdapterFailed(task.flavor, silence, str(task.ref.path))
        return [found[1]], found[0]

    # ------------------------------------------------------------ documents and spilled bodies

    def _document_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        """A document in one chunk. What is too long for a document is kept piece by piece."""
        file.seek(0)
        body = file.read(min(size, SEGMENT))
        yield self._document_chunk(task, body, is_last=len(body) >= size)
        if len(body) < size:
            yield from self.plain_chunks(task, file, len(body), size)

    def _document_chunk(self, task: ReadTask, body: bytes, *, is_last: bool) -> Chunk:
        # A document that only grew was read while it was being written. It is read again whole.
        task.row.lines = task.row.lenient = 0
        tail = tail_hash(body)
        if self._begins_masking(task.row, self._run.config.redact, 0):
            body = mask_bytes(body)
        records, cursor = self._translate(task, FilePiece(0, body, len(body)), Cursor())
        packs = self._packer(task.flavor).packs(body, 0)
        self._run.progress.advance(len(body))
        return Chunk(task, 0, packs, records, cursor, len(body), tail, is_last=is_last)

    def plain_chunks(
        self, task: ReadTask, file: BinaryIO, start: int, size: int, after: Chunk | None = None
    ) -> Iterator[Chunk]:
        """A source of any size, piece by piece, without records: a spilled body, for example.

        ``after`` is the last chunk with records, if there is one.
        """
        cursor = Cursor() if after is None else after.cursor
        placed = bytes_between(file, start, size)
        if self._begins_masking(task.row, self._run.config.redact, 0):
            # A spill that grew is masked again from its beginning: a secret may start in the
            # part that was read before.
            start = 0 if task.ref.role == SPILL else start
            placed = masked_spill(file, start, size)
        end = start
        for place, data in placed:
            end = place + len(data)
            packs = self._packer(task.flavor).packs(data, place)
            self._run.progress.advance(len(data))
            tail = _tail(file, end)
            yield Chunk(task, place, packs, [], cursor, end, tail, is_last=end >= size)
        if start == end:
            yield Chunk(task, end, [], [], cursor, end, _tail(file, end), is_last=True)

    def _packer(self, flavor: str) -> Packer:
        if flavor not in self._packers:
            self._packers[flavor] = self._run.store.raw.packer(flavor)
        return self._packers[flavor]


def _after_blanks(cursor: Cursor, piece: FilePiece) -> Cursor:
    """The cursor after the end of the last line. A record ends before it."""
    end, taken = piece.offset + len(piece.data), max(cursor.offset - piece.offset, 0)
    is_blank = piece.data.endswith(b"\n") and piece.data[taken:].isspace()
    return Cursor(end, cursor.state) if is_blank else cursor


def _note_shared_line(file: BinaryIO, offset: int, records: list[Record]) -> None:
    """Note that the first record continues the line of a record that was read before."""
    continues = bool(offset and records) and records[0].offset == offset
    if continues and os.pread(file.fileno(), 1, offset - 1) != b"\n":
        records[0].remark = jsonl.SHARED_LINE


def _tail(file: BinaryIO, end: int) -> str:
    """The hash of the last bytes before ``end``, by which a grown file is recognized."""
    return tail_hash(os.pread(file.fileno(), min(TAIL, end), max(end - TAIL, 0)))
