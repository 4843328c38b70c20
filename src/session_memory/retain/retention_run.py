"""One run of retention: plan, evict, report."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext

import msgspec

from session_memory.config import Config
from session_memory.core.errors import StoreError
from session_memory.derive.evicted import archive_of
from session_memory.retain.evict import evict, require_archive
from session_memory.retain.live_units import all_units
from session_memory.retain.passes import (
    AGE,
    DATA_LOSS,
    HARD_CAP,
    SOFT_CAP,
    PlannedEviction,
    plan,
    waiting_for_analysis,
)
from session_memory.retain.units import Unit
from session_memory.retain.worth import is_worth_a_file, too_small
from session_memory.store.store import Store

Analyzer = Callable[[list[str]], object]
"""A function that analyzes the sessions with these uids. Failures are ignored."""


class RetentionReport(msgspec.Struct, kw_only=True):
    """What a run did, in sessions and compressed bytes.

    ``overflow_data_loss`` counts sessions that were evicted without an analysis. The sessions
    ``waiting_for_analysis`` are over the limits and stay until they are analyzed. Those that are
    ``too_small`` stay because their archive would take more space than they free.
    """

    backstop_evicted: int = 0
    budget_evicted: int = 0
    overflow_analyzed: int = 0
    overflow_data_loss: int = 0
    bytes_freed: int = 0
    final_usage_bytes: int = 0
    over_soft_cap: bool = False
    over_hard_cap: bool = False
    tier2_over_cap: bool = False
    waiting_for_analysis: int = 0
    waiting_bytes: int = 0
    too_small: int = 0
    too_small_bytes: int = 0


class Eviction(msgspec.Struct, frozen=True):
    """A unit that was evicted, or would be in a real run."""

    sessions: tuple[str, ...]
    why: str
    bytes: int
    last_at: int


class RetentionOutcome(msgspec.Struct, kw_only=True):
    """The result of a run.

    ``not_shrunk`` says why the space of evicted sessions was not given back to the disk.
    """

    report: RetentionReport
    gone: list[Eviction] = []
    archive: str | None = None
    not_shrunk: str | None = None


_COUNTED = {
    AGE: "backstop_evicted",
    SOFT_CAP: "budget_evicted",
    HARD_CAP: "overflow_analyzed",
    DATA_LOSS: "overflow_data_loss",
}


def retain(
    store: Store,
    config: Config,
    now: int,
    analyze: Analyzer,
    *,
    dry_run: bool = False,
    archived: bool | None = None,
    patient: bool = False,
    on_evicted: Callable[[int], None] = lambda size: None,
) -> RetentionOutcome:
    """Evict sessions to bring the store within its limits. Some sessions may have to stay.

    ``archived=False`` deletes their stored logs instead of archiving them. With ``patient``,
    sessions stay whose archive would take more space than they free.
    """
    with nullcontext() if dry_run else store.db.operation_lock(shared=False):
        return _retain(store, config, now, analyze, dry_run, archived, patient, on_evicted)


def _retain(
    store: Store,
    config: Config,
    now: int,
    analyze: Analyzer,
    dry_run: bool,
    archived: bool | None,
    patient: bool,
    on_evicted: Callable[[int], None],
) -> RetentionOutcome:
    limits = config.retention
    keeps = limits.archive if archived is None else archived
    archive = require_archive(archive_of(store, config)) if keeps else None
    used = store.retention.used_bytes()
    analysis = _assume_analyzed if dry_run else _Analysis(store, analyze, now)
    every = all_units(store, now)

    def planned(units: Iterable[Unit]) -> list[PlannedEviction]:
        return plan(units, used, limits, now, analysis)

    saving = patient and archive is not None
    steps, small = _worth_it(store, every, planned) if saving else (planned(every), [])
    done: Iterable[tuple[PlannedEviction, int]]
    if dry_run:
        done = [(step, step.unit.bytes) for step in steps]
    else:
        done = evict(store, archive, steps, now, config.domain_of)
    outcome = RetentionOutcome(
        report=RetentionReport(), archive=str(archive.directory) if archive else None
    )
    for step, freed in done:
        _count(outcome, step, freed)
        on_evicted(freed)
    if outcome.gone and not dry_run:
        outcome.not_shrunk = _shrink(store)
    report = outcome.report
    final = used - report.bytes_freed if dry_run else store.retention.used_bytes()
    report.final_usage_bytes = final
    report.over_soft_cap = final > limits.raw_soft_cap_bytes
    report.over_hard_cap = final > limits.raw_hard_cap_bytes
    taken = {step.unit.uids for step in steps}
    left = [unit for unit in every if unit.uids not in taken]
    waiting = waiting_for_analysis(left, final, limits, now)
    report.waiting_for_analysis = sum(len(unit.uids) for unit in waiting)
    report.waiting_bytes = sum(unit.bytes for unit in waiting)
    report.too_small = sum(len(unit.uids) for unit in small)
    report.too_small_bytes = sum(unit.bytes for unit in small)
    report.tier2_over_cap = store.retention.distilled_bytes() > limits.distilled_cap_bytes
    if not dry_run:
        with store.transaction():
            store.retention.record_run(now, msgspec.json.encode(report).decode())
    return outcome


def _worth_it(
    store: Store, every: list[Unit], planned: Callable[[list[Unit]], list[PlannedEviction]]
) -> tuple[list[PlannedEviction], list[Unit]]:
    """Return the evictions that make store and archive together smaller, and the units that stay.

    If a unit stays, another one may have to be evicted instead, so the plan is made again. If all
    units together free less than a new archive file takes, none is evicted.
    """
    small: dict[tuple[str, ...], Unit] = {}
    while True:
        steps = planned([unit for unit in every if unit.uids not in small])
        units = [step.unit for step in steps]
        found = too_small(store, units)
        small |= {unit.uids: unit for unit in found}
        if not found:
            break
    if units and not is_worth_a_file(store, units):
        return [], [*small.values(), *units]
    return steps, list(small.values())


def _shrink(store: Store) -> str | None:
    """Give the space of evicted sessions back to the disk. Returns the reason if that fails.

    Without this step the store would stay as large, and the archive would be added to it.
    """
    try:
        store.db.shrink()
    except StoreError as error:
        return str(error)
    return None


def _count(outcome: RetentionOutcome, step: PlannedEviction, freed: int) -> None:
    report, name = outcome.report, _COUNTED[step.why]
    setattr(report, name, getattr(report, name) + len(step.unit.uids))
    report.bytes_freed += freed
    outcome.gone.append(Eviction(step.unit.uids, step.why, freed, step.unit.last_at))


def _assume_analyzed(unit: Unit) -> Unit:
    """Return the unit as if it were analyzed: a dry run assumes that the analysis succeeds."""
    return msgspec.structs.replace(unit, is_analyzed=True)


class _Analysis:
    """A function that analyzes a unit, unless it is analyzed, and returns its new state."""

    def __init__(self, store: Store, analyze: Analyzer, now: int) -> None:
        self._store = store
        self._analyze = analyze
        self._now = now

    def __call__(self, unit: Unit) -> Unit:
        if unit.is_analyzed:
            return unit
        self._analyze(list(unit.uids))
        again = {one.uids: one for one in all_units(self._store, self._now)}
        return again.get(unit.uids, unit)
