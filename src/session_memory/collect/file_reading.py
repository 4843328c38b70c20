"""Read the new part of an open file in chunks: translate it into records and compress it.

Nothing here uses the store, so a worker process can do it (`session_memory.collect.read_worker`).
"""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Record
from session_memory.adapters.checked_reading import records_of
from session_memory.adapters.registry import agent
from session_memory.collect.batches import Chunk, ReadTask
from session_memory.collect.file_pieces import (
    SEGMENT,
    FilePiece,
    GiantLine,
    MemorySource,
    bytes_between,
    pieces,
)
from session_memory.collect.masking import begin_masking, mask_bytes, masked_piece, masked_spill
from session_memory.collect.native import TAIL, tail_hash
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.core.errors import AdapterFailed
from session_memory.core.roles import LOGS, SPILL
from session_memory.derive.forgotten import Mask, blanked
from session_memory.derive.repositories import names_in
from session_memory.store.raw import Packer
from session_memory.store.sources import SourceRow

BeginsMasking = Callable[[SourceRow, bool, int], bool]
"""A function that says whether to mask secrets in a source; `begin_masking` or a substitute."""

# How much of a new log is read to find out which repository it is about.
HEAD = 256 * 1024


class ReadingRules(Protocol):
    """What `FileReading` asks about the sync. In the main process this is a `RunContext`, in a
    worker a `WorkerRules`."""

    config: Config
    progress: ReadProgress
    is_first_load: bool

    def packer(self, flavor: str) -> Packer:
        """Return the packer that compresses the next logs of an agent."""

    def forgotten_masks(self, flavor: str, records: list[Record]) -> list[Mask]:
        """Return the byte ranges of records that belong to forgotten sessions."""

    def evicted_up_to(self, row: SourceRow, kept: int) -> int:
        """Return the offset at which the evicted part of a source ends."""


class FileReading:
    """Reads open log files in chunks. A subclass opens the files."""

    def __init__(self, rules: ReadingRules, begins_masking: BeginsMasking = begin_masking) -> None:
        self._rules = rules
        self._begins_masking = begins_masking
        self._packers: dict[str, Packer] = {}

    def new_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        """Yield chunks of what follows the cursor of a source in its open file."""
        if task.ref.role in LOGS:
            yield from self.log_chunks(task, file, size)
        elif task.ref.role == SPILL:
            yield from self.plain_chunks(task, file, task.row.kept, size)
        else:
            yield from self._document_chunks(task, file, size)

    def is_left_out(self, task: ReadTask, file: BinaryIO) -> bool:
        """Whether the configuration excludes the repository that a new log is about.

        Some agents name the working directory only inside the log, so its beginning is read.
        """
        config = self._rules.config
        if not config.exclude.repos or task.ref.role not in LOGS:
            return False
        head = os.pread(file.fileno(), HEAD, 0)
        piece = FilePiece(0, head, head.rfind(b"\n") + 1)
        source = MemorySource(task.ref, piece)
        records = records_of(agent(task.flavor), source, Cursor(), piece.whole)
        return any(config.excludes_repo(name) for name in names_in(record for _, record in records))

    # ------------------------------------------------------------ logs

    def log_chunks(self, task: ReadTask, file: BinaryIO, size: int) -> Iterator[Chunk]:
        rules, row, packer = self._rules, task.row, self._packer(task.flavor)
        cursor, kept = Cursor(row.read_to, row.cursor_state), row.kept
        masking = self._begins_masking(row, rules.config.redact, cursor.offset)
        evicted_to = rules.evicted_up_to(row, kept) if task.is_evicted else 0
        for found in pieces(file, cursor.offset, size, short=not rules.is_first_load):
            # The lines that were made from a rewritten document are masked already.
            piece = masked_piece(found) if masking and not task.content_hash else found
            records, cursor = self._translate(task, piece, cursor)
            if piece.offset == row.read_to:
                _note_shared_line(file, piece.offset, records)
            rules.progress.advance(len(piece.data))
            cursor = _after_blanks(cursor, piece)
            # Lines that the adapter did not take are read again by the next sync, like a torn line.
            taken = max(cursor.offset - piece.offset, 0)
            waits = not piece.giant and taken < piece.whole
            kept = piece.offset + len(piece.data)
            masks = rules.forgotten_masks(task.flavor, records)
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
        """The hash from which the next sync knows that nothing before ``kept`` changed."""
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
        # Only the last cursor is kept: each holds the state of the adapter, which may be large.
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
        """Yield a document as one chunk. What is beyond 4 MiB follows in chunks without records."""
        file.seek(0)
        body = file.read(min(size, SEGMENT))
        yield self._document_chunk(task, body, is_last=len(body) >= size)
        if len(body) < size:
            yield from self.plain_chunks(task, file, len(body), size)

    def _document_chunk(self, task: ReadTask, body: bytes, *, is_last: bool) -> Chunk:
        # A document that grew was read while the agent wrote it. It is read again as a whole.
        task.row.lines = task.row.lenient = 0
        tail = tail_hash(body)
        if self._begins_masking(task.row, self._rules.config.redact, 0):
            body = mask_bytes(body)
        records, cursor = self._translate(task, FilePiece(0, body, len(body)), Cursor())
        packs = self._packer(task.flavor).packs(body, 0)
        self._rules.progress.advance(len(body))
        return Chunk(task, 0, packs, records, cursor, len(body), tail, is_last=is_last)

    def plain_chunks(
        self, task: ReadTask, file: BinaryIO, start: int, size: int, after: Chunk | None = None
    ) -> Iterator[Chunk]:
        """Yield chunks without records, for a source of any size such as a spilled text.

        ``after``: the last chunk with records, whose cursor stays.
        """
        cursor = Cursor() if after is None else after.cursor
        placed = bytes_between(file, start, size)
        if self._begins_masking(task.row, self._rules.config.redact, 0):
            # A spill that grew is masked again from its beginning: a secret may start in the
            # part that was read before.
            start = 0 if task.ref.role == SPILL else start
            placed = masked_spill(file, start, size)
        end = start
        for place, data in placed:
            end = place + len(data)
            packs = self._packer(task.flavor).packs(data, place)
            self._rules.progress.advance(len(data))
            tail = _tail(file, end)
            yield Chunk(task, place, packs, [], cursor, end, tail, is_last=end >= size)
        if start == end:
            yield Chunk(task, end, [], [], cursor, end, _tail(file, end), is_last=True)

    def _packer(self, flavor: str) -> Packer:
        if flavor not in self._packers:
            self._packers[flavor] = self._rules.packer(flavor)
        return self._packers[flavor]


def _after_blanks(cursor: Cursor, piece: FilePiece) -> Cursor:
    """Move the cursor behind the end of the last line: a record ends before its newline."""
    end, taken = piece.offset + len(piece.data), max(cursor.offset - piece.offset, 0)
    is_blank = piece.data.endswith(b"\n") and piece.data[taken:].isspace()
    return Cursor(end, cursor.state) if is_blank else cursor


def _note_shared_line(file: BinaryIO, offset: int, records: list[Record]) -> None:
    """Mark the first record if it is on the same line as a record that was read before."""
    continues = bool(offset and records) and records[0].offset == offset
    if continues and os.pread(file.fileno(), 1, offset - 1) != b"\n":
        records[0].remark = jsonl.SHARED_LINE


def _tail(file: BinaryIO, end: int) -> str:
    """The hash of the last bytes before ``end``, by which a grown file is recognized."""
    return tail_hash(os.pread(file.fileno(), min(TAIL, end), max(end - TAIL, 0)))
