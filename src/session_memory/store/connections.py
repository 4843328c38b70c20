"""Connections to a PostgreSQL server: one per thread, reused, never inherited over a fork.

We do not use psycopg's own pool. It retries in background threads, so a wrong password would be
reported as a timeout after half a minute, and its threads do not survive a ``fork()``.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader, NumericLoader

from session_memory.core.errors import SessionMemoryError, StoreClosed
from session_memory.store.address import is_ambiguous, shown
from session_memory.store.copy_batches import PendingRows
from session_memory.store.database import BUSY_S, forks
from session_memory.store.postgres_errors import bad_address, to_store_error

CONNECT_S = 10
# A machine that went to sleep inside a transaction must not lock out all others.
IDLE_TRANSACTION_S = 300
IDLE_CONNECTIONS = 4
_SETTINGS = f"""
    set lock_timeout = '{BUSY_S}s';
    set idle_in_transaction_session_timeout = '{IDLE_TRANSACTION_S}s';
    set client_min_messages = warning;
    set jit = off;
"""
# Two stores in different schemas of one database must not share locks.
_LOCK_KEY = """
    select hashtextextended('session-memory ' || coalesce(
        (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.oid = to_regclass('schema_steps')), current_schema(), ''), 0)
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class _IntegerBinaryLoader(NumericBinaryLoader):
    """Load sums of integers, which PostgreSQL returns as numeric, as int."""

    def load(self, data: Any) -> int:  # type: ignore[override]
        return int(super().load(data))


class _IntegerLoader(NumericLoader):
    def load(self, data: Any) -> int:  # type: ignore[override]
        return int(super().load(data))


class Channel:
    """The connection of one thread, and the state of its transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor(binary=True)
        self.lock_key = _lock_key(connection)
        self.depth = 0
        self.reading = 0
        self.pending = PendingRows()
        self.write_count: int | None = None
        self.others_wrote = True
        self._work: Future[object] | None = None

    def run_beside(self, work: Callable[[], object]) -> None:
        """Run a statement in another thread. This thread goes on until its next statement."""
        done: Future[object] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        self._work = done
        threading.Thread(target=run, name="session-memory-statement", daemon=True).start()

    def finish_beside(self) -> None:
        """Wait for the statement that `run_beside` started, and raise its error."""
        work = self._work
        if work is not None:
            wait([work])
            self._work = None
            work.result()

    def note_writes(self, count: int | None, own: int) -> None:
        """Store how many write transactions the database had, and whether others made some.

        ``own`` is how many of them this channel made since the last call. A ``count`` of None means
        that the number is not known; then others may have written.
        """
        if count is None or self.write_count is None or count != self.write_count + own:
            self.others_wrote = True
        self.write_count = count

    @property
    def in_transaction(self) -> bool:
        return bool(self.depth or self.reading)

    @property
    def is_active(self) -> bool:
        """Whether a statement is running."""
        return self.connection.pgconn.transaction_status == TransactionStatus.ACTIVE

    @property
    def is_idle(self) -> bool:
        """Whether the connection is open, with no transaction that an interrupt left behind."""
        return self.connection.pgconn.transaction_status == TransactionStatus.IDLE


def _lock_key(connection: Connection) -> int:
    row = connection.execute(_LOCK_KEY).fetchone()
    return int(row[0]) if row else 0


class Connections:
    """The connections of this process to one server: a channel for each thread."""

    def __init__(self, url: str, durability: str) -> None:
        self._url = url
        self.name = shown(url)
        self._durability = durability
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._forks = forks()
        self._local = threading.local()
        self._idle: list[Connection] = []
        self._channels: weakref.WeakSet[Channel] = weakref.WeakSet()

    def channel(self) -> Channel:
        """Return the channel of this thread. A missing or broken one is replaced by a new one."""
        self._refuse_closed()
        if self._forks != forks():
            self._begin()
        channel: Channel | None = getattr(self._local, "channel", None)
        if channel is not None:
            channel.finish_beside()
        if channel is None or not (channel.in_transaction or channel.is_idle):
            if channel is not None:
                channel.connection.close()
            channel = self._local.channel = Channel(self._idle_or_new())
            self._channels.add(channel)
            finalizer = weakref.finalize(channel, self._give_back, channel.connection)
            finalizer.atexit = False
        return channel

    def _give_back(self, connection: Connection) -> None:
        """Keep the connection of a finished thread for reuse."""
        if self._is_closed or connection.closed or len(self._idle) >= IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    def _idle_or_new(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            try:
                connection.execute("rollback; select 1")
            except psycopg.Error:
                connection.close()
            else:
                return connection
        return self._connect()

    @contextmanager
    def borrowed(self) -> Iterator[Connection]:
        """Give the block a separate connection. Its advisory locks are released at the end."""
        self._refuse_closed()
        if self._forks != forks():
            self._begin()
        connection, forked = self._idle_or_new(), self._forks
        try:
            yield connection
        except BaseException:
            # Closing releases its locks, in any state.
            connection.close()
            raise
        if forked != forks():
            return
        try:
            connection.execute("select pg_advisory_unlock_all()")
        except psycopg.Error:
            connection.close()
        else:
            self._give_back(connection)

    def _connect(self) -> Connection:
        if is_ambiguous(self._url):
            raise bad_address(self.name)
        try:
            options: dict[str, Any] = dict(conninfo_to_dict(self._url))
        except psycopg.Error:
            raise bad_address(self.name) from None
        options = {"connect_timeout": CONNECT_S, **options, "client_encoding": "utf8"}
        options.setdefault("fallback_application_name", "session-memory")
        try:
            connection = psycopg.connect(**options, autocommit=True)
        except psycopg.Error as error:
            # `from None`: the driver's own message may quote the address with its password.
            raise to_store_error(error, self._url, options) from None
        _open.add(connection)
        try:
            return self._configure(connection)
        except psycopg.Error as error:
            connection.close()
            raise self.translated(error) from error

    def _configure(self, connection: Connection) -> Connection:
        level = "on" if self._durability == "full" else "off"
        connection.execute(f"{_SETTINGS} set synchronous_commit = {level}".encode())
        adapters = connection.adapters
        # One type for all integers. Otherwise psycopg prepares each mixture of sizes separately.
        adapters.register_dumper(int, Int8BinaryDumper)
        adapters.register_dumper(bool, Int8BinaryDumper)
        adapters.register_loader("numeric", _IntegerLoader)
        adapters.register_loader("numeric", _IntegerBinaryLoader)
        return connection

    def translated(self, error: psycopg.Error) -> SessionMemoryError:
        return StoreClosed(self.name) if self._is_closed else to_store_error(error, self._url)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise StoreClosed(self.name)

    def close(self) -> None:
        self._is_closed = True
        if self._forks != forks():
            return
        for channel in list(self._channels):
            channel.connection.close()
        while self._idle:
            self._idle.pop().close()
        self._begin()


_open: weakref.WeakSet[Connection] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for connection in list(_open):
        connection.close()


def _drop_inherited() -> None:
    """Detach a forked child from its parent's connections.

    Closing one in the usual way would send a message that ends the parent's session too.
    """
    for connection in list(_open):
        if not connection.closed:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, connection.fileno())
            os.close(nowhere)
            connection.close()


os.register_at_fork(after_in_child=_drop_inherited)
