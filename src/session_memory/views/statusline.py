"""One line about money for an agent's status bar.

What the agent passes on stdin is only asked for its session id, its model and its own figure; any
of it may be missing or wrong.
"""

from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Any

import msgspec

from session_memory.core.money import Limits
from session_memory.core.time import MIN_MS
from session_memory.derive.agents import statusline_flavor
from session_memory.pricing import dollars, shown
from session_memory.pricing.amounts import Asked, active_hours, charges
from session_memory.pricing.sessions import Amount, tree_amounts
from session_memory.store import Store
from session_memory.views.budget import Budget, month_of, standings
from session_memory.views.cost import Tally
from session_memory.views.cost_days import BLOCK_HOURS, HOUR_MS, block_starts, offsets

LONGEST = 40
MOST_DOLLARS = 1e9
LOOK_BACK_MS = 14 * 24 * HOUR_MS


class Told(msgspec.Struct, frozen=True):
    """What an agent says of itself, as far as it is asked for."""

    session_id: str = ""
    model: str = ""
    microdollars: int | None = None


def told_by(text: bytes) -> Told:
    """What an agent wrote on stdin, in Claude Code's names; what is missing or odd is nothing."""
    try:
        said = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return Told()
    match said:
        case {"session_id": str(session)}:
            pass
        case _:
            session = ""
    match said:
        case {"model": {"display_name": str(model)}} | {"model": {"id": str(model)}}:
            pass
        case {"model": str(model)}:
            pass
        case _:
            model = ""
    match said:
        case {"cost": {"total_cost_usd": float(cost) | int(cost)}} if 0 <= cost < MOST_DOLLARS:
            return Told(session, model, round(cost * 1_000_000))
    return Told(session, model)


class Statusline(msgspec.Struct, frozen=True):
    """``session`` is None while it is not collected; ``agent_says`` is the agent's own figure."""

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
        parts += [_limit(standing) for standing in self.budget.standings if standing.limit]
        return " | ".join(parts)


def _limit(standing: Any) -> str:
    mark = {"over": "!! ", "near": "! "}.get(standing.state, "")
    return f"{mark}{standing.period} {dollars(standing.spent)}/{dollars(standing.limit)}"


def statusline(
    store: Store,
    told: Told,
    limits: Limits,
    *,
    flavor: str | None = None,
    tz: tzinfo | None = None,
    now: datetime | None = None,
) -> Statusline:
    """Read once since the month or the block began, whichever was first."""
    now = now or datetime.now(UTC)
    at = int(now.timestamp() * 1000)
    with store.db.snapshot():
        start = _block_start(store, at)
        since = min(month_of(now, tz)[0], at if start is None else start)
        found = charges(store, ("day", "hour"), Asked(since=since), clock=offsets(tz))
        uid = f"{flavor or statusline_flavor()}:{told.session_id}"
        session = _session(store, uid) if told.session_id else None
    stand = list(standings(found, limits, tz, now))
    block = None
    if start is not None:
        end = start + BLOCK_HOURS * HOUR_MS
        block = Tally(c for c in found if start <= c.key[1] * HOUR_MS < end).amount
    return Statusline(
        model=told.model,
        session=session,
        agent_says=told.microdollars,
        today=stand[0].tally.amount,
        block=block,
        block_left_ms=0 if start is None else start + BLOCK_HOURS * HOUR_MS - at,
        budget=Budget(stand, {}),
    )


def _block_start(store: Store, at: int) -> int | None:
    """When the block of this moment began; None between blocks.

    A pause as long as a block ends every chain of them, so the last days tell, unless nobody
    paused in them.
    """
    hours = active_hours(store, at - LOOK_BACK_MS)
    pauses = (
        n for n, (hour, after) in enumerate(pairwise(hours), 1) if after - hour >= BLOCK_HOURS
    )
    first = next(pauses, None)
    hours = active_hours(store, MIN_MS) if hours and first is None else hours[first:]
    start = max((s for s in block_starts(hours) if s * HOUR_MS <= at), default=None)
    if start is None or at >= (start + BLOCK_HOURS) * HOUR_MS:
        return None
    return start * HOUR_MS


def _session(store: Store, uid: str) -> Amount | None:
    return tree_amounts(store, [uid])[uid] if store.sessions.row(uid) is not None else None
