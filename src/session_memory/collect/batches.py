"""Collect what a sync read, and write it in batches, each in one transaction."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.collect.interrupts import interrupt_delayed
from session_memory.collect.native import Stat
from session_memory.derive.forgotten import Mask
from session_memory.store.pieces import PieceShare
from session_memory.store.raw import Packed
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

if TYPE_CHECKING:
    from session_memory.derive.settled_ahead import SettledSource

# Small enough that a live session never waits long for the database. On a busy machine a batch is
# smaller still.
BATCH_RECORDS = 1000
BATCH_BYTES = 1024 * 1024
# A log that grew by one line takes a dozen statements, which are slow on a server.
BATCH_CHUNKS = 50
# Nobody else uses an empty store, so transactions may be large: they write every page once.
FIRST_LOAD_BYTES = 8 * 1024 * 1024
FIRST_LOAD_RECORDS = 10_000
FIRST_LOAD_TRANSACTION = 64 * 1024 * 1024

# To start a worker process takes as long as to read a few megabytes. So a worker is started only if
# there is this much to read for it.
BYTES_PER_WORKER = 16 * 1024 * 1024


class ReadTask(msgspec.Struct):
    """A source with something to read.

    - ``counted``: this source counts in the report. A source and its companions count once
    - ``replaces``: the row of the generation before, when the file was rewritten
    - ``left_out``: the configuration excludes its repository
    - ``is_taken``: another process has read it meanwhile, so nothing more of it is written
    - ``content_hash``: the hash of a document that the agent rewrites as a whole
    - ``is_evicted``: the part that was read earlier is evicted (no longer in the store), so the new
      part is stored as bytes only
    """

    flavor: str
    ref: SourceRef
    row: SourceRow
    stat: Stat
    is_new: bool
    counted: bool = True
    replaces: SourceRow | None = None
    left_out: bool = False
    is_taken: bool = False
    is_evicted: bool = False
    content_hash: str = ""


class Chunk(msgspec.Struct):
    """A part of a source, translated and compressed, ready to be written.

    ``start`` is the offset of the packs, ``kept`` the offset up to which the source is stored.
    ``settled``: a worker has turned the records of a whole new log into events, and ``records`` is
    empty.
    """

    task: ReadTask
    start: int
    packs: list[Packed]
    records: list[Record]
    cursor: Cursor
    kept: int
    tail_hash: str
    is_last: bool
    masks: list[Mask] = []
    settled: "SettledSource | None" = None


class Batches:
    """Collects chunks and writes them in batches. A first load writes many in one transaction."""

    def __init__(
        self, write: Callable[[list[Chunk]], None], first_load: bool, store: Store
    ) -> None:
        self._write = write
        self._first_load = first_load
        self._store = store
        self._chunks: list[Chunk] = []
        self._records = 0
        self._bytes = 0
        self._share = PieceShare()
        self._open: AbstractContextManager[None] | None = None
        self._in_transaction = 0
        self._is_writing = False

    def add(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._records += len(chunk.records) if chunk.settled is None else chunk.settled.records
        self._bytes += chunk.kept - chunk.start
        if self._first_load:
            is_full = self._bytes >= FIRST_LOAD_BYTES or self._records >= FIRST_LOAD_RECORDS
        else:
            share = self._share.value
            is_full = (
                self._bytes >= BATCH_BYTES * share
                or self._records >= BATCH_RECORDS * share
                or len(self._chunks) >= BATCH_CHUNKS * share
            )
        if is_full:
            self.flush()

    def flush(self) -> None:
        """Write the chunks that were collected since the last batch."""
        if not self._chunks:
            return
        if self._first_load:
            self._flush_into_long_transaction()
        else:
            with self._store.transaction():
                began = time.monotonic()
                self._write(self._chunks)
            self._share.note(time.monotonic() - began)
        self._chunks, self._records, self._bytes = [], 0, 0

    def _flush_into_long_transaction(self) -> None:
        with interrupt_delayed():
            if self._open is None:
                self._open = self._store.transaction()
                self._open.__enter__()
            self._is_writing = True
            self._write(self._chunks)
            self._store.index.write_ahead()
            self._is_writing = False
            self._in_transaction += self._bytes
            if self._in_transaction >= FIRST_LOAD_TRANSACTION:
                self._commit()

    def _commit(self) -> None:
        open_transaction, self._open, self._in_transaction = self._open, None, 0
        if open_transaction is not None:
            open_transaction.__exit__(None, None, None)

    def __enter__(self) -> "Batches":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.flush()
                self._commit()
            elif kind is KeyboardInterrupt and not self._is_writing:
                # A first load that the user stops keeps what was written.
                self._commit()
        except BaseException as late:
            kind, error, trace = type(late), late, late.__traceback__
            raise
        finally:
            if self._open is not None:
                self._open.__exit__(kind, error, trace)
