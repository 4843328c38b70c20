"""The three passes, which decide what goes; a pure function of what there is.

1. What is older than the age limit, if it was analyzed at its present revision.
2. Over the soft cap, the oldest that was analyzed, until it fits.
3. Over the hard cap, the oldest of the rest: analyzed now, or else lost, and said to be.

Nothing that is pinned goes in any of them.
"""

from collections.abc import Callable, Iterable

import msgspec

from session_memory.config import RetentionConfig
from session_memory.retain.units import Unit

AGE, SOFT_CAP, HARD_CAP, DATA_LOSS = "age", "soft cap", "hard cap", "data loss"
DAY_MS = 86_400_000

Analyze = Callable[[Unit], Unit]
"""Have a unit analyzed; the unit as it is afterwards, still not analyzed where that failed."""


class PlannedEviction(msgspec.Struct, frozen=True):
    """One unit to evict, and which pass said so."""

    unit: Unit
    why: str


def plan(
    units: Iterable[Unit], used: int, limits: RetentionConfig, now: int, analyze: Analyze
) -> list[PlannedEviction]:
    """What to evict, in order, of units given from the oldest to the newest."""
    rest, steps = list(units), []

    def take(unit: Unit, why: str) -> None:
        nonlocal used
        steps.append(PlannedEviction(unit, why))
        used -= unit.bytes

    oldest = now - limits.raw_max_age_days * DAY_MS
    for unit in rest:
        if unit.is_evictable and unit.last_at < oldest:
            take(unit, AGE)
    rest = _without(rest, steps)
    for unit in rest:
        if used > limits.raw_soft_cap_bytes and unit.is_evictable:
            take(unit, SOFT_CAP)
    rest = _without(rest, steps)
    for unit in rest:
        if used > limits.raw_hard_cap_bytes and not unit.is_pinned:
            unit = analyze(unit)
            take(unit, HARD_CAP if unit.is_evictable else DATA_LOSS)
    return steps


def _without(units: list[Unit], steps: list[PlannedEviction]) -> list[Unit]:
    taken = {step.unit.uids for step in steps}
    return [unit for unit in units if unit.uids not in taken]
