"""Compare the costs that agents logged with the costs that we compute, by agent and model.

A figure is compared with our amount for the same response, or for the same session where the agent
only logs what the whole session cost. Two sorts of figures are counted, but not compared: $0 for
tokens that have a price (the agent knows no price), and figures for a model that we have no price
for.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.pricing.amounts import Charge, UsageFilter, charges
from session_memory.pricing.rates import UsageKind
from session_memory.pricing.reported import SessionFigure, session_figures
from session_memory.pricing.sessions import NAMED_AT_ONCE, family, subagents
from session_memory.store import Store
from session_memory.views.cost import CostFilter, usage_filter
from session_memory.views.matching import is_like, names_model
from session_memory.views.usage_notes import usage_notes
from session_memory.views.used_prices import prices_used

RESPONSE, SESSION = "response", "session"


class ComparedCost(msgspec.Struct, frozen=True, kw_only=True):
    """The costs that an agent logged for one model, beside ours. Amounts are in micro-dollars.

    ``per`` says whether the agent logs a cost per ``response`` or per ``session``. ``compared`` is
    the number of figures in the sum ``reported``; ``ours`` is our amount for the same responses or
    sessions. ``zero`` counts figures of $0 where our amount is more. ``unpriced`` counts figures
    for models that we have no price for; their sum is ``unpriced_reported``. ``responses`` counts
    all responses, also those without a figure.
    """

    flavor: str
    model: str
    per: str
    uid: str = ""
    compared: int = 0
    zero: int = 0
    unpriced: int = 0
    unpriced_reported: int = 0
    reported: int = 0
    ours: int = 0
    responses: int = 0

    @property
    def difference(self) -> int:
        """Our amount minus the agent's, in micro-dollars."""
        return self.ours - self.reported

    @property
    def is_rounding(self) -> bool:
        """Whether rounding explains the difference: at most one micro-dollar for each figure."""
        return abs(self.difference) <= self.compared

    def __add__(self, other: "ComparedCost") -> "ComparedCost":
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return msgspec.structs.replace(self, **sums)

    def to_dict(self) -> dict[str, Any]:
        values = msgspec.to_builtins(self)
        uid = values.pop("uid")
        figures = self.compared + self.zero + self.unpriced
        values |= {"figures": figures, "difference": self.difference}
        return {"session_uid": uid, **values} if uid else values


_SUMS = ("compared", "zero", "unpriced", "unpriced_reported", "reported", "ours", "responses")


class CostComparison(msgspec.Struct, frozen=True):
    """The agents' figures beside ours: ``rows`` by agent and model, ``differences`` by session.

    ``differences`` are those that rounding does not explain, the largest first. ``notes`` tells
    which agents round their figures or leave tokens out.
    """

    rows: list[ComparedCost]
    differences: list[ComparedCost]
    notes: dict[str, str]
    prices: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": [row.to_dict() for row in self.rows],
            "differences": [row.to_dict() for row in self.differences],
            "notes": self.notes,
            "prices": self.prices,
        }


def compare_costs(store: Store, filters: CostFilter) -> CostComparison:
    """Compare all costs that agents logged with ours. ``filters`` selects the usage."""
    with store.db.snapshot():
        usage = usage_filter(store, filters)
        by_session = [*_responses(store, usage), *_sessions(store, filters, usage)]
        counted = _count_responses(store, usage)
        notes = usage_notes(store, filters.flavor)
    rows = _sum((msgspec.structs.replace(one, uid="") for one in by_session), counted)
    unequal = [one for one in by_session if not one.is_rounding]
    unequal.sort(key=lambda one: (-abs(one.difference), one.uid, one.model))
    return CostComparison(rows, unequal, notes, prices_used(store))


def _responses(store: Store, usage: UsageFilter) -> list[ComparedCost]:
    """Compare the figures of responses, summed for each session and model."""
    logged = msgspec.structs.replace(usage, has_reported_cost=True)
    return _sum(_response(one) for one in charges(store, ("session", "reported"), logged))


