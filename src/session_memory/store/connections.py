"""Connections to a PostgreSQL server: one for each thread that asks, used again, never inherited.

Not psycopg's own pool: that one retries in threads of its own, so a wrong password would be a
timeout half a minute later, and a ``fork()`` would leave the threads behind.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader, NumericLoader

from session_memory.core.errors import SessionMemoryError
from session_memory.store.address import has_bare_at, shown
from session_memory.store.copy_batches import PendingRows
from session_memory.store.database import BUSY_S, forks
from session_memory.store.postgres_errors import bad_address, to_store_error

CONNECT_S = 10
# A machine that went to sleep in the middle of its work must not keep all others out.
FORGOTTEN_S = 300
IDLE_CONNECTIONS = 4
_SETTINGS = f"""
    set lock_timeout = '{BUSY_S}s';
    set idle_in_transaction_session_timeout = '{FORGOTTEN_S}s';
    set client_min_messages = warning;
    set jit = off;
"""
# Stores in two schemas of one database know nothing of each other, their locks included.
_LOCK_KEY = """
    select hashtextextended('session-memory ' || coalesce(
        (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.oid = to_regclass('schema_steps')), current_schema(), ''), 0)
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class _WholeBinary(NumericBinaryLoader):
    """A sum of integers is an integer."""

    def load(self, data: Any) -> int:  # type: ignore[override]
        return int(super().load(data))


class _Whole(NumericLoader):
    def load(self, data: Any) -> int:  # type: ignore[override]
        return int(super().load(data))


class Channel:
    """What one thread has of the database: a connection and where it stands in its transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor(binary=True)
        self.lock_key = _lock_key(connection)
        self.depth = 0
        self.reading = 0
        self.waiting = PendingRows()
        self.turn: int | None = None
        self.others_wrote = True

    @property
    def in_transaction(self) -> bool:
        return bool(self.depth or self.reading)

    @property
    def is_active(self) -> bool:
        """In the middle of a statement."""
        return self.connection.pgconn.transaction_status == TransactionStatus.ACTIVE

    @property
    def is_idle(self) -> bool:
        """Not closed, nor left in the middle of something by a caller who was interrupted."""
        return self.connection.pgconn.transaction_status == TransactionStatus.IDLE


def _lock_key(connection: Connection) -> int:
    row = connection.execute(_LOCK_KEY).fetchone()
    return int(row[0]) if row else 0


class Connections:
    """The channels of all threads of one process."""

    def __init__(self, url: str, durability: str) -> None:
        self._url = url
        self.name = shown(url)
        self._durability = durability
        self._begin()

    def _begin(self) -> None:
        self._forks = forks()
        self._local = threading.local()
        self._idle: list[Connection] = []
        self._channels: weakref.WeakSet[Channel] = weakref.WeakSet()

    def channel(self) -> Channel:
        """The one of this thread and process."""
        if self._forks != forks():
            self._begin()
        found: Channel | None = getattr(self._local, "channel", None)
        if found is None or not (found.in_transaction or found.is_idle):
            if found is not None:
                found.connection.close()
            found = self._local.channel = Channel(self._idle_or_new())
            self._channels.add(found)
            ended = weakref.finalize(found, self._give_back, found.connection)
            ended.atexit = False
        return found

    def _give_back(self, connection: Connection) -> None:
        """Of a thread that is gone."""
        if connection.closed or len(self._idle) >= IDLE_CONNECTIONS:
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
        return self._connected()

    @contextmanager
    def borrowed(self) -> Iterator[Connection]:
        """A connection for something besides the work of a thread; its locks end with this."""
        if self._forks != forks():
            self._begin()
        connection, of = self._idle_or_new(), self._forks
        try:
            yield connection
        except BaseException:
            # Closed, it lets go whatever state it was left in.
            connection.close()
            raise
        if of != forks():
            return
        try:
            connection.execute("select pg_advisory_unlock_all()")
        except psycopg.Error:
            connection.close()
        else:
            self._give_back(connection)

    def _connected(self) -> Connection:
        if has_bare_at(self._url):
            raise bad_address(self.name)
        try:
            told: dict[str, Any] = dict(conninfo_to_dict(self._url))
        except psycopg.Error:
            raise bad_address(self.name) from None
        told = {"connect_timeout": CONNECT_S, **told, "client_encoding": "utf8"}
        told.setdefault("fallback_application_name", "session-memory")
        try:
            connection = psycopg.connect(**told, autocommit=True)
        except psycopg.Error as error:
            # Without its cause: a driver's own words may hold what the address held.
            raise to_store_error(error, self._url, told) from None
        _open.add(connection)
        try:
            return self._configured(connection)
        except psycopg.Error as error:
            connection.close()
            raise self.translated(error) from error

    def _configured(self, connection: Connection) -> Connection:
        level = "on" if self._durability == "full" else "off"
        connection.execute(f"{_SETTINGS} set synchronous_commit = {level}".encode())
        adapters = connection.adapters
        # One type for all integers, or every mixture of them would be prepared by itself.
        adapters.register_dumper(int, Int8BinaryDumper)
        adapters.register_dumper(bool, Int8BinaryDumper)
        adapters.register_loader("numeric", _Whole)
        adapters.register_loader("numeric", _WholeBinary)
        return connection

    def translated(self, error: psycopg.Error) -> SessionMemoryError:
        return to_store_error(error, self._url)

    def close(self) -> None:
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


def _let_go() -> None:
    """Of what a fork has left us: a word on such a connection would end it for the parent too."""
    for connection in list(_open):
        if not connection.closed:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, connection.fileno())
            os.close(nowhere)
            connection.close()


os.register_at_fork(after_in_child=_let_go)
