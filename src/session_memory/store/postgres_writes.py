"""Count the write transactions of a PostgreSQL store, to notice that other processes wrote."""

from typing import TYPE_CHECKING

from session_memory.store.connections import Channel

if TYPE_CHECKING:
    from session_memory.store.postgres import Postgres

_COUNT = "select case when is_called then last_value else 0 end from write_count"
_IS_BEING_WRITTEN = """
    select exists (
        select 1 from pg_locks where locktype = 'advisory' and granted and objsubid = 1
        and classid::int8 = :high and objid::int8 = :low
        and database = (select oid from pg_database where datname = current_database())
    )
"""


def finished_writes(db: "Postgres", channel: Channel) -> int | None:
    """How many write transactions have ended. None if one is open, or may have been committed
    after this thread's snapshot.

    A transaction counts itself when it begins, and what it writes is visible when it ends. It holds
    the write lock meanwhile. So if the lock is free after the count was read, all of them ended.
    """
    if channel.reading:
        return None
    count = int(db.value(_COUNT))
    key = channel.lock_key % 2**64
    halves = {"high": key >> 32, "low": key % 2**32}
    return None if db.value(_IS_BEING_WRITTEN, halves) else count
