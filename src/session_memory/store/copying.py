"""A store into an empty one, row for row: everything there is, whatever the two databases are.

What is copied commits as a whole: killed anywhere, the target is empty or complete.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from session_memory.core.errors import NotEmpty
from session_memory.store.migrations import TABLES

if TYPE_CHECKING:
    from session_memory.store.store import Store

BATCH_ROWS = 500
BATCH_BYTES = 4 * 1024 * 1024

INDEX_STATE = "search_state"

Row = tuple[Any, ...]


def copy_everything(
    source: "Store", target: "Store", on_bytes: Callable[[int], None] = lambda size: None
) -> int:
    """Copy all rows as they stand at this moment; their number. ``on_bytes`` hears of raw ones."""
    refuse_full(target)
    rows = 0
    with source.db.snapshot(), target.db.loading(), target.transaction():
        # Again, now that nobody else can write.
        refuse_full(target)
        for table in (table for table in TABLES if table != INDEX_STATE):
            columns = source.db.columns(table)
            # Rows that name others of their table come after them.
            order = " order by id" if "id" in columns else ""
            rows_of = source.db.each(f"select {', '.join(columns)} from {table}{order}")
            for batch in _batches(rows_of):
                target.db.insert(table, columns, batch)
                rows += len(batch)
                if table == "packs":
                    place = columns.index("length")
                    on_bytes(sum(row[place] for row in batch))
        target.db.continue_ids(TABLES)
        # The index is the database's own and is built anew.
        target.index.declare(complete=False)
    return rows


def refuse_full(store: "Store") -> None:
    for table in (table for table in TABLES if table != INDEX_STATE):
        if store.db.one(f"select 1 from {table} limit 1") is not None:
            error = NotEmpty(store.db.name)
            error.hint = "Name a place where there is no store yet, or one that is still empty."
            raise error


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """As many at once as pays and fits in memory: a row may hold a pack of raw."""
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
