"""Compare the kept figures (stored sums of usage and cost) with what they were made from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.pricing.counted import MILLION
from session_memory.pricing.figure_sets import prices_name
from session_memory.pricing.sessions import session_amounts
from session_memory.store.figures import COLUMNS
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

if TYPE_CHECKING:
    from session_memory.retain.verification import VerifyReport

_SUMMED = COLUMNS[4:]
_DAYS = f"""
    select distinct d.day from (
        select set_id, day, group_id, model, speed, tier, rate, {", ".join(_SUMMED)}
        from session_spending
        union all
        select set_id, day, group_id, model, speed, tier, rate,
            {", ".join(f"-{name}" for name in _SUMMED)}
        from daily_spending
    ) d
    group by d.set_id, d.day, d.group_id, d.model, d.speed, d.tier, d.rate
    having {" or ".join(f"sum(d.{name}) <> 0" for name in _SUMMED)}
    limit 1
"""
_KEPT = ("records", *BUCKETS)
# Sessions with a mark are left out: their figures are made again before they are used.
_SESSIONS = f"""
    select s.uid from figure_sets t cross join sessions s
    left join (
        select f.set_id, f.session_id, {", ".join(f"sum(f.{name}) as {name}" for name in _KEPT)}
        from session_spending f group by f.set_id, f.session_id
    ) k on k.set_id = t.id and k.session_id = s.id
    left join (
        select u.owner_id, count(*) as records,
            {", ".join(f"sum(u.{name}) as {name}" for name in BUCKETS)}
        from usage u where u.owner_id is not null group by u.owner_id
    ) c on c.owner_id = s.id
    where t.prices not in ('files', 'statistics') and not exists (
        select 1 from figure_marks m where m.set_id = t.id and m.session_id = s.id
    ) and ({" or ".join(f"coalesce(k.{name}, 0) <> coalesce(c.{name}, 0)" for name in _KEPT)})
    order by s.uid limit 1
"""
_AMOUNTS = f"""
    select s.uid, c.microdollars,
        coalesce((select sum(f.dollars) * {MILLION} + sum(f.rest) from session_spending f
            where f.session_id = s.id and f.set_id = c.set_id), 0)
    from session_costs c join sessions s on s.id = c.session_id
    where c.set_id = :set_id and s.uid in ({{uids}}) and not exists (
        select 1 from figure_marks m where m.set_id = c.set_id and m.session_id = s.id
    )
"""


def check_figures(store: Store, report: "VerifyReport") -> None:
    """Check the kept figures. Those of a day must be the sum of its sessions, and those of a
    session the sum of its usage. The amounts of the sampled sessions are computed again."""
    for what in _differences(store, report.sampled):
        report.find(f"{what}: its kept figures are wrong; run: session-memory store rebuild")


def _differences(store: Store, sampled: list[str]) -> Iterator[str]:
    sets = store.figures.sets()
    if not sets:
        return
    if store.db.one(_DAYS) is not None:
        yield "the cost of a day"
    for (uid,) in store.db.all(_SESSIONS):
        yield uid
    amounts = session_amounts(store, sampled)
    now = prices_name(store)
    given = {f"uid_{place}": uid for place, uid in enumerate(sampled)}
    asked = _AMOUNTS.format(uids=", ".join(f":{name}" for name in given) or "null")
    for one in sets if given else ():
        for uid, cost, summed in store.db.all(asked, {**given, "set_id": one.id}):
            is_wrong = one.prices == now and int(cost) != amounts[uid].microdollars
            if is_wrong or int(cost) != int(summed):
                yield uid
