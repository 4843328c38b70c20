"""Cost reports by day, week, month, block, model, repo, flavor, session, task, commit, branch or
pull request.

Every figure is a sum of the amounts of single usage records, so every grouping has the same total.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

import msgspec

from session_memory.core.time import now_ms
from session_memory.pricing.amounts import Charge, UsageFilter, charges
from session_memory.pricing.figure_sets import keep_figures
from session_memory.pricing.rates import UsageKind
from session_memory.pricing.sessions import (
    Amount,
    family,
    known_repos,
    session_facts,
    subagents,
)
from session_memory.store import Store
from session_memory.views.cost_days import (
    BLOCK_HOURS,
    HOUR_MS,
    block_starts,
    day_of,
    hour_time,
    offsets,
    week_of,
)
from session_memory.views.cost_links import LINKED, CostLinks
from session_memory.views.cost_tally import CostTally
from session_memory.views.matching import is_like, names_model
from session_memory.views.tasks import is_task, task_names
from session_memory.views.usage_notes import usage_notes
from session_memory.views.used_prices import prices_used

# The keys by which the database sums usage for each grouping. Model and flavor need no key, because
# every charge has them.
_KEYS: dict[str, tuple[str, ...]] = {
    "day": ("day",),
    "week": ("day",),
    "month": ("day",),
    "block": ("hour",),
    "model": (),
    "repo": ("repo",),
    "flavor": (),
    "session": ("session",),
    "task": ("session",),
    "commit": ("session", "seq"),
    "branch": ("session",),
    "pr": ("session",),
}
GROUPINGS = tuple(_KEYS)
IN_TIME = ("day", "week", "month", "block")


class CostFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects usage, and groups it ``by`` one of `GROUPINGS`.

    ``flavor`` and ``repo`` are names or patterns. ``task`` names a task in a form that
    `views.tasks.is_task` accepts. ``model`` matches any part of a model's name. ``session`` is a
    uid and includes its subagents.
    """

    by: str = "day"
    since: int | None = None
    until: int | None = None
    tz: tzinfo | None = None
    flavor: str | None = None
    repo: str | None = None
    model: str | None = None
    session: str | None = None
    task: str | None = None

    def admits(self, kind: UsageKind) -> bool:
        return is_like(kind.flavor, self.flavor) and names_model(kind.model, self.model)


class CostRow(msgspec.Struct, frozen=True):
    """One row of a cost report. ``key`` is its day, model, uid, …; None if the usage has none."""

    key: str | None
    tally: CostTally
    models: list[str]
    about: dict[str, Any] = {}

    @property
    def dollars(self) -> Decimal:
        return self.tally.dollars

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, **self.tally.to_dict(), "models": self.models, **self.about}


class CostReport(msgspec.Struct, frozen=True):
    """A cost report: its rows, their sum, and the models without a price.

    ``notes`` tells by flavor which agents round their figures or leave tokens out.
    """

    by: str
    totals: CostTally
    rows: list[CostRow]
    unpriced: list[dict[str, Any]]
    prices: dict[str, Any]
    notes: dict[str, str] = {}

    def to_dict(self) -> dict[str, Any]:
        return {
            "totals": self.totals.to_dict(),
            "by": self.by,
            "rows": [row.to_dict() for row in self.rows],
            "unpriced": self.unpriced,
            "prices": self.prices,
            **({"notes": self.notes} if self.notes else {}),
        }


def cost_report(store: Store, filters: CostFilter, *, now: int | None = None) -> CostReport:
    """Build a cost report. Periods are in the order of time, other rows by cost, highest first."""
    if filters.tz is None:
        # Sums are saved for the local time zone only. Reports in other zones are seldom repeated.
        keep_figures(store, offsets(None))
    with store.db.snapshot():
        usage = usage_filter(store, filters)
        # A task is a property of a session, so the uid is needed as the last key.
        keys = _KEYS[filters.by] if filters.task is None else (*_KEYS[filters.by], "session")
        found = charges(store, tuple(dict.fromkeys(keys)), usage, clock=offsets(filters.tz))
        tasks = task_names(store) if filters.by == "task" or filters.task is not None else {}
        if filters.task is not None:
            found = [c for c in found if is_task(tasks.get(c.key[-1], ""), filters.task)]
        links = CostLinks(store) if filters.by in LINKED else None
        rows = list(_rows(found, filters.by, tasks, links))
        notes = usage_notes(store, filters.flavor)
        if filters.by == "session":
            rows = _with_subagents(store, rows, filters.session)
    if filters.by == "block":
        rows = [_block(row, now_ms() if now is None else now) for row in rows]
    totals, unpriced = CostTally.of(found), _unpriced(found)
    return CostReport(filters.by, totals, rows, unpriced, prices_used(store), notes)


