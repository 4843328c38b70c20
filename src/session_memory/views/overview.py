"""The answer of ``session-memory`` without a command: the store in figures, and what to do next."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from session_memory.collect.discover import roots
from session_memory.config import Config
from session_memory.core.money import Limits
from session_memory.core.time import format_time
from session_memory.pricing import Amount
from session_memory.store import Store
from session_memory.store.totals import FlavorTotals, last_active, totals_by_flavor
from session_memory.views.budget import budget
from session_memory.views.learning import unread
from session_memory.views.retention import Expiry, expiry

WEEK_MS = 7 * 86_400_000


class NextStep(msgspec.Struct, frozen=True):
    """A command to run next, without the name of the program, and the reason to run it."""

    command: str
    why: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a store in a few figures.

    ``exists`` says whether there is a store; ``log_flavors`` are the agents with logs on this
    machine. ``to_analyze`` counts sessions whose analysis is missing or out of date.
    """

    exists: bool
    log_flavors: list[str]
    totals: list[FlavorTotals] = []
    cost_today: Amount = Amount()
    cost_month: Amount = Amount()
    expiring: list[Expiry] = []
    to_analyze: int = 0
    active_at: int | None = None
    now: int = 0

    @property
    def sessions(self) -> int:
        return sum(one.sessions for one in self.totals)

    @property
    def subagents(self) -> int:
        return sum(one.subagents for one in self.totals)

    @property
    def sessions_today(self) -> int:
        return sum(one.recent for one in self.totals)

    @property
    def never_analyzed(self) -> int:
        return sum(one.never_analyzed for one in self.totals)

    @property
    def collected_at(self) -> int | None:
        """When a sync last brought something new."""
        return max((one.collected_at for one in self.totals if one.collected_at), default=None)

    @property
    def is_in_use(self) -> bool:
        """Whether a session was active in the last seven days, so that `retro` can show it."""
        return self.now - (self.active_at or 0) < WEEK_MS

    @property
    def logs_at_risk(self) -> int:
        """Logs that an agent deletes within a week and that the store does not have."""
        return sum(one.at_risk for one in self.expiring)

    def next_steps(self) -> list[NextStep]:
        return list(_begin(self) if not self.sessions else _go_on(self))

    def to_dict(self) -> dict[str, Any]:
        at = self.collected_at
        return {
            "exists": self.exists,
            "sessions": self.sessions,
            "subagents": self.subagents,
            "sessions_today": self.sessions_today,
            "agents": {one.flavor: one.sessions for one in self.totals},
            "log_flavors": self.log_flavors,
            "cost": {
                "today": msgspec.to_builtins(self.cost_today),
                "month": msgspec.to_builtins(self.cost_month),
            },
            "collected_at": None if at is None else format_time(at),
            "never_analyzed": self.never_analyzed,
            "to_analyze": self.to_analyze,
            "expiring": msgspec.to_builtins(self.expiring),
            "next": msgspec.to_builtins(self.next_steps()),
        }


def overview(
    store: Store | None,
    config: Config,
    now: datetime | None = None,
    totals: list[FlavorTotals] | None = None,
) -> Overview:
    """Collect what `session-memory` without a command shows. ``store`` is None without a store.

    Days and months are in local time. ``totals`` are those of today, if the caller has them.
    """
    flavors = list(dict.fromkeys(root.flavor for root in roots(config) if root.exists))
    if store is None:
        return Overview(exists=False, log_flavors=flavors)
    now = now or datetime.now(UTC)
    today, month = budget(store, Limits(), now=now).periods
    return Overview(
        exists=True,
        log_flavors=flavors,
        totals=totals_by_flavor(store.db, today.begins) if totals is None else totals,
        cost_today=today.tally.amount,
        cost_month=month.tally.amount,
        expiring=expiry(store, config),
        to_analyze=unread(store),
        active_at=last_active(store.db),
        now=int(now.timestamp() * 1000),
    )


def _begin(found: Overview) -> Iterator[NextStep]:
    if found.log_flavors:
        yield NextStep("sync", f"collect the sessions of {', '.join(found.log_flavors)}")
        yield NextStep("demo", "or look at invented sessions first")
    else:
        yield NextStep("demo", "look at invented sessions: no agent has logs here yet")
        yield NextStep("sync", "collect sessions once an agent has been used")


def _go_on(found: Overview) -> Iterator[NextStep]:
    if found.logs_at_risk:
        yield NextStep("sync", "keep these logs before the agent deletes them")
    else:
        yield NextStep("sync", "collect what is new")
    if found.to_analyze:
        yield NextStep("analyze", "find out how these sessions ended, and what went wrong")
    elif found.is_in_use:
        yield NextStep("retro", "what was done in the last days, and what went wrong")
    else:
        yield NextStep("patterns", "what went wrong again and again")
    yield NextStep("web", "look at everything in the browser")
