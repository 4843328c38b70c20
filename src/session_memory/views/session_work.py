"""Compute how long a session worked, without the time in which it waited for a person."""

from session_memory.store import Store
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope

AT_WORK = ("model", "tools")


def work_ms(store: Store, uid: str) -> int:
    """Return the milliseconds that the model and tools took, by the rule of ``stats time``."""
    rows = Statistics(store.db).waits(Scope(uids=(uid,)))
    return sum(int(ms) for _, _, who, _, ms, _ in rows if who in AT_WORK)
