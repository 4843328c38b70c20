"""The start page: today in one sentence, cost by outcome, logs deleted soon, problems."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from starlette.responses import Response

from session_memory.core.time import now_ms, parse_time
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.store import Store
from session_memory.store.session_pages import SessionConditions, SessionPages
from session_memory.store.totals import totals_by_flavor
from session_memory.views.budget import microdollars
from session_memory.views.figures import age, plural
from session_memory.views.last_day import last_day
from session_memory.views.open_calls import waiting_call
from session_memory.views.overview import Overview
from session_memory.views.overview import overview as store_overview
from session_memory.views.periods import period
from session_memory.views.session_pages import PageRow, rows_of
from session_memory.views.sessions import Filter, conditions_of
from session_memory.views.spending_days import spending_days
from session_memory.web.asked import Asked
from session_memory.web.charts import OUTCOME_FILLS, MoneyBar, intervals, spending_bars
from session_memory.web.rows import ListRow, cost_shown, list_row

WEEKS = 8
CHART_WIDTH = 760
ACTIVE_MS = 10 * 60 * 1000
MANY_SESSIONS = 5000
MOST_ACTIVE, MOST_TROUBLED, MOST_PATTERNS, MOST_LESSONS = 3, 4, 4, 4
TROUBLED_DAYS = 3
_SMALL = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)


class Clause(msgspec.Struct, frozen=True):
    """A part of the sentence about today, with a link to the sessions that it counts."""

    text: str
    address: str


class WorkingNow(msgspec.Struct, frozen=True):
    row: ListRow
    ago: str
    waits: str = ""
    for_person: bool = False


def start(asked: Asked) -> Response:
    """Return the start page. Its slow parts are requests of their own, so that the sentence about
    today is shown first."""
    if asked.part == "money":
        return asked.page("overview", chart=_chart(asked))
    if asked.part == "patterns":
        return asked.page("overview", patterns=_patterns(asked))
    if asked.part == "lessons":
        return asked.page("overview", lessons=_lessons(asked))
    store, config = asked.memory.store, asked.memory.config
    today, limits = datetime.now().astimezone(), config.budget
    begins = period("today")[0]
    totals = asked.kept(("totals", begins), lambda: totals_by_flavor(store.db, begins))
    found = store_overview(store, config, totals=totals)
    listed, counts = asked.kept(("today", begins), lambda: _counts(asked, "today"))
    active = _active(asked)
    return asked.page(
        "overview",
        date=today.strftime("%A, %d %B %Y").replace(" 0", " "),
        counted=_counted(listed, sum(counts.values()) - listed),
        clauses=list(_clauses(counts)),
        cost=money(found.cost_today),
        limit="" if limits.day is None else money(Amount(microdollars(limits.day))),
        stored=found.sessions,
        active=active,
        latest=[] if active else _latest(asked),
        quiet=_quiet(asked),
        chart=None,
        vanishing=_vanishing(found),
        troubled=_troubled(asked),
        # The step "web" is left out: its reader has already opened the page.
        steps=[step for step in found.next_steps() if step.command != "web"]
        if not found.sessions or found.to_analyze
        else [],
        to_analyze=found.to_analyze,
        patterns=None,
        lessons=None,
    )


def _number(number: int) -> str:
    return _SMALL[number] if number < len(_SMALL) else f"{number:,}"


def _counted(listed: int, below: int) -> str:
    """Say how many sessions there are, and how many of their subagents had another outcome."""
    words = f"{_number(listed)} session" + ("" if listed == 1 else "s")
    if below:
        words += f" and {_number(below)} subagent" + ("" if below == 1 else "s")
    return words[0].upper() + words[1:]


def _counts(asked: Asked, day: str) -> tuple[int, dict[str, int]]:
    """Return the number of sessions in the list of a day, and in its list for each outcome.

    The list for an outcome also has the subagents whose parent had another outcome.
    """
    store = asked.memory.store
    since, until = period(day)
    conditions = conditions_of(store, Filter(folded=True, since=since, until=until))
    pages = SessionPages(store.db)
    return pages.count(conditions), pages.counts_of(["outcome"], conditions)["outcome"]


def _clauses(counts: dict[str, int]) -> Iterator[Clause]:
    words = {
        "success": "came out well",
        "fail": "failed",
        "continued": "went on in another session",
        "abandoned": "were left",
        "unknown": "are open or not analyzed yet",
    }
    single = {"abandoned": "was left", "unknown": "is open or not analyzed yet"}
    for outcome, text in words.items():
        if number := counts.get(outcome, 0):
            verb = single.get(outcome, text) if number == 1 else text
            yield Clause(
                f"{_number(number)} {verb}",
                f"/sessions?q=since%3Atoday+until%3Atoday+outcome%3A{outcome}",
            )


def _active(asked: Asked) -> list[WorkingNow]:
    """Return the sessions that were written to in the last ten minutes."""
    store, now = asked.memory.store, now_ms()
    conditions = SessionConditions(since=now - ACTIVE_MS, roots=True)
    sessions = SessionPages(store.db).page(conditions, "newest", MOST_ACTIVE)
    return [_working(store, row, now) for row in rows_of(store, sessions)]


def _latest(asked: Asked) -> list[ListRow]:
    """Return the newest sessions of the list."""
    store = asked.memory.store
    conditions = conditions_of(store, Filter(folded=True))
    sessions = SessionPages(store.db).newest_after(conditions, None, MOST_ACTIVE)
    return [list_row(row) for row in rows_of(store, sessions)]


def _shown_until(asked: Asked) -> date:
    """Return the last day that the page shows: today, or the day of the last session if nothing
    happened for eight weeks."""
    today = datetime.now().astimezone().date()
    last = last_day(asked.memory.store)
    return today if last is None or last > today - timedelta(days=7 * WEEKS) else last


def _quiet(asked: Asked) -> str:
    """Return the day of the last session if nothing happened for eight weeks; else empty."""
    until = _shown_until(asked)
    is_today = until == datetime.now().astimezone().date()
    return "" if is_today else until.strftime("%d %b %Y").lstrip("0")


def _working(store: Store, row: PageRow, now: int) -> WorkingNow:
    """Return a session that is at work. If a call has had no result for a minute, say what the
    session waits for."""
    shown, ago = list_row(row), age(parse_time(row.session.ended_at or ""), now)
    call = waiting_call(store, row.session.session_uid, now)
    if call is None:
        return WorkingNow(shown, ago)
    what = f"{call.tool} {call.summary}".strip()
    who = "you" if call.for_person else what
    return WorkingNow(shown, age(call.since, now), f"open, waits for {who}", call.for_person)


def _lessons(asked: Asked) -> list[dict[str, Any]]:
    """Return the lessons in files, with their effect as `lessons measure` says it."""
    # This imports many modules that the rest of the page does not need.
    from session_memory.views.lessons import live_effects  # noqa: PLC0415

    found = live_effects(asked.memory.store, asked.memory.config, MOST_LESSONS)
    rows = []
    for one in found:
        sides = [
            (side.low, side.rate, side.high)
            for side in (one.before, one.after)
            if side.rate is not None
        ]
        rows.append(
            {
                "id": one.lesson,
                "title": one.title,
                "verdict": one.verdict.replace("_", " "),
                "drawing": intervals(sides[0], sides[1]) if len(sides) == 2 else "",
            }
        )
    return rows


def _chart(asked: Asked) -> dict[str, Any]:
    """Draw the cost of each day by the outcome of its sessions."""
    today, last = datetime.now().astimezone().date(), _shown_until(asked)
    first = last - timedelta(days=7 * WEEKS - 1)
    since = period(first.isoformat())[0]
    found = spending_days(asked.memory.store, split="outcome", since=since, until=None)
    by_day = {one.day: one for one in found.days}
    bars = []
    for number in range(7 * WEEKS):
        day = first + timedelta(days=number)
        spent = by_day.get(day)
        parts = [
            (fill, spent.parts[name])
            for name, fill in OUTCOME_FILLS.items()
            if spent is not None and spent.parts.get(name)
        ]
        total = money(Amount(spent.microdollars)) if spent else "nothing"
        label = "today" if day == today else day.strftime("%d %b").lstrip("0")
        address = f"/sessions?q=since%3A{day}+until%3A{day}" if spent else ""
        bars.append(MoneyBar(label, parts, address, f"{day.strftime('%d %b')}: {total}"))
    limit = asked.memory.config.budget.day
    return {
        "total": money(found.totals.amount),
        "weeks": f"eight weeks until {_quiet(asked)}" if last != today else "eight weeks",
        "drawing": spending_bars(
            bars,
            label="Cost by day and outcome",
            limit=None if limit is None else microdollars(limit),
            size=CHART_WIDTH,
        ),
        "is_empty": not found.days,
        "legend": [
            (name, fill.replace("f-", "i-", 1))
            for name, fill in OUTCOME_FILLS.items()
            if name in found.names
        ],
    }


def _vanishing(found: Overview) -> list[dict[str, Any]]:
    return [
        {
            "agent": one.flavor,
            "files": f"{one.files:,}",
            "at_risk": one.at_risk,
            "days": plural(one.days_left, "day"),
        }
        for one in found.expiring
    ]


def _troubled(asked: Asked) -> list[ListRow]:
    """Return the sessions of the last three days that failed or were abandoned."""
    store = asked.memory.store
    since = now_ms() - TROUBLED_DAYS * 86_400_000
    if (last := _shown_until(asked)) != datetime.now().astimezone().date():
        since = period(str(last - timedelta(days=TROUBLED_DAYS - 1)))[0] or since
    pages = SessionPages(store.db)
    sessions = [
        session
        for outcome in ("fail", "abandoned")
        for session in pages.page(
            SessionConditions(outcome=outcome, since=since, roots=True), "newest", MOST_TROUBLED
        )
    ]
    sessions.sort(key=lambda session: session.ended_at or "", reverse=True)
    return [list_row(row) for row in rows_of(store, sessions[:MOST_TROUBLED])]


def _patterns(asked: Asked) -> dict[str, Any]:
    """Return the patterns that are problems, the highest rank first.

    In a store with very many sessions, only those of the last eight weeks count, because all
    sessions that count have to be compared.
    """
    is_large = asked.memory.store.sessions.count() > MANY_SESSIONS
    first = _shown_until(asked) - timedelta(days=7 * WEEKS - 1)
    since = first.isoformat() if is_large else None
    listing = asked.memory.patterns(since=since, limit=MOST_PATTERNS, polarity="problem")
    words = "eight weeks" if is_large else plural(listing.total, "problem")
    rows = [
        {**one, "cost": cost_shown(Amount(one["microdollars"]))}
        for one in listing.to_dict()["patterns"]
    ]
    return {"rows": rows, "words": words}
