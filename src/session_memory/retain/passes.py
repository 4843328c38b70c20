"""Decide what to evict, in three passes. The plan depends only on the arguments.

1. Evict what is older than the age limit and was analyzed at its current revision.
2. While the soft cap is exceeded, evict analyzed units: finished ephemeral subagents of live
   sessions, then the oldest.
3. While the hard cap is exceeded, evict other units in the same order. They are analyzed first.
   If that fails, the eviction is reported as data loss.

A pinned unit is never evicted.
"""

from collections.abc import Callable, Iterable

import msgspec

from session_memory.config import RetentionConfig
from session_memory.retain.units import Unit

AGE, SOFT_CAP, HARD_CAP, DATA_LOSS = "age", "soft cap", "hard cap", "data loss"
DAY_MS = 86_400_000

Analyze = Callable[[Unit], Unit]
"""Analyze a unit and return its new state. It may still be unanalyzed if the analysis failed."""


class PlannedEviction(msgspec.Struct, frozen=True):
    """A unit to evict, and the pass that decided it."""

    unit: Unit
    why: str


def plan(
    units: Iterable[Unit], used: int, limits: RetentionConfig, now: int, analyze: Analyze
) -> list[PlannedEviction]:
    """Return what to evict, in order. ``units`` must be sorted from the oldest to the newest."""
    rest, steps = list(units), []

    def take(unit: Unit, why: str) -> None:
        nonlocal used
        steps.append(PlannedEviction(unit, why))
        used -= unit.bytes

    oldest = now - limits.raw_max_age_days * DAY_MS
    for unit in rest:
        if unit.is_evictable and unit.last_at < oldest:
            take(unit, AGE)
    # Nobody asks for a finished ephemeral subagent again, so the caps take those first.
    rest = sorted(_without(rest, steps), key=lambda unit: not unit.is_child)
    for unit in rest:
        if used > limits.raw_soft_cap_bytes and unit.is_evictable:
            take(unit, SOFT_CAP)
    rest = _without(rest, steps)
    for unit in rest:
        if used > limits.raw_hard_cap_bytes and not unit.is_pinned:
            unit = analyze(unit)
            take(unit, HARD_CAP if unit.is_evictable else DATA_LOSS)
    return steps


def waiting_for_analysis(
    units: Iterable[Unit], used: int, limits: RetentionConfig, now: int
) -> list[Unit]:
    """Return the units that are over the limits and stay only because they are not analyzed.

    ``units`` must be sorted from the oldest to the newest. ``used``: the bytes that all units take
    after the passes.
    """
    waiting, oldest = [], now - limits.raw_max_age_days * DAY_MS
    for unit in units:
        is_over = unit.last_at < oldest or used > limits.raw_soft_cap_bytes
        if is_over and not (unit.is_analyzed or unit.is_pinned):
            waiting.append(unit)
            used -= unit.bytes
    return waiting


def _without(units: list[Unit], steps: list[PlannedEviction]) -> list[Unit]:
    taken = {step.unit.uids for step in steps}
    return [unit for unit in units if unit.uids not in taken]
