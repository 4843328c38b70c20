"""Periods: as people write them, in local time."""

import time
from datetime import UTC, datetime

import pytest

from session_memory.core.errors import InvalidTime
from session_memory.core.time import format_time
from session_memory.views.periods import period

NOW = datetime(2026, 7, 15, 12, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch):
    def use(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    use("UTC")
    yield use
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("2026-07", "2026-07-01T00:00", "2026-08-01T00:00"),
        ("2026-12", "2026-12-01T00:00", "2027-01-01T00:00"),
        ("2024-02", "2024-02-01T00:00", "2024-03-01T00:00"),
        ("2026-07-01", "2026-07-01T00:00", "2026-07-02T00:00"),
        ("today", "2026-07-15T00:00", "2026-07-16T00:00"),
        ("Yesterday", "2026-07-14T00:00", "2026-07-15T00:00"),
        ("7d", "2026-07-08T12:30", "2026-07-08T12:30"),
        ("12h", "2026-07-15T00:30", "2026-07-15T00:30"),
        ("30min", "2026-07-15T12:00", "2026-07-15T12:00"),
        ("2w", "2026-07-01T12:30", "2026-07-01T12:30"),
        ("now", "2026-07-15T12:30", "2026-07-15T12:30"),
        ("2026-07-01T10:00", "2026-07-01T10:00", "2026-07-01T10:00"),
        ("2026-07-01 10:00:30", "2026-07-01T10:00:30", "2026-07-01T10:00:30"),
        ("2026-07-01T10:00:00Z", "2026-07-01T10:00", "2026-07-01T10:00"),
        ("2026-07-01T10:00:00+02:00", "2026-07-01T08:00", "2026-07-01T08:00"),
    ],
)
def test_a_period_has_a_first_moment_and_an_end(text, first, end) -> None:
    found = [format_time(ms) for ms in period(text, NOW)]
    assert [one[: len(same)] for one, same in zip(found, (first, end), strict=True)] == [first, end]


def test_days_are_those_of_the_place_and_of_their_own_season(zone) -> None:
    zone("Europe/Berlin")
    assert format_time(period("2026-07-01", NOW)[0]) == "2026-06-30T22:00:00.000Z"
    assert format_time(period("2026-01-01", NOW)[0]) == "2025-12-31T23:00:00.000Z"
    # The day on which the clocks go back has 25 hours.
    first, end = period("2026-10-25", NOW)
    assert end - first == 25 * 3_600_000


@pytest.mark.parametrize(
    "text", ["", "soon", "2026", "2026-13", "2026-02-30", "7", "7y", "-7d", "9999999d", "12:00"]
)
def test_what_is_no_time_is_refused_with_examples(text) -> None:
    with pytest.raises(InvalidTime) as refused:
        period(text, NOW)
    assert "2026-07-01" in str(refused.value.hint)
