"""Save the readable logs and rows of a damaged store, and name those that cannot be read."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import msgspec

from session_memory.core.errors import StoreDamaged
from session_memory.derive.rebuilding import rebuild
from session_memory.derive.repository_names import DomainOf
from session_memory.retain.native_files import DamagedLog, RestoredFile, damaged_log, whole_log
from session_memory.store.salvage import LostRows, salvaged
from session_memory.store.store import Store

Restore = Callable[[Store, list[DamagedLog], bool], list[RestoredFile]]
MOST_SHOWN = 20
# The tables that a rebuild makes again from the stored logs.
DERIVED = (
    *("names", "sessions", "session_sources", "events", "copies", "shares", "links", "usage"),
    *("turn_totals", "turn_children", "problems"),
    *("figure_sets", "figure_marks", "figure_groups", "session_spending", "daily_spending"),
    *("session_costs", "session_files", "digest_writes", "kept_answers", "secret_scans"),
    *("session_days", "work_sums", "uncounted_days"),
)


class Damage(msgspec.Struct, kw_only=True):
    """The logs that cannot be read as a whole, and the rows of tables that cannot be read."""

    logs: list[DamagedLog] = []
    rows: list[LostRows] = []

    def __bool__(self) -> bool:
        return bool(self.logs or self.rows)

    def lines(self) -> list[str]:
        """One line for each damaged log and each unreadable range of rows; not too many."""
        named = [f"{one.path}{_of(one.sessions)}: {one.reason}" for one in self.logs]
        named += [str(one) for one in self.rows]
        rest = len(named) - MOST_SHOWN
        return named[:MOST_SHOWN] + ([f"and {rest} more"] if rest > 0 else [])

    def to_dict(self) -> dict[str, object]:
        return {
            "logs": [
                {"path": one.path, "sessions": list(one.sessions), "reason": one.reason}
                for one in self.logs
            ],
            "rows": [str(one) for one in self.rows],
        }


def _of(sessions: tuple[str, ...]) -> str:
    return f" ({', '.join(sessions)})" if sessions else ""


def rescue_native(
    opened: Callable[[], AbstractContextManager[Store]], where: str, restore: Restore
) -> tuple[list[RestoredFile], Damage]:
    """Write native logs from a damaged store, and name what is lost.

    If the database cannot read its own file, the rows that are readable are used.

    ``restore`` gets a store, a list for damaged logs, and whether existing files are skipped.
    """
    files: list[RestoredFile] = []
    logs: list[DamagedLog] = []
    try:
        with opened() as store:
            files = restore(store, logs, False)
        if not any(one.in_database for one in logs):
            return files, Damage(logs=logs)
    except StoreDamaged as error:
        if not error.in_database:
            raise
    logs = []
    with salvaged(where) as (store, lost):
        files += restore(store, logs, bool(files))
    return files, Damage(logs=logs, rows=lost)


def derive_lost(store: Store, lost: list[LostRows], now: int, domain_of: DomainOf) -> bool:
    """Derive everything again if derived rows were lost. False if damaged logs prevent that."""
    if all(one.table not in DERIVED for one in lost):
        return True
    try:
        rebuild(store, now, domain_of, lambda source: None)
    except StoreDamaged:
        # Keep the derived rows that could be read: they are better than none.
        return False
    return True


def damaged_logs(store: Store, source_ids: list[int]) -> list[DamagedLog]:
    """Return those of these sources that are damaged, each with its first fault."""
    found = []
    for source_id in source_ids:
        row = store.sources.get(source_id)
        try:
            for _ in whole_log(store, row):
                pass
        except StoreDamaged as error:
            found.append(damaged_log(store, row, error))
    return found
