"""Connections to the test server that stay open when a store is closed, for the next store.

A test makes four connections, and each costs the server a process that reads the catalog. What a
session could have left is discarded before its connection is used again: settings, prepared
statements, locks, temporary tables. Only connections to the schemas of `PostgresStores` are kept,
and none of users that a test made.
"""

import os
import re
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import pq

from session_memory.testing.postgres import USER

MOST = 12
_OURS = re.compile(r"-csearch_path=test_[0-9a-f]{16}")

_Key = tuple[tuple[str, Any], ...]
_kept: list[tuple[_Key, "pq.abc.PGconn"]] = []
_lock = threading.Lock()
_connect = psycopg.connect


class KeptConnection(psycopg.Connection[Any]):
    """A connection whose session goes on after it was closed."""

    key: _Key = ()
    pid = 0

    def close(self) -> None:
        session = self.pgconn
        if self.key and self.pid == os.getpid() and _is_left_clean(session):
            self.pgconn = pq.PGconn.connect_start(b"host=")
            with _lock:
                _kept.append((self.key, session))
                if len(_kept) > MOST:
                    _kept.pop(0)[1].finish()
        super().close()


def connect(*args: Any, **options: Any) -> "psycopg.Connection[Any]":
    """`psycopg.connect`, or a session of the same options that was left."""
    is_ours = options.get("user") == USER and _OURS.fullmatch(str(options.get("options", "")))
    if args or not is_ours:
        return _connect(*args, **options)
    key = tuple(sorted(options.items()))
    connection = _left(key)
    if connection is None:
        connection = KeptConnection.connect(**options)
    connection.key, connection.pid = key, os.getpid()
    return connection


def _left(key: _Key) -> KeptConnection | None:
    with _lock:
        place = next((n for n, (other, _) in enumerate(_kept) if other == key), None)
        if place is None:
            return None
        _, session = _kept.pop(place)
    if select.select([session.socket], [], [], 0)[0]:
        # The server has ended it.
        session.finish()
        return _left(key)
    connection = KeptConnection(session)
    connection.autocommit = True
    return connection


def _is_left_clean(session: "pq.abc.PGconn") -> bool:
    if session.status != pq.ConnStatus.OK:
        return False
    if session.transaction_status != pq.TransactionStatus.IDLE:
        return False
    if session.pipeline_status != pq.PipelineStatus.OFF:
        return False
    return session.exec_(b"discard all").status == pq.ExecStatus.COMMAND_OK


@contextmanager
def connections_are_kept() -> Iterator[None]:
    """Keep connections that are closed inside of the block."""
    psycopg.connect = connect
    try:
        yield
    finally:
        psycopg.connect = _connect
        while _kept:
            _kept.pop()[1].finish()


def _drop_inherited() -> None:
    """The sessions are the parent's: a fork must not end them."""
    global _lock
    _lock = threading.Lock()
    while _kept:
        _, session = _kept.pop()
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, session.socket)
        os.close(nowhere)
        session.finish()


os.register_at_fork(after_in_child=_drop_inherited)