def usage_filter(store: Store, filters: CostFilter) -> UsageFilter:
    uids = repos = None
    if filters.session is not None:
        uids = tuple(family(filters.session, subagents(store)))
    if filters.repo is not None:
        repos = tuple(repo for repo in known_repos(store) if is_like(repo, filters.repo))
    return UsageFilter(
        since=filters.since, until=filters.until, uids=uids, repos=repos, kind=filters.admits
    )


def _rows(
    found: list[Charge], by: str, tasks: dict[str, str], links: CostLinks | None
) -> Iterator[CostRow]:
    name = _naming(found, by, tasks) if links is None else links.naming(by)
    parts: dict[str | None, list[Charge]] = {}
    for charge in found:
        parts.setdefault(name(charge), []).append(charge)
    tallies = {key: CostTally.of(some) for key, some in parts.items()}

    def place(key: str | None) -> tuple[bool, int, str]:
        dearest = 0 if by in IN_TIME else -tallies[key].microdollars
        return key is None, dearest, key or ""

    for key in sorted(parts, key=place):
        yield CostRow(key, tallies[key], sorted({charge.rate.kind.model for charge in parts[key]}))


def _naming(found: list[Charge], by: str, tasks: dict[str, str]) -> Callable[[Charge], str | None]:
    match by:
        case "model":
            return lambda charge: charge.rate.kind.model
        case "flavor":
            return lambda charge: charge.rate.kind.flavor
        case "repo" | "session":
            return lambda charge: _text(charge.key[0])
        case "task":
            return lambda charge: tasks.get(charge.key[0])
        case "block":
            blocks = _blocks(found)
            return lambda charge: blocks.get(charge.key[0])
    day = _DAYS[by]
    return lambda charge: None if charge.key[0] is None else day(charge.key[0])


_DAYS: dict[str, Callable[[int], str]] = {
    "day": lambda number: day_of(number).isoformat(),
    "week": lambda number: week_of(day_of(number)),
    "month": lambda number: day_of(number).isoformat()[:7],
}


def _blocks(found: list[Charge]) -> dict[int | None, str]:
    hours = sorted({charge.key[0] for charge in found if charge.key[0] is not None})
    starts = set(block_starts(hours))
    blocks: dict[int | None, str] = {}
    start = 0
    for hour in hours:
        start = hour if hour in starts else start
        blocks[hour] = hour_time(start)
    return blocks


def _block(row: CostRow, now: int) -> CostRow:
    """Return the row with the end of its block; for the current block also a cost forecast."""
    if row.key is None:
        return row
    start = int(datetime.fromisoformat(row.key).timestamp() * 1000)
    end = start + BLOCK_HOURS * HOUR_MS
    about: dict[str, Any] = {"ends": hour_time(end // HOUR_MS), "is_active": start <= now < end}
    if about["is_active"]:
        # At least five minutes, because a forecast from less would be far off.
        spent = max(now - start, HOUR_MS // 12)
        about["forecast_microdollars"] = row.tally.microdollars * (end - start) // spent
    return msgspec.structs.replace(row, about=about)


def _with_subagents(store: Store, rows: list[CostRow], root: str | None) -> list[CostRow]:
    """Add to each session's row its cost with the subagents that match the filters.

    A session without usage of its own gets a row if its subagents have usage. Sessions above
    ``root`` get no row.
    """
    below, facts = subagents(store), session_facts(store)
    own = {str(row.key): row for row in rows}
    parents = {child: parent for parent, some in below.items() for child in some}
    parents.pop(root or "", None)
    for uid in list(own):
        above = parents.get(uid)
        while above is not None and above in facts and above not in own:
            own[above] = CostRow(above, CostTally(), [])
            above = parents.get(above)
    found = []
    for uid, row in own.items():
        members = (own[each] for each in family(uid, below) if each in own)
        whole = sum((member.tally.amount for member in members), Amount())
        about = {**facts[uid], "with_subagents": msgspec.to_builtins(whole)}
        found.append(msgspec.structs.replace(row, about=about))
    return sorted(found, key=lambda row: (-row.about["with_subagents"]["microdollars"], row.key))


def _unpriced(found: list[Charge]) -> list[dict[str, Any]]:
    """Return the models without a price or without a fee for web searches, most tokens first."""
    tokens: dict[str, int] = {}
    searches: dict[str, int] = {}
    for charge in found:
        label = charge.rate.kind.label
        if charge.unpriced_tokens or charge.rate.price is None:
            tokens[label] = tokens.get(label, 0) + charge.unpriced_tokens
        if charge.unpriced_searches:
            searches[label] = searches.get(label, 0) + charge.unpriced_searches
    rows = [
        {
            "model": label,
            "tokens": tokens.get(label, 0),
            **({"web_searches": searches[label]} if label in searches else {}),
        }
        for label in {**tokens, **searches}
    ]
    return sorted(rows, key=lambda row: (-row["tokens"], row["model"]))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
