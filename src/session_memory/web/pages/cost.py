"""The cost page: spending by day, by kind of token and by repository, and the dearest sessions."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from session_memory.core.errors import InvalidRecord
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.dearest import dearest_sessions
from session_memory.views.detour_costs import detour_costs
from session_memory.views.figures import plural
from session_memory.views.learning import unread
from session_memory.views.periods import period
from session_memory.views.session_pages import rows_of
from session_memory.views.session_titles import best_titles
from session_memory.views.spending_days import SPLITS, DaySpending, SpendingDays, spending_days
from session_memory.web.asked import Asked
from session_memory.web.charts import FILLS, OUTCOME_FILLS, MoneyBar, share_bar, spending_bars
from session_memory.web.cost_causes import cost_cause
from session_memory.web.rows import cost_shown, list_row, session_address

MOST_NAMES = 3
MOST_DAYS = 400
DEAREST = 8
MANY_SESSIONS = 5000
RANGES = {"month": "Month", "90d": "90 days", "year": "Year", "all": "All"}
SPLIT_NAMES = {"model": "by model", "repo": "repository", "agent": "agent", "outcome": "outcome"}


class ShareRow(msgspec.Struct, frozen=True):
    name: str
    bar: str
    cost: str
    percent: str
    address: str = ""


class _Period:
    """The period that the address names: a month, the last 90 days, the last year, or all."""

    def __init__(self, asked: Asked) -> None:
        today = datetime.now().astimezone().date()
        self.range = asked.query.get("range", "month")
        if self.range not in RANGES:
            raise InvalidRecord("range must be one of " + ", ".join(RANGES), field="range")
        self.month = asked.query.get("month", today.strftime("%Y-%m"))
        self.is_this_month = self.month == today.strftime("%Y-%m")
        self.today = today
        self.since: int | None
        self.until: int | None
        if self.range == "month":
            self.since, self.until = period(self.month)
        elif self.range == "all":
            self.since, self.until = None, None
        else:
            first = today - timedelta(days=89 if self.range == "90d" else 364)
            self.since, self.until = period(first.isoformat())[0], None

    @property
    def name(self) -> str:
        if self.range == "month":
            return date.fromisoformat(f"{self.month}-01").strftime("%B %Y")
        return {"90d": "The last 90 days", "year": "The last year", "all": "All time"}[self.range]

    def query(self) -> str:
        """Return the same period as filters for a list of sessions."""
        if self.since is None:
            return ""
        first = date.fromisoformat(f"{self.month}-01") if self.range == "month" else None
        if first is not None:
            return f"since:{self.month} until:{self.month}"
        days = 89 if self.range == "90d" else 364
        return f"since:{(self.today - timedelta(days=days)).isoformat()}"

    def neighbour(self, step: int) -> str:
        first = date.fromisoformat(f"{self.month}-01")
        other = first - timedelta(days=1) if step < 0 else first + timedelta(days=32)
        return other.strftime("%Y-%m")


def cost(asked: Asked) -> Response:
    chosen = _Period(asked)
    split = asked.query.get("by", "model")
    if split not in SPLITS:
        raise InvalidRecord("by must be one of " + ", ".join(SPLITS), field="by")
    store = asked.memory.store
    if asked.part == "detours":
        waiting = unread(asked.memory.store)
        return asked.page("cost", detours=_detours(asked, chosen), waiting=waiting)
    if asked.part == "dearest":
        return asked.page("cost", dearest=_dearest(asked, chosen, with_causes=True))
    # The causes of the cost of the dearest sessions are a separate request. In a very large store,
    # the list of these sessions is part of that request, too.
    waits = "now" not in asked.query and store.sessions.count() > MANY_SESSIONS
    found = spending_days(store, split=split, since=chosen.since, until=chosen.until)
    fills = _fills(found, split)
    budget = asked.memory.budget() if chosen.range == "month" and chosen.is_this_month else None
    month = next((one for one in budget.periods if one.period == "month"), None) if budget else None
    by_repo = asked.memory.cost(by="repo", since=chosen.since, until=_last(chosen.until))
    return asked.page(
        "cost",
        heading=chosen.name,
        detours=None,
        waiting=0,
        here_address=_address(chosen, split),
        total=money(found.totals.amount),
        total_address=_sessions(chosen.query()),
        on_course=None if month is None else money(Amount(month.forecast)),
        limit=None if month is None or month.limit is None else money(Amount(month.limit)),
        chart=spending_bars(
            _bars(found, fills, chosen), label=f"Cost by day, {SPLIT_NAMES[split]}"
        ),
        has_days=bool(found.days),
        legend=[(name, fill) for name, fill in _legend(found, fills)],
        ranges=[_range(chosen, name, split) for name in RANGES],
        splits=[_split(chosen, name, split) for name in SPLITS],
        earlier=_address(chosen, split, month=chosen.neighbour(-1)),
        later=None if chosen.is_this_month else _address(chosen, split, month=chosen.neighbour(1)),
        is_month=chosen.range == "month",
        made_of=list(_shares(found.made_of, found.totals.microdollars)),
        places=list(
            _shares(
                {row.key or "no repository": row.tally.microdollars for row in by_repo.rows},
                by_repo.totals.microdollars,
                field="repo",
                query=chosen.query(),
            )
        ),
        dearest=None if waits else _dearest(asked, chosen, with_causes="now" in asked.query),
        dearest_address=_sessions(chosen.query(), sort="cost"),
        unpriced=by_repo.unpriced,
        prices=by_repo.prices,
        undated=cost_shown(Amount(found.undated)),
    )


def _last(until: int | None) -> int | None:
    return None if until is None else until - 1


def _fills(found: SpendingDays, split: str) -> dict[str, str]:
    if split == "outcome":
        return {name: OUTCOME_FILLS.get(name, "f-idle") for name in found.names}
    return {name: FILLS[min(place, MOST_NAMES)] for place, name in enumerate(found.names)}


def _legend(found: SpendingDays, fills: dict[str, str]) -> Iterator[tuple[str, str]]:
    first = found.names if len(found.names) <= len(FILLS) else found.names[:MOST_NAMES]
    for name in first:
        yield name, fills[name].replace("f-", "i-", 1)
    if len(first) < len(found.names):
        yield f"{len(found.names) - len(first)} others", FILLS[MOST_NAMES].replace("f-", "i-", 1)


def _bars(found: SpendingDays, fills: dict[str, str], chosen: _Period) -> list[MoneyBar]:
    """Return a bar for each day of the month, even if nothing was spent on it.

    In another period, the bars begin and end with a day on which something was spent. In a very
    long one, there is a bar for each month.
    """
    if not found.days:
        return []
    by_day = {one.day: one for one in found.days}
    first, last = found.days[0].day, found.days[-1].day
    if chosen.range == "month":
        first = date.fromisoformat(f"{chosen.month}-01")
        last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    if len(days) > MOST_DAYS:
        return _months(found, fills)
    style = "%d" if chosen.range == "month" else "%d %b"
    return [
        _bar(
            by_day.get(day),
            day.strftime(style).lstrip("0"),
            f"since:{day.isoformat()} until:{day.isoformat()}",
            found.names,
            fills,
            day.strftime("%d %b %Y").lstrip("0"),
        )
        for day in days
    ]


def _months(found: SpendingDays, fills: dict[str, str]) -> list[MoneyBar]:
    sums: dict[str, dict[str, int]] = {}
    for one in found.days:
        parts = sums.setdefault(one.day.strftime("%Y-%m"), {})
        for name, value in one.parts.items():
            parts[name] = parts.get(name, 0) + value
    return [
        _bar(
            DaySpending(date.fromisoformat(f"{month}-01"), parts) if parts else None,
            month,
            f"since:{month} until:{month}",
            found.names,
            fills,
            month,
        )
        for month, parts in sorted({**_no_months(found), **sums}.items())
    ]


def _no_months(found: SpendingDays) -> dict[str, dict[str, int]]:
    """Return the months from the first to the last, each without spending. The result is empty if
    there are very many, because the time of a log is wrong then."""
    first, last = (day.year * 12 + day.month - 1 for day in (found.days[0].day, found.days[-1].day))
    if last - first > MOST_DAYS:
        return {}
    return {f"{number // 12:04}-{number % 12 + 1:02}": {} for number in range(first, last + 1)}


def _bar(
    spent: DaySpending | None,
    label: str,
    query: str,
    names: list[str],
    fills: dict[str, str],
    day: str,
) -> MoneyBar:
    if spent is None:
        return MoneyBar(label, [], says=f"{day}: nothing")
    parts = [(fills[name], spent.parts[name]) for name in names if spent.parts.get(name)]
    total = money(Amount(spent.microdollars))
    return MoneyBar(label, parts, _sessions(query), f"{day}: {total}")


def _shares(
    parts: dict[str, int], total: int, field: str = "", query: str = ""
) -> Iterator[ShareRow]:
    named = sorted(parts.items(), key=lambda part: -part[1])
    shown = named if len(named) <= 6 else named[:5]
    largest = max((value for _, value in named), default=0) or 1
    for name, value in shown:
        words = f'{query} {field}:"{name}"' if " " in name else f"{query} {field}:{name}"
        yield ShareRow(
            name,
            share_bar(value / largest),
            money(Amount(value)),
            f"{100 * value / (total or 1):.0f} %",
            _sessions(words.strip()) if field and name != "no repository" else "",
        )
    if len(shown) < len(named):
        rest = sum(value for _, value in named[len(shown) :])
        percent = f"{100 * rest / (total or 1):.0f} %"
        bar = share_bar(rest / largest, "f-k4")
        yield ShareRow(f"{len(named) - len(shown)} others", bar, money(Amount(rest)), percent)


def _detours(asked: Asked, chosen: _Period) -> list[dict[str, object]]:
    """Return the problems that analysis found, and the sessions in which they cost most."""
    found = detour_costs(asked.memory.store, chosen.since, chosen.until)
    titles = best_titles(asked.memory.store, {uid for row in found for uid, _ in row.dearest})
    highest = max((row.microdollars for row in found), default=1)
    return [
        {
            "title": row.title,
            "basis": row.basis,
            "sessions": plural(row.sessions, "session"),
            "cost": money(Amount(row.microdollars)),
            "bar": share_bar(row.microdollars / highest, "f-warn"),
            "dearest": [
                (f"{session_address(uid)}/map", titles.get(uid, uid), money(Amount(amount)))
                for uid, amount in row.dearest
            ],
        }
        for row in found
    ]


def _dearest(asked: Asked, chosen: _Period, *, with_causes: bool) -> list[dict[str, object]]:
    store = asked.memory.store
    found = dearest_sessions(store, since=chosen.since, until=chosen.until, limit=DEAREST)
    shown = rows_of(store, [one.session for one in found])
    return [
        {
            "row": list_row(row),
            "why": cost_cause(asked, one.session) if with_causes else "…",
            "cost": cost_shown(Amount(one.total, row.amount.unpriced_tokens)),
        }
        for one, row in zip(found, shown, strict=True)
    ]


def _sessions(query: str, sort: str = "") -> str:
    given = {"q": query.strip(), "sort": sort}
    return "/sessions?" + urlencode({name: value for name, value in given.items() if value})


def _address(chosen: _Period, split: str, **other: str) -> str:
    given = {"range": chosen.range, "month": chosen.month, "by": split, **other}
    if given["range"] != "month":
        given.pop("month")
    return f"/cost?{urlencode(given)}"


def _range(chosen: _Period, name: str, split: str) -> dict[str, object]:
    address = _address(chosen, split, range=name)
    return {"name": RANGES[name], "address": address, "is_chosen": name == chosen.range}


def _split(chosen: _Period, name: str, split: str) -> dict[str, object]:
    address = _address(chosen, name)
    return {"name": SPLIT_NAMES[name], "address": address, "is_chosen": name == split}
