"""Save the sums that statistics are made from in the store, in short transactions.

A session that changed is marked in the store. For each marked session, first the day on which it
began is noted. Then the sums of that day are made again, and the mark is removed.
"""

from collections.abc import Iterator
from datetime import tzinfo

from session_memory.core.errors import StoreBusy
from session_memory.core.time import now_ms
from session_memory.pricing import figure_sets
from session_memory.store import Store
from session_memory.store.figure_marks import STATISTICS
from session_memory.store.figures import FigureSet
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope
from session_memory.store.work_sums import WIDTH, WorkSums
from session_memory.views.stats.kept import (
    encoded,
    merged_parts,
    plan,
    set_name,
    statistics_set,
)
from session_memory.views.stats.parts import LISTED, SUMMED, CountedParts, LocalDays

# A store with few but long sessions has sums, too: this many events count like one session.
_EVENTS_EACH = 10
_PIECE = 500
_ALL = 1 << 40


def keep_statistics(store: Store, scope: Scope, tz: tzinfo | None) -> None:
    """Save the sums if they are missing, and renew them if many sessions changed.

    If another thread makes sums for the store (``make_elsewhere``), that thread is asked to do it.
    Call this outside of a snapshot. In a small store, or one that cannot be written now, nothing
    happens, and statistics are counted from the events.
    """
    db = store.db
    if db.in_transaction or db.is_read_only or _is_small(store):
        return
    known = statistics_set(store, tz)
    if known is not None:
        with db.snapshot():
            if plan(store, scope, known) is not None:
                return
    if store.figures.make_elsewhere is not None:
        store.figures.make_elsewhere()
        return
    write_statistics(store, tz)


def write_statistics(store: Store, tz: tzinfo | None) -> None:
    try:
        known = statistics_set(store, tz)
        if known is None:
            with store.db.transaction():
                known = statistics_set(store, tz) or store.figures.add_set(
                    STATISTICS, set_name(tz), now_ms()
                )
        _write(store, known, tz)
    except StoreBusy:
        # Another process writes for a long time. The answer is counted from the events this time.
        return


def _is_small(store: Store) -> bool:
    if store.sessions.count() >= figure_sets.LEAST_SESSIONS:
        return False
    return store.events.highest_id() < figure_sets.LEAST_SESSIONS * _EVENTS_EACH


def _write(store: Store, known: FigureSet, tz: tzinfo | None) -> None:
    sums, days = WorkSums(store.db, known.id), LocalDays(tz)
    marked = store.figures.marked(known.id, _ALL)
    waiting: set[int] = set()
    for first in range(0, len(marked), _PIECE):
        some = marked[first : first + _PIECE]
        with store.db.transaction():
            placed = sums.place(some)
            sums.unmark(one for one in some if one not in placed)
        waiting |= {one.day for one in placed.values()}
    for day in sorted(waiting | set(sums.uncounted())):
        with store.db.transaction():
            _write_day(store, sums, day, days)
    for start in sorted({day // WIDTH * WIDTH for day in sums.single_days("pulse", -_ALL, _ALL)}):
        with store.db.transaction():
            _write_wide(sums, start)


def _write_day(store: Store, sums: WorkSums, day: int, days: LocalDays) -> None:
    """Count the sessions that began on a day, and save the sums.

    If a session turns out to have begun on another day, it stays marked, and the sums of the other
    day are made the next time.
    """
    marked = sums.marked_on(day)
    placed = sums.place(marked)
    ids = tuple(sums.on_days([day], _ALL))
    parts = CountedParts(Statistics(store.db), Scope(ids=ids), days)
    sums.write_day(day, dict(_encoded(parts)))
    sums.unmark(one for one in marked if one not in placed or placed[one].day == day)


def _encoded(parts: CountedParts) -> Iterator[tuple[str, bytes]]:
    for name in SUMMED:
        yield name, encoded(parts.sums(name))
    for name in LISTED:
        yield name, encoded(parts.values(name))


def _write_wide(sums: WorkSums, start: int) -> None:
    """Save the sums of `WIDTH` days together, if they are missing and every day is counted."""
    end = start + WIDTH
    if start in sums.wide_days("pulse") or any(start <= day < end for day in sums.uncounted()):
        return
    days = sums.single_days("pulse", start, end)
    sums.write_wide(start, {name: merged_parts(sums, days, name) for name in (*SUMMED, *LISTED)})
