"""Days are those of a clock somewhere, also when that clock jumps; blocks are five hours."""

from datetime import UTC, datetime

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger import Ledger

from session_memory.core.time import MAX_MS, MIN_MS, parse_time
from session_memory.pricing.amounts import UsageFilter, charges
from session_memory.views.cost import CostFilter, CostReport, cost_report
from session_memory.views.cost_days import block_starts, day_of, offsets, week_of
from session_memory.views.zones import zone

OPUS = "claude-opus-4-8"


def spent(report: CostReport) -> dict[str | None, int]:
    """Tokens rather than money: one for each response."""
    return {row.key: row.tally.responses for row in report.rows}


def used(ledger: Ledger, *moments: str | int | None) -> None:
    uid = ledger.session()
    for moment in moments:
        ledger.used(uid, OPUS, moment, output=1)


def test_a_day_of_25_hours_is_one_day(ledger: Ledger) -> None:
    # Berlin leaves summer time on 2026-10-25 at 01:00 UTC.
    used(
        ledger,
        "2026-10-24T21:59:59.999Z",  # 23:59 on the 24th
        "2026-10-24T22:00:00.000Z",  # midnight, in summer time
        "2026-10-25T00:59:59.999Z",  # 02:59 in summer time
        "2026-10-25T01:00:00.000Z",  # 02:00 again
        "2026-10-25T22:59:59.999Z",  # 23:59 in winter time
        "2026-10-25T23:00:00.000Z",  # midnight
    )
    report = cost_report(ledger.store, CostFilter(tz=zone("Europe/Berlin")))
    assert spent(report) == {"2026-10-24": 1, "2026-10-25": 4, "2026-10-26": 1}


def test_a_day_of_23_hours_is_one_day(ledger: Ledger) -> None:
    used(
        ledger,
        "2026-03-28T22:59:59.999Z",
        "2026-03-28T23:00:00.000Z",
        "2026-03-29T21:59:59.999Z",
        "2026-03-29T22:00:00.000Z",
    )
    report = cost_report(ledger.store, CostFilter(tz=zone("Europe/Berlin")))
    assert spent(report) == {"2026-03-28": 1, "2026-03-29": 2, "2026-03-30": 1}


def test_a_midnight_that_does_not_exist_begins_the_day_all_the_same(ledger: Ledger) -> None:
    # Beirut's clocks jumped from midnight to one on 2026-03-29, at 22:00 UTC of the day before.
    used(ledger, "2026-03-28T21:59:59.999Z", "2026-03-28T22:00:00.000Z", "2026-03-29T20:59:00.000Z")
    report = cost_report(ledger.store, CostFilter(tz=zone("Asia/Beirut")))
    assert spent(report) == {"2026-03-28": 1, "2026-03-29": 2}


def test_weeks_and_months_are_made_of_those_days(ledger: Ledger) -> None:
    used(ledger, "2026-08-31T20:00:00.000Z", "2025-12-29T12:00:00.000Z", "2026-01-04T12:00:00.000Z")
    for name, month in (("Asia/Tokyo", "2026-09"), ("America/New_York", "2026-08")):
        report = cost_report(ledger.store, CostFilter(by="month", tz=zone(name)))
        assert spent(report) == {"2025-12": 1, "2026-01": 1, month: 1}
    weeks = cost_report(ledger.store, CostFilter(by="week", tz=zone("UTC")))
    assert spent(weeks) == {"2026-W01": 2, "2026-W36": 1}


@settings(max_examples=times(40), deadline=None)
@given(
    st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia"]),
    st.lists(st.integers(1_262_304_000_000, 1_798_761_600_000), min_size=2, max_size=20),
)
def test_offsets_are_those_of_the_zone_at_every_moment(name: str, moments: list[int]) -> None:
    found = offsets(zone(name))(min(moments), max(moments))
    for moment in moments:
        ahead = [offset for since, offset in found if since <= moment][-1]
        clock = datetime.fromtimestamp(moment / 1000, UTC).astimezone(zone(name))
        assert ahead == clock.utcoffset().total_seconds() * 1000  # type: ignore[union-attr]


def test_wrong_clocks_cost_no_time_and_are_kept(ledger: Ledger) -> None:
    used(ledger, MIN_MS, -1, 0, MAX_MS)
    report = cost_report(ledger.store, CostFilter(tz=zone("UTC")))
    assert spent(report) == {"0001-01-01": 1, "1969-12-31": 1, "1970-01-01": 1, "9999-12-31": 1}
    far = cost_report(ledger.store, CostFilter(tz=zone("Pacific/Kiritimati")))
    assert sum(spent(far).values()) == 4
    assert sum(spent(cost_report(ledger.store, CostFilter(by="block"))).values()) == 4


