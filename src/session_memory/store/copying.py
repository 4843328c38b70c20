"""Copy a whole store into an empty one, row by row, between any two databases.

The copy is one transaction. Until it is committed, a table in the target marks it as unfinished,
and `open_store` refuses the target. So the empty store that a killed copy leaves is never mistaken
for a complete copy.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from session_memory.core.errors import CopyUnfinished, NotEmpty, StoreError
from session_memory.store.database import Database
from session_memory.store.migrations import all_tables

if TYPE_CHECKING:
    from session_memory.store.store import Store

BATCH_ROWS = 500
BATCH_BYTES = 4 * 1024 * 1024

INDEX_STATE = "search_state"
MARK = "unfinished_copy"

Row = tuple[Any, ...]


def copy_everything(
    source: "Store", target: "Store", on_bytes: Callable[[int], None] = lambda size: None
) -> int:
    """Copy all rows as of this moment, and return their number.

    ``on_bytes`` is called after each batch of packs with the number of raw bytes in it.
    """
    refuse_full(target)
    with target.transaction():
        target.db.execute(f"create table if not exists {MARK} (copy {target.db.types['int']})")
    try:
        return _copy(source, target, on_bytes)
    except BaseException:
        # The copy was rolled back, so the target is as empty as it was. If even this fails, the
        # mark stays and the target is refused.
        with suppress(StoreError), target.transaction():
            target.db.execute(f"drop table if exists {MARK}")
        raise


def _copy(source: "Store", target: "Store", on_bytes: Callable[[int], None]) -> int:
    rows = 0
    with source.db.snapshot(), target.db.loading(), target.transaction():
        # Checked again, because now no other process can write.
        refuse_full(target)
        for table in (table for table in all_tables() if table != INDEX_STATE):
            columns = source.db.columns(table)
            # A row may refer to earlier rows of its table.
            order = " order by id" if "id" in columns else ""
            rows_of = source.db.each(f"select {', '.join(columns)} from {table}{order}")
            for batch in _batches(rows_of):
                target.db.insert(table, columns, batch)
                rows += len(batch)
                if table == "packs":
                    place = columns.index("length")
                    on_bytes(sum(row[place] for row in batch))
        target.db.continue_ids(all_tables())
        # The word index is specific to a database, so the target must build its own.
        target.index.declare(complete=False)
        target.db.execute(f"drop table {MARK}")
    return rows


def refuse_unfinished(db: Database) -> None:
    """Raise if the store is the target of a copy that has not ended."""
    if db.has_table(MARK):
        raise CopyUnfinished(db.name)


def refuse_full(store: "Store") -> None:
    for table in (table for table in all_tables() if table != INDEX_STATE):
        if store.db.one(f"select 1 from {table} limit 1") is not None:
            error = NotEmpty(store.db.name)
            error.hint = "Give a path or address without a store, or with an empty one."
            raise error


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Batches limited by rows and by bytes, because a row may hold a large pack."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, bytes))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
