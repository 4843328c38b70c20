"""The audit of a session's cost: each response with its tokens, price row and rule.

The amounts equal those in cost reports. Each amount comes with the products (tokens × price) that
it was rounded from, so anybody can check it by hand.
"""

from typing import Any

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Usage
from session_memory.core.time import parse_time
from session_memory.pricing.amounts import Charge, UsageFilter, charges
from session_memory.pricing.rates import Rate
from session_memory.pricing.sessions import Amount, family, session_amounts, subagents
from session_memory.store import Store
from session_memory.views.cost_tally import CostTally
from session_memory.views.used_prices import prices_used

ROUNDING = "rounded once per response, half a micro-dollar upwards"


class CostPart(msgspec.Struct, frozen=True):
    """The tokens of one bucket, such as ``input``, and the price of one token in picodollars. The
    bucket ``search`` has the number of web searches, and the price of one search."""

    bucket: str
    count: int
    price: int

    @property
    def picodollars(self) -> int:
        return self.count * self.price

    def to_dict(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "picodollars": self.picodollars}


class AuditedResponse(msgspec.Struct, frozen=True):
    """One response of a model with its usage, its rate (price and rule) and its cost."""

    usage: Usage
    event_uid: str | None
    branch: str | None
    rate: Rate
    parts: list[CostPart]
    microdollars: int

    def to_dict(self) -> dict[str, Any]:
        price, kind = self.rate.price, self.rate.kind
        return {
            "usage_id": self.usage.usage_id,
            "event_uid": self.event_uid,
            "seq": self.usage.seq,
            "branch": self.branch,
            "ts": self.usage.ts,
            "model": kind.model,
            "speed": kind.speed,
            "service_tier": kind.tier,
            "parts": [part.to_dict() for part in self.parts],
            "microdollars": self.microdollars,
            "unpriced": price is None,
            "price": None if price is None else msgspec.structs.asdict(price),
            "provider": self.rate.provider or None,
            "listed": self.rate.listed or None,
            "rule": self.rate.words,
            **({"reported": True} if self.usage.reported else {}),
        }


class CostAudit(msgspec.Struct, frozen=True):
    """How the cost of a session was computed.

    ``own`` is the sum of its responses. Abandoned branches are included, because they were billed.
    ``whole`` adds the subagents.
    """

    uid: str
    records: list[AuditedResponse]
    own: Amount
    subagents: dict[str, Amount]
    totals: CostTally
    prices: dict[str, Any]

    @property
    def whole(self) -> Amount:
        return sum(self.subagents.values(), self.own)

    @property
    def branches(self) -> dict[str, int]:
        """The cost of each abandoned branch in micro-dollars."""
        found: dict[str, int] = {}
        for record in self.records:
            if record.branch is not None:
                found[record.branch] = found.get(record.branch, 0) + record.microdollars
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "session_uid": self.uid,
            "rounding": ROUNDING,
            "totals": self.totals.to_dict(),
            "records": [record.to_dict() for record in self.records],
            "branches": self.branches,
            "subagents": {uid: msgspec.to_builtins(a) for uid, a in self.subagents.items()},
            "with_subagents": msgspec.to_builtins(self.whole),
            "prices": self.prices,
        }


def audit(store: Store, uid: str) -> CostAudit:
    """Return the audit of a session: every response whose usage counts for it, in order."""
    with store.db.snapshot():
        row = store.sessions.row(uid)
        if row is None:
            raise UnknownSession(uid)
        used = {(usage.usage_id, usage.seq): usage for usage in store.usage.of(row.id, uid)}
        found = charges(store, ("usage", "seq"), UsageFilter(uids=(uid,)))
        below = [each for each in family(uid, subagents(store)) if each != uid]
        amounts = session_amounts(store, below)
        records = [
            _audited(store, row.id, used[charge.key[0], charge.key[1]], charge)
            for charge in sorted(found, key=lambda charge: (charge.key[1], charge.key[0]))
        ]
    totals = CostTally.of(found)
    return CostAudit(uid, records, totals.amount, amounts, totals, prices_used(store))


def response_near(
    store: Store, uid: str, seq: int, *, is_before: bool = False
) -> AuditedResponse | None:
    """Return the first response that ends at event ``seq`` or after it, with its cost.

    With ``is_before``: the last response that ends before that event. Usage is stored at the last
    event of its response. Only this one response is priced.
    """
    with store.db.snapshot():
        row = store.sessions.row(uid)
        if row is None:
            raise UnknownSession(uid)
        placed = [one for one in store.usage.of(row.id, uid) if one.seq is not None]
        near = [one for one in placed if ((one.seq or 0) < seq) is is_before]
        if not near:
            return None
        choose = max if is_before else min
        usage = choose(near, key=lambda one: one.seq or 0)
        at = None if usage.ts is None else parse_time(usage.ts)
        only = UsageFilter(uids=(uid,), since=at, until=None if at is None else at + 1)
        for charge in charges(store, ("usage", "seq"), only):
            if charge.key == (usage.usage_id, usage.seq):
                return _audited(store, row.id, usage, charge)
    return None


def _audited(store: Store, session_id: int, usage: Usage, charge: Charge) -> AuditedResponse:
    event = None
    if usage.seq is not None:
        event = store.events.at(session_id, usage.session_uid, usage.seq)
    parts = parts_of(usage, charge.rate)
    uid, branch = (None, None) if event is None else (event.event_uid, event.branch)
    return AuditedResponse(usage, uid, branch, charge.rate, parts, charge.microdollars)


def parts_of(usage: Usage, rate: Rate) -> list[CostPart]:
    """Split a usage record into buckets with their prices. Each token is in one bucket."""
    price = rate.price
    counts = {
        "input": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens - usage.cache_write_1h_tokens,
        "cache_write_1h": usage.cache_write_1h_tokens,
        "output": usage.output_tokens,
        "search": usage.web_searches,
    }
    return [
        CostPart(name, count, 0 if price is None else getattr(price, name) or 0)
        for name, count in counts.items()
        if count
    ]
