"""Collect an agent's logs with our adapter, and return what it read."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.store.memory_store import temporary_store
from session_memory.store.sources import total
from session_memory.store.store import Store


@dataclass(frozen=True)
class FoundInLogs:
    """The sessions of a home directory with their events and usage.

    `problems` are lines that could not be read. `unaccounted` counts lines that gave nothing, not
    even a problem.
    """

    sessions: list[Session]
    events: list[SessionEvent]
    usage: list[Usage]
    problems: list[str] = field(default_factory=list)
    unaccounted: int = 0

    def of_kind(self, kind: str) -> list[SessionEvent]:
        return [event for event in self.events if event.is_a(kind)]


def found_in(home: Path, flavor: str) -> FoundInLogs:
    """Collect the logs below `home` into a temporary store, and return its contents."""
    with temporary_store() as store:
        config = Config()
        sync(store, config, roots(config, (home,), (flavor,)), host="conformance")
        return _contents(store, home)


def _contents(store: Store, home: Path) -> FoundInLogs:
    events, usage = [], []
    for uid in store.sessions.uids():
        row = store.sessions.row(uid)
        if row is not None:
            events += store.events.of(row.id, uid)
            # Leave out usage without tokens, such as a running total all of whose tokens count for
            # its responses.
            usage += [one for one in store.usage.of(row.id, uid) if any(buckets(one).values())]
    # These texts are printed in the docs, which must have no path of this machine.
    problems = [
        f"{one.reason}: {one.detail}".replace(str(home), "~") for one in store.problems.every()
    ]
    account = total(store.sources.account())
    return FoundInLogs(list(store.sessions.every()), events, usage, problems, account.unaccounted)


def buckets(usage: Usage) -> dict[str, int]:
    """Return the token counts of `usage` under the names of `EXPECTED.json`."""
    return {
        "input_uncached": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write_5m": usage.cache_write_tokens - usage.cache_write_1h_tokens,
        "cache_write_1h": usage.cache_write_1h_tokens,
        "output_incl_reasoning": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
    }


def sum_of(usages: list[Usage]) -> Counter[str]:
    total_buckets: Counter[str] = Counter()
    for usage in usages:
        total_buckets.update(buckets(usage))
    return +total_buckets
