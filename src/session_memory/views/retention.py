"""Find out how full the store is, and which logs the agents will delete soon."""

import time
from collections.abc import Iterator

import msgspec

from session_memory.collect.discover import roots
from session_memory.config import Config, RetentionConfig, this_host
from session_memory.core.text import escaped
from session_memory.retain.live_units import all_units
from session_memory.retain.passes import waiting_for_analysis
from session_memory.store import Store
from session_memory.views.expiry import WARNING_DAYS, CollectedLogs, RootState, root_state
from session_memory.views.figures import plural, size

TURN_ON_RETENTION = "Turn it on: session-memory config --retention on"


def limits_sentence(limits: RetentionConfig) -> str:
    """Say in a sentence whether retention runs after a sync, and with which limits."""
    if not limits.after_sync:
        return "Retention is off: nothing is evicted."
    words = limit_words(limits)
    return f"Retention is on, once a day after a sync. It evicts sessions {words}."


def limit_words(limits: RetentionConfig) -> str:
    """Say the limits in words: ``older than 45 days, and the oldest while the stored logs take more
    than 4.3 GB (at most 6.4 GB)``."""
    age = f"older than {plural(round(limits.raw_max_age_days), 'day')}"
    soft, hard = size(limits.raw_soft_cap_bytes), size(limits.raw_hard_cap_bytes)
    return f"{age}, and the oldest while the stored logs take more than {soft} (at most {hard})"


class RetentionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Compressed bytes of the stored logs, their limits (caps), and the number of sessions.

    ``pinned`` sessions are never evicted. ``held`` sessions were restored from the archive; they
    stay for as long as a new session.
    """

    bytes: int
    soft_cap: int
    hard_cap: int
    sessions: int
    evicted: int
    pinned: int
    held: int
    after_sync: bool


def retention_status(store: Store, config: Config, now: int) -> RetentionStatus:
    limits = config.retention
    pins = store.retention.pins(now).values()
    return RetentionStatus(
        bytes=store.retention.used_bytes(),
        soft_cap=limits.raw_soft_cap_bytes,
        hard_cap=limits.raw_hard_cap_bytes,
        sessions=store.sessions.count(),
        evicted=store.retention.count_evicted(),
        pinned=sum(until is None for until in pins),
        held=sum(until is not None for until in pins),
        after_sync=limits.after_sync,
    )


def over_limits(store: Store, config: Config, now: int) -> int:
    """Count the sessions over the limits that must be analyzed before they can be evicted."""
    used = store.retention.used_bytes()
    waiting = waiting_for_analysis(all_units(store, now), used, config.retention, now)
    return sum(len(unit.uids) for unit in waiting)


class Expiry(msgspec.Struct, frozen=True):
    """Files that one agent deletes within a week. ``at_risk`` are not in the store yet."""

    flavor: str
    files: int
    at_risk: int
    bytes_at_risk: int
    days_left: int


def expiry(store: Store, config: Config) -> list[Expiry]:
    """Look at all logs and return what their agents will delete soon."""
    collected = CollectedLogs(store, escaped(this_host(config)))
    now = time.time()
    found = (root_state(root, config, collected, now) for root in roots(config) if root.exists)
    return [_expiry(state) for state in found if state.expiring]


def _expiry(state: RootState) -> Expiry:
    lost = state.at_risk
    return Expiry(
        state.flavor,
        len(state.expiring),
        len(lost),
        sum(file.bytes for file in lost),
        min(file.days_left for file in state.expiring),
    )


def expiry_lines(found: list[Expiry]) -> Iterator[str]:
    for one in found:
        soon = f"{one.flavor} deletes {plural(one.files, 'log')} within {WARNING_DAYS} days"
        days = plural(one.days_left, "day")
        first = f"the first in {days}" if one.days_left else "the first today"
        if one.at_risk:
            lost = f"{one.at_risk:,} of them ({size(one.bytes_at_risk)}) not kept yet"
            yield f"{soon}, {first}; {lost}: session-memory sync"
        else:
            yield f"{soon}, {first}; all of them are kept."
