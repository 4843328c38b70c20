"""Read the new part of a source in chunks: translate it into records and compress it.

Nothing is written here, so the database is not locked while a source is read.
"""

import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters.agent import Rows
from session_memory.adapters.base import Cursor
from session_memory.collect.batches import Chunk, ReadTask
from session_memory.collect.database_copies import database_stat, dump_of, dumped
from session_memory.collect.evicted_sources import EvictedSources
from session_memory.collect.file_reading import BeginsMasking, FileReading
from session_memory.collect.masking import as_kept, begin_masking
from session_memory.collect.native import Stat, change_of, opened, unpacked
from session_memory.collect.rewritten import document_hash, document_of, grown_lines
from session_memory.collect.row_sources import following_lines, rows_of
from session_memory.collect.run_context import RunContext
from session_memory.core.roles import REWRITTEN


class SourceReading(FileReading):
    """Reads the sources of one sync."""

    def __init__(
        self,
        run: RunContext,
        evicted: EvictedSources,
        begins_masking: BeginsMasking = begin_masking,
    ) -> None:
        super().__init__(run, begins_masking)
        self._run = run
        self._evicted = evicted

    def chunks(self, task: ReadTask) -> Iterator[Chunk]:
        """Yield the new part of a source in chunks, and note the size and times of its file."""
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
            # The stat is taken before the copy. So a change during the copy is noticed by the next
            # sync.
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
            if task.is_new and self.is_left_out(task, file):
                task.left_out = True
                return
            yield from self._changed_chunks(task, file, size)

    def _row_chunks(self, task: ReadTask, rows: Rows) -> Iterator[Chunk]:
        """Yield new lines for what changed in a part of a database.

        They follow the stored lines.
        """
        row = task.row
        with following_lines(task.ref, row, rows) as file:
            size = os.fstat(file.fileno()).st_size
            if task.is_new and self.is_left_out(task, file):
                task.left_out = True
            elif size > row.kept or task.is_new:
                self._evicted.bring_back(task)
                yield from self.log_chunks(task, file, size)
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
        """Return an empty chunk for an unchanged source, which only stores its new times."""
        row = task.row
        task.is_evicted = self._run.is_evicted(row)
        cursor = Cursor(row.read_to, row.cursor_state)
        return Chunk(task, row.kept, [], [], cursor, row.kept, row.tail_hash, is_last=True)

    def _rewritten_chunks(self, task: ReadTask, document: bytes) -> Iterator[Chunk]:
        """Yield what is new in a document that the agent rewrites as a whole."""
        task.content_hash = document_hash(document)
        if not task.is_new:
            if task.content_hash == task.row.tail_hash:
                yield self._unchanged(task)
                return
            self._evicted.bring_back(task)
            if task.is_evicted:
                # The old lines are still evicted, so it is unknown which messages are new. Store
                # the document as a new generation.
                self._begin_generation(task)
        redact, row = self._run.config.redact, task.row
        masked = self._begins_masking(row, redact, row.read_to)
        with grown_lines(self._run.store, row, document, masked=masked) as file:
            size = os.fstat(file.fileno()).st_size
            if task.is_new and self.is_left_out(task, file):
                task.left_out = True
                return
            yield from self.log_chunks(task, file, size)

    def _begin_generation(self, task: ReadTask) -> None:
        """Plan to read a rewritten file from its beginning. What is stored of the old one stays."""
        task.replaces = task.row
        task.row = self._run.new_row(task.flavor, task.ref, task.row.generation + 1)
        task.is_new, task.is_evicted = True, False
