"""Ids that were reserved on the server, so that one round trip gives the ids of many rows."""

from collections.abc import Callable
from typing import Any

from session_memory.store.postgres_sql import ADVANCE

IDS_AT_ONCE = 2_000


class ReservedIds:
    """The reserved ids of each table. ``ask`` runs a statement and returns the one value that it
    selects. A reserved id that is not used is never used.
    """

    def __init__(self, ask: Callable[[str, dict[str, Any]], Any]) -> None:
        self._ask = ask
        # Table → the first id that is not used yet, and the end of the block.
        self._blocks: dict[str, tuple[int, int]] = {}

    def next(self, table: str, count: int, at_least: int) -> int:
        """Return the first of ``count`` ids. If too few are left, reserve ``at_least`` so many."""
        first, end = self._blocks.get(table, (0, 0))
        if end - first < count:
            size = max(count, at_least)
            end = int(self._ask(ADVANCE, {"table": table, "count": size})) + 1
            first = end - size
        self._blocks[table] = first + count, end
        return first

    def forget(self) -> None:
        """Use no reserved id any more. Other processes may have used higher ids meanwhile, and a
        later event must have a higher id."""
        self._blocks.clear()
