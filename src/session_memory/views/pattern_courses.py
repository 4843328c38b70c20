"""Count the sessions of patterns over time, for small charts."""

from collections.abc import Sequence

from session_memory.core.time import parse_time
from session_memory.learn.patterns import Pattern
from session_memory.store import Store

PARTS = 12
_STARTED = "select uid, coalesce(started_at, ended_at) from sessions where uid in ({keys})"


def pattern_courses(store: Store, patterns: Sequence[Pattern]) -> dict[str, list[int]]:
    """Return, by pattern id, the number of its sessions in each of 12 equal parts of time.

    The parts divide the time from the first to the last session of all patterns. A pattern that
    names only some of its sessions is left out.
    """
    whole = [one for one in patterns if len(one.session_uids) == one.sessions]
    seen = [parse_time(t) for one in whole for t in (one.first_seen, one.last_seen) if t]
    uids = sorted({uid for one in whole for uid in one.session_uids})
    times = {row[0]: row[1] for row in store.db.matching(_STARTED, uids)} if seen else {}
    first = min([*seen, *(t for t in times.values() if t is not None)], default=0)
    span = max([*seen, *(t for t in times.values() if t is not None)], default=1) - first + 1
    courses: dict[str, list[int]] = {}
    for one in whole:
        counts = [0] * PARTS
        for uid in one.session_uids:
            if (at := times.get(uid)) is not None:
                counts[(at - first) * PARTS // span] += 1
        courses[one.id] = counts
    return courses