def _response(charge: Charge) -> ComparedCost:
    uid, figure = charge.key
    count, kind = charge.records, charge.rate.kind
    there = ComparedCost(flavor=kind.flavor, model=kind.model, per=RESPONSE, uid=uid)
    if charge.rate.price is None:
        return msgspec.structs.replace(there, unpriced=count, unpriced_reported=figure * count)
    return _compared(there, figure * count, charge.microdollars, count)


def _compared(there: ComparedCost, reported: int, ours: int, count: int) -> ComparedCost:
    if not reported and ours:
        return msgspec.structs.replace(there, zero=count)
    return msgspec.structs.replace(there, compared=count, reported=reported, ours=ours)


def _sessions(store: Store, filters: CostFilter, usage: UsageFilter) -> Iterator[ComparedCost]:
    """Compare the figures of whole sessions. A period selects the sessions that started in it."""
    figures = [one for one in session_figures(store) if _admits(one, filters, usage)]
    if not figures:
        return
    below = subagents(store)
    members = {one.uid: list(family(one.uid, below)) for one in figures if one.with_subagents}
    uids = {uid for one in figures for uid in members.get(one.uid, (one.uid,))}
    named = tuple(sorted(uids)) if len(uids) <= NAMED_AT_ONCE else None
    spent: dict[str, list[Charge]] = {}
    for charge in charges(store, ("session",), UsageFilter(uids=named)):
        spent.setdefault(charge.key[0], []).append(charge)
    for one in figures:
        whole = members[one.uid] if one.with_subagents else [one.uid]
        found = [charge for uid in whole for charge in spent.get(uid, ())]
        yield from _session(one, found, filters.model)


def _admits(figure: SessionFigure, filters: CostFilter, usage: UsageFilter) -> bool:
    at = figure.at
    return (
        is_like(figure.flavor, filters.flavor)
        and (usage.uids is None or figure.uid in usage.uids)
        and (usage.repos is None or figure.repo in usage.repos)
        and (filters.since is None or (at is not None and at >= filters.since))
        and (filters.until is None or (at is not None and at < filters.until))
    )


def _session(
    figure: SessionFigure, found: list[Charge], wanted: str | None
) -> Iterator[ComparedCost]:
    for model, reported in sorted(figure.costs.items()):
        if not names_model(model, wanted):
            continue
        there = ComparedCost(flavor=figure.flavor, model=model, per=SESSION, uid=figure.uid)
        mine = [charge for charge in found if not model or _is_same(charge.rate.kind, model)]
        if any(charge.rate.price is None for charge in mine):
            yield msgspec.structs.replace(there, unpriced=1, unpriced_reported=reported)
        else:
            yield _compared(there, reported, sum(one.microdollars for one in mine), 1)


def _is_same(kind: UsageKind, model: str) -> bool:
    """Whether usage is of ``model``. Claude Code adds the context size: ``claude-opus-4-8[1m]``."""
    return kind.model.partition("[")[0] == model.partition("[")[0]


def _count_responses(store: Store, usage: UsageFilter) -> dict[tuple[str, str], int]:
    counted: dict[tuple[str, str], int] = {}
    for charge in charges(store, (), usage):
        key = charge.rate.kind.flavor, charge.rate.kind.model
        counted[key] = counted.get(key, 0) + charge.records
    return counted


def _sum(
    found: Iterable[ComparedCost], counted: dict[tuple[str, str], int] | None = None
) -> list[ComparedCost]:
    """Add up figures of the same session, agent, model and ``per``; sort the sums by these.

    ``counted`` has the numbers of all responses, which are added to the sums.
    """
    sums: dict[tuple[str, ...], ComparedCost] = {}
    for one in found:
        key = one.uid, one.flavor, one.model, one.per
        sums[key] = sums[key] + one if key in sums else one
    rows = [sums[key] for key in sorted(sums)]
    if counted is None:
        return rows
    return [
        msgspec.structs.replace(one, responses=counted.get((one.flavor, one.model), 0))
        for one in rows
    ]
