"""Rewrite a table on PostgreSQL, without the rows that were deleted from it.

The server locks the table meanwhile, so an append to a live session waits. If the rewrite is not
urgent, a second connection cancels it as soon as somebody waits. Then the server keeps the table as
it was.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg

from session_memory.core.errors import StoreBusy, StoreError
from session_memory.store.database import BUSY_S
from session_memory.store.lock_holds import HeldLock

if TYPE_CHECKING:
    from session_memory.store.postgres import Postgres

LOOK_S = 0.02
_WAITED_FOR = """
    select 1 from pg_locks w
    where not w.granted and w.pid <> %(pid)s and %(pid)s::int = any(pg_blocking_pids(w.pid)) limit 1
"""

Connection = psycopg.Connection[tuple[Any, ...]]
Borrow = Callable[[], AbstractContextManager[Connection]]


def rewrite_table(
    db: "Postgres", own: Connection, borrow: Borrow, table: str, wait_s: float, give_way: bool
) -> int:
    """Rewrite a table, and return the number of deleted rows that had to be kept.

    Raises `StoreBusy` if another program keeps the table locked for ``wait_s`` seconds. With
    ``give_way``, also if another program waits for the table while it is rewritten.
    """
    kept = [0]

    def note(notice: psycopg.errors.Diagnostic) -> None:
        kept.append(_dead_rows(notice))

    own.add_notice_handler(note)
    try:
        db.execute(f"set lock_timeout = {int(wait_s * 1000)}")
        with _giving_way(db.name, own.info.backend_pid, borrow, give_way):
            held = HeldLock()
            db.execute(f"vacuum (full, analyze, verbose) {table}")
            held.released(f"vacuum of {table}")
    finally:
        own.remove_notice_handler(note)
        db.execute(f"set lock_timeout = '{BUSY_S}s'")
    return max(kept)


@contextmanager
def _giving_way(name: str, pid: int, borrow: Borrow, give_way: bool) -> Iterator[None]:
    """Cancel what the connection ``pid`` does in this block, as soon as somebody waits for it."""
    if not give_way:
        yield
        return
    ended, canceled = threading.Event(), threading.Event()

    def look(connection: Connection) -> None:
        # If this connection is lost, the other one is lost too and says so.
        with suppress(psycopg.OperationalError):
            while not ended.wait(LOOK_S):
                if connection.execute(_WAITED_FOR, {"pid": pid}).fetchone():
                    canceled.set()
                    connection.execute("select pg_cancel_backend(%(pid)s::int)", {"pid": pid})
                    return

    with borrow() as connection:
        thread = threading.Thread(target=look, args=(connection,), daemon=True)
        thread.start()
        try:
            yield
        except StoreError as error:
            if canceled.is_set():
                raise StoreBusy(name) from error
            raise
        finally:
            ended.set()
            thread.join()


def _dead_rows(notice: psycopg.errors.Diagnostic) -> int:
    """The number of deleted rows that a verbose ``vacuum full`` had to keep, from its notices."""
    found = re.match(r"\s*(\d+)", notice.message_detail or "")
    return int(found[1]) if found else 0
