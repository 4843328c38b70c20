"""Sum up a stretch of a session, from one event to another: tokens, cost, files and tests.

Stretches that follow each other add up to the session exactly. Events that a session inherited
count for the session that owns them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.store import Store
from session_memory.store.outlines import events_between
from session_memory.views.cost_tally import CostTally
from session_memory.views.evicted import readable_events


class SessionStretch(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of a stretch from ``first`` to ``last``. ``tally`` has the tokens and the cost of
    its responses. ``edited`` and ``read`` count calls by file."""

    first: int
    last: int
    events: int
    seconds: float
    tally: CostTally
    calls: int
    errors: int
    prompts: int
    passed: int
    failed: int
    edited: dict[str, int]
    read: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return values | {"tally": self.tally.to_dict()}


def stretch(store: Store, uid: str, first: int, last: int) -> SessionStretch:
    """Sum up the events from ``first`` to ``last``.

    Usage without a seq belongs to the last event of the session.
    """
    read, _ = readable_events(store, uid)
    row = read.sessions.row(uid)
    if row is None:
        raise UnknownSession(uid)
    first, last = min(first, last), max(first, last)
    end = max(read.events.last_seq(row.id), 0)
    is_end, last = first <= end <= last, min(last, end)
    used = [
        charge
        for charge in charges(store, ("seq",), UsageFilter(uids=(uid,)))
        if (is_end if charge.key[0] is None else first <= charge.key[0] <= last)
    ]
    events = list(events_between(read.db, row.id, first, last))
    times = [event.ts for event in events if event.ts is not None]
    kinds = Counter(kind for event in events for kind in set(event.kinds))
    tests = [event for event in events if {"tool_result", "test_run"} <= set(event.kinds)]
    calls = [event for event in events if "tool_call" in event.kinds and event.path]
    return SessionStretch(
        first=first,
        last=last,
        events=len(events),
        seconds=(max(times) - min(times)) / 1000 if times else 0.0,
        tally=CostTally.of(used),
        calls=kinds["tool_call"],
        errors=sum(event.is_error for event in events),
        prompts=kinds["user_msg"],
        passed=sum(not event.is_error for event in tests),
        failed=sum(event.is_error for event in tests),
        edited=_counts(event.path for event in calls if "edit" in event.kinds),
        read=_counts(event.path for event in calls if "edit" not in event.kinds),
    )


def _counts(paths: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(path for path in paths if path).most_common())
