"""Limits: what was spent of them, when it is near, where it leads; and the line in a status bar."""

from datetime import UTC, datetime

import pytest
from ledger import Ledger

from session_memory.core.money import Limits
from session_memory.core.time import parse_time
from session_memory.pricing import Amount
from session_memory.views.budget import budget
from session_memory.views.cost import CostFilter, cost_report
from session_memory.views.statusline import AgentStatus, parse_status, statusline
from session_memory.views.zones import zone

NOW = datetime(2026, 7, 16, 12, tzinfo=UTC)
UTC_ZONE = zone("UTC")
OPUS = "claude-opus-4-8"


def spend(ledger: Ledger, uid: str, dollars: float, at: str) -> None:
    """Output of Opus 4.8 costs 25 dollars a million."""
    ledger.used(uid, OPUS, at, output=round(dollars * 40_000))


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    ("month", "state"), [(None, "unlimited"), (100, "ok"), (50, "near"), (40, "near"), (39, "over")]
)
def test_a_limit_is_ok_near_or_over(ledger: Ledger, month: float | None, state: str) -> None:
    spend(ledger, ledger.session(), 40, "2026-07-01T00:00:00.000Z")
    found = budget(ledger.store, Limits(month=month), tz=UTC_ZONE, now=NOW)
    assert found.state == state
    assert found.to_dict()["periods"][1]["spent_microdollars"] == 40_000_000


def test_today_and_the_month_are_those_of_the_zone(ledger: Ledger) -> None:
    uid = ledger.session()
    for dollars, at in (
        (1, "2026-06-30T23:59:59.999Z"),
        (2, "2026-07-01T00:00:00.000Z"),
        (4, "2026-07-15T23:00:00.000Z"),
        (8, "2026-07-16T11:00:00.000Z"),
        (16, "2026-08-01T00:00:00.000Z"),
    ):
        spend(ledger, uid, dollars, at)

    def figures(name: str) -> list[int]:
        found = budget(ledger.store, Limits(), tz=zone(name), now=NOW)
        return [standing.spent // 1_000_000 for standing in found.periods]

    assert figures("UTC") == [8, 14]
    assert figures("Europe/Berlin") == [12, 15]


def test_the_forecast_goes_on_as_it_went(ledger: Ledger) -> None:
    spend(ledger, ledger.session(), 31, "2026-07-01T00:00:00.000Z")
    day, month = budget(ledger.store, Limits(month=100), tz=UTC_ZONE, now=NOW).periods
    # Fifteen and a half days of thirty-one.
    assert month.forecast == 62_000_000
    assert month.left == 69_000_000
    assert (day.spent, day.forecast, day.left) == (0, 0, None)


@pytest.mark.only("sqlite")
def test_unpriced_usage_is_told_and_in_no_dollar(ledger: Ledger) -> None:
    ledger.used(ledger.session(), "nobody-knows", "2026-07-16T01:00:00.000Z", output=7)
    found = budget(ledger.store, Limits(day=1), tz=UTC_ZONE, now=NOW).to_dict()
    assert found["state"] == "ok"
    assert [period["unpriced_tokens"] for period in found["periods"]] == [7, 7]


# ---------------------------------------------------------------- statusline


def test_the_line_tells_session_today_block_and_budget(ledger: Ledger) -> None:
    uid = ledger.session("s1")
    agent = ledger.session("s1:a1", parent_uid=uid, relation="subagent")
    spend(ledger, uid, 2, "2026-07-16T10:10:00.000Z")
    spend(ledger, agent, 1, "2026-07-16T11:00:00.000Z")
    spend(ledger, ledger.session("other"), 4, "2026-07-16T03:00:00.000Z")
    spend(ledger, uid, 8, "2026-07-02T03:00:00.000Z")
    result = parse_status(
        b'{"session_id": "s1", "model": {"id": "claude-opus-4-8", "display_name": "Opus"}}'
    )
    found = statusline(ledger.store, result, Limits(month=16), tz=UTC_ZONE, now=NOW)
    assert found.session == Amount(11_000_000)
    assert found.text == (
        "Opus | session $11.00 | today $7.00 | block $3.00, 3h00 left | ! month $15.00/$16.00"
    )


def test_the_line_agrees_with_the_reports(ledger: Ledger) -> None:
    uid = ledger.session("s1")
    # Work around the clock for weeks: blocks follow each other without a pause.
    start = parse_time("2026-06-20T07:20:00.000Z")
    for hour in range(26 * 24 + 5):
        ledger.used(uid, OPUS, start + hour * 3_600_000, output=1)
    at = int(NOW.timestamp() * 1000)
    found = statusline(ledger.store, AgentStatus(session_id="s1"), Limits(), tz=UTC_ZONE, now=NOW)
    blocks = cost_report(ledger.store, CostFilter(by="block", until=at), now=at).rows
    assert found.block is not None
    days = {row.key: row for row in cost_report(ledger.store, CostFilter(tz=UTC_ZONE)).rows}
    ends = parse_time(blocks[-1].about["ends"])
    assert found.block_left_ms == ends - at
    assert found.today == days["2026-07-16"].tally.amount
    assert found.session == Amount((26 * 24 + 5) * 25)


def test_what_a_wrong_clock_dates_later_is_not_in_the_line(ledger: Ledger) -> None:
    uid = ledger.session("s1")
    spend(ledger, uid, 2, "2026-07-16T10:10:00.000Z")
    for day in ("2026-07-17", "2026-07-31", "2026-08-01", "2031-01-01"):
        spend(ledger, uid, 1, f"{day}T10:10:00.000Z")
    found = statusline(ledger.store, AgentStatus(), Limits(month=16), tz=UTC_ZONE, now=NOW)
    # This month's days are counted, also those to come.
    assert found.text == "today $2.00 | block $2.00, 3h00 left | month $4.00/$16.00"


@pytest.mark.only("sqlite")
def test_a_session_that_is_not_collected_yet_shows_the_agents_own_figure(ledger: Ledger) -> None:
    result = parse_status(b'{"session_id": "new", "cost": {"total_cost_usd": 0.42}}')
    found = statusline(ledger.store, result, Limits(), tz=UTC_ZONE, now=NOW)
    assert found.text == "session ~$0.42 | today -"
    assert found.to_dict()["agent_microdollars"] == 420_000


def test_between_blocks_no_block_is_told(ledger: Ledger) -> None:
    spend(ledger, ledger.session(), 1, "2026-07-16T06:59:00.000Z")
    found = statusline(ledger.store, AgentStatus(), Limits(), tz=UTC_ZONE, now=NOW)
    assert (found.block, found.text) == (None, "today $1.00")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"", AgentStatus()),
        (b"\xff\x00", AgentStatus()),
        (b"[]", AgentStatus()),
        (b'{"session_id": 7, "model": null, "cost": []}', AgentStatus()),
        (b'{"session_id": "a", "model": "gpt-5.5"}', AgentStatus("a", "gpt-5.5")),
        (b'{"model": {"id": "m"}, "cost": {"total_cost_usd": -1}}', AgentStatus("", "m")),
        (b'{"session_id": "a", "cost": {"total_cost_usd": 1e300}}', AgentStatus("a")),
        (b'{"session_id": "a", "cost": {"total_cost_usd": 2}}', AgentStatus("a", "", 2_000_000)),
    ],
)
def test_whatever_an_agent_says_is_taken_as_far_as_it_makes_sense(
    said: bytes, expected: AgentStatus
) -> None:
    assert parse_status(said) == expected
