"""What was read and waits to be written, and how much of it is written together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import msgspec

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.collect.interrupts import undisturbed
from session_memory.collect.native import Stat
from session_memory.derive.forgotten import Mask
from session_memory.store.raw import Packed
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

# Small enough that a live writer beside us never waits long for the lock.
BATCH_RECORDS = 1000
BATCH_BYTES = 1024 * 1024
# Each of many logs that grew by a line costs a dozen statements, which on a server take their time.
BATCH_CHUNKS = 50
# An empty store has nobody to stall: large transactions write every page once.
FIRST_LOAD_BYTES = 8 * 1024 * 1024
FIRST_LOAD_RECORDS = 10_000
FIRST_LOAD_TRANSACTION = 64 * 1024 * 1024


class ReadTask(msgspec.Struct):
    """One source with something to read; ``is_evicted``: evicted, and what is new of it waits."""

    flavor: str
    ref: SourceRef
    row: SourceRow
    stat: Stat
    is_new: bool
    counted: bool = True
    replaces: SourceRow | None = None
    left_out: bool = False
    is_evicted: bool = False


class Chunk(msgspec.Struct):
    """A stretch of a source, translated and compressed, ready to be written."""

    task: ReadTask
    start: int
    packs: list[Packed]
    records: list[Record]
    cursor: Cursor
    kept: int
    tail_hash: str
    is_last: bool
    masks: list[Mask] = []


class Batches:
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
        self._is_writing = False

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
        with undisturbed():
            if self._open is None:
                self._open = self._store.transaction()
                self._open.__enter__()
            self._is_writing = True
            self._write(self._chunks)
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
                self._flush()
                self._commit()
            elif kind is KeyboardInterrupt and not self._is_writing:
                # Whoever stops a first load keeps what was written of it.
                self._commit()
        except BaseException as late:
            kind, error, trace = type(late), late, late.__traceback__
            raise
        finally:
            if self._open is not None:
                self._open.__exit__(kind, error, trace)
