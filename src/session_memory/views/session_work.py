"""How long a session worked: the time in which its person did not have to do anything."""

from session_memory.store import Store
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope

AT_WORK = ("model", "tools")


def work_ms(store: Store, uid: str) -> int:
    """The time that the model and tools took, by the rule of ``stats time`` and of digests."""
    rows = Statistics(store.db).waits(Scope(uids=(uid,)))
    return sum(int(ms) for _, _, who, _, ms, _ in rows if who in AT_WORK)
