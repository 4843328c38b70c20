"""Make one line about cost for an agent's status bar.

The agent passes a record on stdin. Only its session id, model and cost are used; each may be
missing or wrong.
"""

from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Any

import msgspec

from session_memory.core.money import Limits
from session_memory.derive.agents import statusline_flavor
from session_memory.pricing import dollars, shown
from session_memory.pricing.amounts import Charge, UsageFilter, active_hours, charges
from session_memory.pricing.sessions import Amount, tree_amounts
from session_memory.store import Store
from session_memory.views.budget import Budget, month_of, periods
from session_memory.views.cost_days import BLOCK_HOURS, HOUR_MS, block_starts, offsets
from session_memory.views.cost_tally import CostTally

LONGEST = 40
MOST_DOLLARS = 1e9
LOOK_BACK_MS = 14 * 24 * HOUR_MS


class AgentStatus(msgspec.Struct, frozen=True):
    """The session id, model and cost that an agent reports."""

    session_id: str = ""
    model: str = ""
    microdollars: int | None = None


def parse_status(text: bytes) -> AgentStatus:
    """Parse the record that an agent wrote on stdin, in Claude Code's format.

    Missing and invalid values stay empty.
    """
    try:
        record = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return AgentStatus()
    match record:
        case {"session_id": str(session)}:
            pass
        case _:
            session = ""
    match record:
        case {"model": {"display_name": str(model)}} | {"model": {"id": str(model)}}:
            pass
        case {"model": str(model)}:
            pass
        case _:
            model = ""
    match record:
        case {"cost": {"total_cost_usd": float(cost) | int(cost)}} if 0 <= cost < MOST_DOLLARS:
            return AgentStatus(session, model, round(cost * 1_000_000))
    return AgentStatus(session, model)


class Statusline(msgspec.Struct, frozen=True):
    """The figures of a status line. ``session`` is the cost of the session, None if it is not
    collected yet. ``agent_says`` is the cost that the agent reports. ``block`` is the cost of the
    current five-hour block, None between blocks."""

    model: str
    session: Amount | None
    agent_says: int | None
    today: Amount
    block: Amount | None
    block_left_ms: int
    budget: Budget

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model or None,
            "session": None if self.session is None else msgspec.to_builtins(self.session),
            "agent_microdollars": self.agent_says,
            "today": msgspec.to_builtins(self.today),
            "block": None if self.block is None else msgspec.to_builtins(self.block),
            "block_left_ms": self.block_left_ms,
            "budget": self.budget.to_dict(),
        }

    @property
    def text(self) -> str:
        parts = [self.model[:LONGEST]] if self.model else []
        if self.session is not None:
            parts.append(f"session {shown(self.session)}")
        elif self.agent_says is not None:
            parts.append(f"session ~{dollars(self.agent_says)}")
        parts.append(f"today {shown(self.today)}")
        if self.block is not None:
            minutes = self.block_left_ms // 60_000
            parts.append(f"block {shown(self.block)}, {minutes // 60}h{minutes % 60:02} left")
        parts += [_limit(standing) for standing in self.budget.periods if standing.limit]
        return " | ".join(parts)


def _limit(standing: Any) -> str:
    mark = {"over": "!! ", "near": "! "}.get(standing.state, "")
    return f"{mark}{standing.period} {dollars(standing.spent)}/{dollars(standing.limit)}"


def statusline(
    store: Store,
    status: AgentStatus,
    limits: Limits,
    *,
    flavor: str | None = None,
    tz: tzinfo | None = None,
    now: datetime | None = None,
) -> Statusline:
    """Compute the status line. The costs of whole days come from saved sums if there are some."""
    now = now or datetime.now(UTC)
    at = int(now.timestamp() * 1000)
    with store.db.snapshot():
        start = _block_start(store, at)
        # Both periods have an end, because a wrong clock may have dated usage after today.
        begins, ends = month_of(now, tz)
        days = charges(store, ("day",), UsageFilter(since=begins, until=ends), clock=offsets(tz))
        hours = [] if start is None else _block_hours(store, start)
        session = None
        if status.session_id:
            session = _session(store, f"{flavor or statusline_flavor()}:{status.session_id}")
    stand = list(periods(days, limits, tz, now))
    block = None
    if start is not None:
        block = CostTally.of(hours).amount
    return Statusline(
        model=status.model,
        session=session,
        agent_says=status.microdollars,
        today=stand[0].tally.amount,
        block=block,
        block_left_ms=0 if start is None else start + BLOCK_HOURS * HOUR_MS - at,
        budget=Budget(stand, {}),
    )


def _block_start(store: Store, at: int) -> int | None:
    """Return the start of the current five-hour block in milliseconds; None between blocks.

    After a pause of five hours a new block starts in any case. So only the last two weeks are read.
    If they have no such pause, all usage is read.
    """
    last = at // HOUR_MS
    hours = active_hours(store, last, at - LOOK_BACK_MS)
    pauses = (
        n for n, (hour, after) in enumerate(pairwise(hours), 1) if after - hour >= BLOCK_HOURS
    )
    first = next(pauses, None)
    if hours and first is None:
        hours = active_hours(store, last, apart=BLOCK_HOURS)
    else:
        hours = hours[first:]
    start = max(block_starts(hours), default=None)
    if start is None or at >= (start + BLOCK_HOURS) * HOUR_MS:
        return None
    return start * HOUR_MS


def _block_hours(store: Store, start: int) -> list[Charge]:
    return charges(store, ("hour",), UsageFilter(since=start, until=start + BLOCK_HOURS * HOUR_MS))


def _session(store: Store, uid: str) -> Amount | None:
    return tree_amounts(store, [uid])[uid] if store.sessions.row(uid) is not None else None
