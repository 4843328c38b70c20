"""Logs that people published: messy, real, and all of every line accounted for."""

from collections.abc import Callable
from pathlib import Path

import pytest
from independent_count import ACCOUNTING

from session_memory.core.schema import Cost
from session_memory.store import Store
from session_memory.store.sources import total
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    events_of,
    every_usage,
    lines_below,
    rebuilt,
    usage_of,
)

CollectedOnce = Callable[[Path], Store]

# On the server, test_accounting.py collects the same logs.
pytestmark = pytest.mark.only("sqlite")


def test_every_line_is_an_event_bookkeeping_a_copy_or_a_problem(
    public_logs: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(public_logs)
    account = total(store.sources.account())
    assert account.lines == lines_below(public_logs) > 0
    assert account.unaccounted == 0
    assert account.lines == (
        account.events + account.bookkeeping + account.copies + account.problems
    )
    assert account.problems == len([p for p in store.problems.every() if p.length])


def test_an_independent_count_finds_every_byte_and_token(
    public_logs: Path, collected_once: CollectedOnce
) -> None:
    found = ACCOUNTING.account_for(collected_once(public_logs), public_logs)
    assert found.is_whole, found


def test_published_logs_are_provable_and_come_back_byte_for_byte(
    public_logs: Path, collected_once: CollectedOnce, tmp_path: Path
) -> None:
    store = collected_once(public_logs)
    check_sound(store)
    logs = "*.jsonl" if any(public_logs.rglob("*.jsonl")) else "*.json"
    check_restores(store, public_logs, tmp_path / "again", logs)


def test_the_sum_over_sessions_counts_every_response_once(
    public_logs: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(public_logs)
    used = every_usage(store)
    assert len({usage.usage_id for usage in used}) == len(used)
    sessions = sum((session.cost for session in store.sessions.every()), Cost())
    assert sessions.output_tokens == sum(usage.output_tokens for usage in used)
    assert sessions.cache_tokens == sum(usage.cache_tokens for usage in used)


def test_events_carry_the_tokens_of_their_responses_and_know_their_parents(
    public_logs: Path, collected_once: CollectedOnce
) -> None:
    store = collected_once(public_logs)
    for uid in store.sessions.uids():
        events = events_of(store, uid)
        response_ids = {event.response_id for event in events}
        # What a parent reports of its subagents is in none of its own events.
        used = [usage for usage in usage_of(store, uid) if not usage.reported]
        if not uid.startswith("claude:"):
            # A response may leave nothing but its usage.
            used = [usage for usage in used if usage.usage_id in response_ids]
        assert sum(event.tokens for event in events) == sum(u.output_tokens for u in used), uid
        # Nearly every log has one root; a handful of restarts and cut copies have more.
        roots = [e for e in events if e.native_id and e.parent_seq is None]
        assert len(roots) <= 6, uid


def test_a_rebuild_of_published_logs_changes_nothing(
    public_logs: Path, collected_once: CollectedOnce
) -> None:
    """It changes the store of the other tests, and proves that it is the same afterwards."""
    store = collected_once(public_logs)
    before = store.fingerprint()
    assert rebuilt(store).fingerprint() == before