def test_usage_without_a_time_has_that_of_its_session_or_none(ledger: Ledger) -> None:
    started = parse_time("2026-02-01T10:00:00.000Z")
    dated = ledger.session("dated", started_at=started)
    undated = ledger.session("undated")
    # Before 2026-03-13 a long context cost Opus 4.6 twice as much; the table is newer than that.
    ledger.used(dated, "claude-opus-4-6", None, read=300_000)
    ledger.used(undated, "claude-opus-4-6", None, read=300_000)
    report = cost_report(ledger.store, CostFilter(tz=zone("UTC")))
    assert {row.key: row.tally.microdollars for row in report.rows} == {
        "2026-02-01": 300_000,
        None: 150_000,
    }
    since = cost_report(ledger.store, CostFilter(since=started, tz=zone("UTC")))
    assert [row.key for row in since.rows] == ["2026-02-01"]


def test_a_price_changes_at_midnight_of_utc(ledger: Ledger) -> None:
    uid = ledger.session()
    before = ledger.used(uid, "claude-opus-4-6", "2026-03-12T23:59:59.999Z", read=300_000)
    after = ledger.used(uid, "claude-opus-4-6", "2026-03-13T00:00:00.000Z", read=300_000)
    found = {charge.key[0]: charge.microdollars for charge in charges(ledger.store, ("usage",))}
    assert found == {before: 300_000, after: 150_000}
    assert sum(charge.records for charge in charges(ledger.store)) == 2


# ---------------------------------------------------------------- blocks


def test_a_block_begins_with_the_hour_of_its_first_use_and_lasts_five(ledger: Ledger) -> None:
    used(
        ledger,
        "2026-07-01T10:59:00.000Z",
        "2026-07-01T14:59:59.999Z",
        "2026-07-01T15:00:00.000Z",
        "2026-07-02T03:30:00.000Z",
    )
    now = parse_time("2026-07-02T05:30:00.000Z")
    report = cost_report(ledger.store, CostFilter(by="block"), now=now)
    assert spent(report) == {
        "2026-07-01T10:00:00.000Z": 2,
        "2026-07-01T15:00:00.000Z": 1,
        "2026-07-02T03:00:00.000Z": 1,
    }
    active = report.rows[-1].about
    assert [row.about["is_active"] for row in report.rows] == [False, False, True]
    assert active["ends"] == "2026-07-02T08:00:00.000Z"
    # 25 micro-dollars in half of the five hours.
    assert active["forecast_microdollars"] == 50


@settings(deadline=None)
@given(st.lists(st.integers(0, 200), unique=True))
def test_blocks_never_overlap_and_leave_nothing_out(some: list[int]) -> None:
    hours = sorted(some)
    starts = list(block_starts(hours))
    assert all(later - start >= 5 for start, later in zip(starts, starts[1:], strict=False))
    assert all(any(start <= hour < start + 5 for start in starts) for hour in hours)
    assert set(starts) <= set(hours)


@pytest.mark.parametrize(
    ("number", "day", "week"),
    [
        (0, "1970-01-01", "1970-W01"),
        (-1, "1969-12-31", "1970-W01"),
        (20_820, "2027-01-02", "2026-W53"),
    ],
)
def test_days_are_counted_from_1970(number: int, day: str, week: str) -> None:
    assert day_of(number).isoformat() == day
    assert week_of(day_of(number)) == week


def test_a_period_has_all_usage_of_its_time_also_usage_without_a_time(ledger: Ledger) -> None:
    day = "2026-05-{:02}T12:00:00.000Z".format
    used(ledger, *(day(number) for number in range(1, 8)), None)
    started = ledger.store.sessions.get(ledger.store.sessions.uids()[0])
    assert started is not None
    undated = None if started.started_at is None else parse_time(started.started_at)
    moments = [parse_time(day(number)) for number in range(1, 8)] + [undated]
    bounds = [None, *(parse_time(day(number)) for number in range(1, 8))]
    for since in bounds:
        for until in bounds:
            found = charges(ledger.store, (), UsageFilter(since=since, until=until))
            expected = [
                moment
                for moment in moments
                if (since is None or (moment is not None and moment >= since))
                and (until is None or (moment is not None and moment < until))
            ]
            assert sum(charge.records for charge in found) == len(expected)
