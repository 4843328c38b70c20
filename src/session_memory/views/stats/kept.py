"""Make statistics from stored sums. The result is the same as when all sessions are counted.

For each day the store has the sums of the sessions that began on it. Some sessions are still
counted one by one: those that have changed since the sums were stored, those that began on a day
that is only partly in the period, and those that go on after an end of the period.
"""

import sys
from collections.abc import Iterable
from datetime import tzinfo
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from session_memory import __version__
from session_memory.pricing import figure_sets
from session_memory.store import Store
from session_memory.store.figure_marks import STATISTICS
from session_memory.store.figures import NO_DAY, FigureSet
from session_memory.store.statistics import Statistics
from session_memory.store.statistics_parts import Scope
from session_memory.store.work_sums import DAY_MS, WIDTH, WorkSums
from session_memory.views.cost_days import offsets
from session_memory.views.stats.parts import SUMMED, CountedParts, LocalDays
from session_memory.views.stats.sums import SortedValues, Sums, Values, add_all, add_files

MOST_COUNTED = 1_500
"""If more sessions than this have to be counted, new sums are stored before the answer."""
_ANY_PART = next(iter(SUMMED))
_STORE = Path(__file__).parent.parent.parent / "store"
_SOURCES = (
    *(_STORE / name for name in ("statistics_sql.py", "statistics_parts.py", "work_sums.py")),
    *(Path(__file__).with_name(name) for name in ("parts.py", "sums.py", "kept.py")),
)
_sums = msgspec.msgpack.Decoder(dict[tuple[str | int | None, ...], list[int]])
_values = msgspec.msgpack.Decoder(dict[str | int | None, list[SortedValues]])
encoded = msgspec.msgpack.Encoder().encode


class SumsPlan(msgspec.Struct, frozen=True):
    """Which stored sums make an answer, and which sessions are counted one by one.

    ``single`` are days, ``wide`` the first days of spans of 32 days, ``counted`` ids of sessions.
    """

    set_id: int
    wide: tuple[int, ...]
    single: tuple[int, ...]
    counted: tuple[int, ...]


class KeptParts:
    def __init__(
        self, store: Store, plan: SumsPlan, ask: Statistics, scope: Scope, days: LocalDays
    ) -> None:
        self._sums, self._plan = WorkSums(store.db, plan.set_id), plan
        counted = msgspec.structs.replace(scope, ids=plan.counted)
        self._counted = CountedParts(ask, counted, days)
        self._known: dict[str, Sums] = {}

    def sums(self, name: str) -> Sums:
        if name not in self._known:
            counted = (self._counted.sums(name),) if self._plan.counted else ()
            self._known[name] = merged_sums(name, (*map(_sums.decode, self._read(name)), *counted))
        return self._known[name]

    def values(self, name: str) -> Values:
        found: Values = {}
        kept = map(_values.decode, self._read(name))
        counted = (self._counted.values(name),) if self._plan.counted else ()
        for part in (*kept, *counted):
            for what, runs in part.items():
                found.setdefault(what, []).extend(runs)
        return found

    def _read(self, name: str) -> list[bytes]:
        return self._sums.figures(name, self._plan.wide, self._plan.single)


def merged_sums(name: str, parts: Iterable[Sums]) -> Sums:
    merge = add_files if name == "files" else add_all
    found: Sums = {(): [0]} if name == "retrying" else {}
    for part in parts:
        merge(found, part)
    return found


def merged_parts(sums: WorkSums, single: Iterable[int], name: str) -> bytes:
    """Add up the stored figures of several days for the part ``name`` of the statistics."""
    kept = sums.figures(name, (), single)
    if name in SUMMED:
        return encoded(merged_sums(name, map(_sums.decode, kept)))
    values: dict[str | int | None, list[int]] = {}
    for part in map(_values.decode, kept):
        for what, runs in part.items():
            for run in runs:
                values.setdefault(what, []).extend(run.values)
    return encoded({what: [SortedValues.of(some)] for what, some in values.items()})


def statistics_set(store: Store, tz: tzinfo | None) -> FigureSet | None:
    sets = [one for one in store.figures.sets() if one.prices == STATISTICS]
    name = set_name(tz) if sets else ""
    return next((one for one in sets if one.zone == name), None)


def set_name(tz: tzinfo | None) -> str:
    """Return a name for stored sums, made from the code that counts and from the time zone."""
    zone = f"{figure_sets.zone_name(offsets(tz))} {'local' if tz is None else tz}"
    return blake2b(f"{_version()} {zone}".encode(), digest_size=12).hexdigest()


@cache
def _version() -> str:
    """Return a hash of the code that counts."""
    digest = blake2b(f"{__version__} {sys.byteorder}".encode(), digest_size=8)
    for file in _SOURCES:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def plan(store: Store, scope: Scope, known: FigureSet) -> SumsPlan | None:
    """Return which stored sums and which sessions make an answer.

    None if so many sessions are not in the sums that all have to be counted. Call it inside a
    snapshot.
    """
    changed = store.figures.marked(known.id, figure_sets.FEW_MARKS + 1)
    if len(changed) > figure_sets.FEW_MARKS:
        return None
    sums = WorkSums(store.db, known.id)
    counted = set(changed)
    # The stored sums of these days are not used.
    apart = {one.day for one in sums.known(changed).values()} | set(sums.uncounted())
    first, end = NO_DAY, 1 << 40
    for moment in (scope.since, scope.until):
        if moment is not None:
            apart |= {moment // DAY_MS, NO_DAY}
            lasting = sums.lasting(moment)
            counted |= lasting.keys()
            apart |= set(lasting.values())
    if scope.since is not None:
        first = scope.since // DAY_MS
    if scope.until is not None:
        end = scope.until // DAY_MS + 1
    inside = {one for one in apart if first <= one < end or one == NO_DAY}
    counted |= set(sums.on_days(inside, MOST_COUNTED + 1))
    if len(counted) > MOST_COUNTED:
        return None
    wide, single = _days(sums, apart, first, end)
    return SumsPlan(known.id, wide, single, tuple(sorted(counted)))


def _days(
    sums: WorkSums, apart: set[int], first: int, end: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the first days of the 32-day sums to use, and the single days outside of them."""
    broken = {one // WIDTH for one in apart}
    wide = sorted(
        day
        for day in sums.wide_days(_ANY_PART)
        if day // WIDTH not in broken and first <= day and day + WIDTH <= end
    )
    covered = {day // WIDTH for day in wide}
    single = [
        day
        for day in sums.single_days(_ANY_PART, first, end)
        if day not in apart and day // WIDTH not in covered
    ]
    return tuple(wide), tuple(single)
