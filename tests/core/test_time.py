"""Times: any ISO-8601 in, one form out, and not a millisecond lost on the way."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.errors import InvalidTime
from session_memory.core.time import (
    MAX_MS,
    MIN_MS,
    check_rfc3339,
    format_time,
    normalize_time,
    now,
    now_ms,
    parse_time,
)

TEN = 1_782_900_000_000  # 2026-07-01T10:00:00.000Z

SAME_MOMENT = (
    "2026-07-01T10:00:00.000Z",
    "2026-07-01T10:00:00Z",
    "2026-07-01T10:00:00.0Z",
    "2026-07-01T10:00:00.000999999Z",
    "2026-07-01T10:00:00,000Z",
    "2026-07-01t10:00:00z",
    "2026-07-01 10:00:00+00:00",
    "2026-07-01T12:00:00+02:00",
    "2026-07-01T12:00:00+0200",
    "2026-07-01T12:00+02",
    "2026-06-30T22:00:00.000-12:00",
    "20260701T100000Z",
    "2026-07-01T10:00:00",
    "2026-W27-3T10:00:00Z",
)

NO_TIME = (
    "",
    "yesterday",
    "10:00:00",
    "1782900000",
    "20260701910",
    "2026-07-01x10:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-02-30T10:00:00Z",
    "2026-07-01T25:00:00.000Z",
    "2026-07-01T10:60:00.000Z",
    "2026-07-01T10:00:00.Z",
    "2026-07-01T10:00:00.000Z\n",
    " 2026-07-01T10:00:00.000Z",
    "2026-07-01T10:00:00+24:00",
    "0000-01-01T00:00:00.000Z",
    "10000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+05:00",
    "9999-12-31T23:59:59-05:00",
    "２026-07-01T10:00:00.000Z",
)


@pytest.mark.parametrize("text", SAME_MOMENT)
def test_every_way_to_write_a_moment_is_the_same_moment(text: str) -> None:
    assert parse_time(text) == TEN
    assert normalize_time(text) == "2026-07-01T10:00:00.000Z"


@pytest.mark.parametrize("text", NO_TIME)
def test_a_time_that_is_no_time_is_refused(text: str) -> None:
    for read in (parse_time, normalize_time):
        with pytest.raises(InvalidTime, match="ts must be an ISO-8601 time"):
            read(text, "ts")


@pytest.mark.parametrize("value", [None, 5, 5.0, True, b"2026-07-01T10:00:00.000Z"])
def test_a_time_is_text(value: object) -> None:
    for read in (parse_time, normalize_time):
        with pytest.raises(InvalidTime):
            read(value)  # type: ignore[arg-type]


@given(st.integers(MIN_MS, MAX_MS))
def test_a_millisecond_survives_being_written_and_read(ms: int) -> None:
    text = format_time(ms)
    assert parse_time(text) == ms
    assert normalize_time(text) == text


@given(st.integers(MIN_MS, MAX_MS), st.integers(MIN_MS, MAX_MS))
def test_times_sort_as_text_as_they_do_as_numbers(one: int, other: int) -> None:
    assert (format_time(one) < format_time(other)) == (one < other)


offsets = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=offsets),  # noqa: DTZ001
)
def test_a_fraction_is_cut_off_and_never_rounded(moment: datetime) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert format_time(parse_time(moment.isoformat())) == (
        whole.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


@pytest.mark.parametrize("ms", [MIN_MS - 1, MAX_MS + 1, 10**30])
def test_a_year_that_cannot_be_written_is_refused(ms: int) -> None:
    with pytest.raises(InvalidTime, match="outside the years"):
        format_time(ms)


def test_now_is_the_present_in_the_stored_form() -> None:
    before, text, after = now_ms(), now(), now_ms()
    assert before <= parse_time(text) <= after
    assert normalize_time(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-01T10:00:00.123456789+02:00",
        "2026-07-01T10:00:00Z",
        "2026-07-01t10:00:00.5z",
        "2026-07-01 10:00:00-00:00",
    ],
)
def test_an_rfc_3339_time_is_kept_as_it_was_written(text: str) -> None:
    assert check_rfc3339("timestamp", text) == text


@pytest.mark.parametrize(
    "text", ["2026-07-01T10:00:00", "2026-07-01", "2026-07-01T10:00Z", "20260701T100000Z", *NO_TIME]
)
def test_rfc_3339_wants_seconds_and_an_offset(text: str) -> None:
    with pytest.raises(InvalidTime) as caught:
        check_rfc3339("timestamp", text)
    assert caught.value.field == "timestamp"
