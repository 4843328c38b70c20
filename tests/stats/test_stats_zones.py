"""Days and hours are those of the zone asked for, summer time and odd offsets included."""

from zoneinfo import ZoneInfo

import pytest

from session_memory.core.errors import InvalidTime
from session_memory.core.time import format_time, parse_time
from session_memory.testing.claude import ClaudeHome, Clock
from session_memory.views.periods import period
from session_memory.views.zones import clock, zone

from .conftest import Ask


def prompt_at(claude: ClaudeHome, moment: str, name: str = "alpha") -> None:
    claude.clock = Clock(format_time(parse_time(moment) - 1000))
    claude.session(name).prompt("hello")


pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.


@pytest.mark.parametrize(
    ("moment", "name", "day", "weekday", "hour"),
    [
        ("2026-07-01T23:30:00Z", "UTC", "2026-07-01", 2, 23),
        ("2026-07-01T23:30:00Z", "Europe/Berlin", "2026-07-02", 3, 1),
        ("2026-07-01T00:30:00Z", "America/New_York", "2026-06-30", 1, 20),
        # The last hour of winter time, the first of summer time: 2 o'clock does not exist.
        ("2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29", 6, 1),
        ("2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29", 6, 3),
        # 2 o'clock twice.
        ("2026-10-25T00:30:00Z", "Europe/Berlin", "2026-10-25", 6, 2),
        ("2026-10-25T01:30:00Z", "Europe/Berlin", "2026-10-25", 6, 2),
        # Offsets that are no whole hours.
        ("2026-07-01T18:14:59Z", "Asia/Kathmandu", "2026-07-01", 2, 23),
        ("2026-07-01T18:15:00Z", "Asia/Kathmandu", "2026-07-02", 3, 0),
        ("2026-07-02T02:29:59Z", "America/St_Johns", "2026-07-01", 2, 23),
        ("2026-07-02T02:30:00Z", "America/St_Johns", "2026-07-02", 3, 0),
        # Before 1970, where division would round the other way.
        ("1969-12-31T23:59:59Z", "UTC", "1969-12-31", 2, 23),
        ("1969-12-31T23:45:00Z", "UTC", "1969-12-31", 2, 23),
        ("0001-01-01T00:00:00Z", "America/New_York", "0001-01-01", 0, 0),
        ("9999-12-31T23:30:00Z", "Asia/Tokyo", "9999-12-31", 4, 23),
    ],
)
def test_a_moment_counts_on_its_day_and_hour(
    claude: ClaudeHome, ask: Ask, moment: str, name: str, day: str, weekday: int, hour: int
) -> None:
    if moment.startswith("0001"):
        claude.session().prompt("hello", timestamp=moment)
    else:
        prompt_at(claude, moment)
    activity = ask("activity", tz=zone(name))
    assert [(one.day, one.events) for one in activity.days] == [(day, 1)]
    assert activity.weekdays[weekday][hour] == 1
    assert sum(map(sum, activity.weekdays)) == 1


def test_a_day_of_the_zone_holds_what_happened_on_it(claude: ClaudeHome, ask: Ask) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for place, moment in enumerate(
        (
            "2026-03-28T22:59:59Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T21:59:59Z",
            "2026-03-29T22:00:00Z",
        )
    ):
        prompt_at(claude, moment, f"s{place}")
    since, until = period("2026-03-29", tz=berlin)
    activity = ask("activity", tz=berlin, since=since, until=until)
    assert [(day.day, day.sessions, day.turns) for day in activity.days] == [("2026-03-29", 2, 2)]


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-07-01", 24), ("2026-10-25", 25)]
)
def test_days_are_as_long_as_their_zone_has_them(day: str, hours: int) -> None:
    first, end = period(day, tz=ZoneInfo("Europe/Berlin"))
    assert end - first == hours * 3_600_000


def test_hours_ago_are_hours_whatever_the_clock_did() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    now = clock(berlin)(parse_time("2026-03-29T06:00:00Z"))
    assert period("12h", now, berlin)[0] == parse_time("2026-03-28T18:00:00Z")


@pytest.mark.parametrize(
    "name", ["", "Nowhere", "Europe", "../../etc/passwd", "/etc/localtime", "Berlin\0", "\ud800"]
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidTime, match="unknown time zone"):
        zone(name)
