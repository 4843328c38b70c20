"""The sections of a statistics report as JSON-ready values. `docs/stats.md` defines each field.

A rate is a number from 0 to 1, or None if there was nothing to divide by.
"""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


def rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


class Rows(msgspec.Struct, Generic[T], frozen=True):
    """The first rows of a list; ``total`` is the number of all rows."""

    total: int
    rows: list[T]


def first(rows: list[T], limit: int) -> Rows[T]:
    return Rows(len(rows), rows[:limit] if limit else rows)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The section ``summary``. ``undated`` events have no time; they count at the start of their
    session."""

    sessions: int
    subagents: int
    events: int
    undated: int
    active_days: int
    first_day: str | None
    last_day: str | None
    turns: int
    completed: int
    calls: int
    failed: int
    error_rate: float | None
    edits: int
    retries: int
    api_errors: int
    responses: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    hit_rate: float | None


class Day(msgspec.Struct, frozen=True):
    """One day. A session counts on the day it started, everything else on its own day."""

    day: str
    sessions: int
    turns: int
    completed: int
    calls: int
    failed: int
    events: int


class Activity(msgspec.Struct, frozen=True):
    """Figures by day. ``weekdays`` has the number of events by weekday (Monday first) and hour."""

    tz: str
    days: list[Day]
    weekdays: list[list[int]]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one agent or of one repository."""

    name: str | None
    sessions: int
    subagents: int
    events: int
    turns: int
    calls: int
    failed: int
    error_rate: float | None
    edits: int
    retries: int
    test_runs: int
    pass_rate: float | None
    responses: int
    output_tokens: int
    hit_rate: float | None
    person_ms: int
    model_ms: int
    tools_ms: int


class ToolStats(msgspec.Struct, frozen=True):
    """Calls of one tool. ``error_rate`` is failed results divided by all results; durations are
    those of the ``measured`` results."""

    tool: str | None
    calls: int
    results: int
    failed: int
    error_rate: float | None
    measured: int
    median_ms: int | None
    p95_ms: int | None
    max_ms: int | None


class Retried(msgspec.Struct, frozen=True):
    tool: str | None
    retries: int
    succeeded: int


class Retries(msgspec.Struct, frozen=True):
    """Repeated calls and requests. The model repeated ``calls``, the agent ``api`` requests."""

    retries: int
    calls: int
    api: int
    sessions: int
    tools: Rows[Retried]


class ModelStats(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    sessions: int
    responses: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    reasoning_tokens: int
    web_searches: int
    hit_rate: float | None


class CacheDay(msgspec.Struct, frozen=True):
    day: str
    read_tokens: int
    sent_tokens: int
    hit_rate: float | None


class Cache(msgspec.Struct, frozen=True):
    """Cache hits. ``sent_tokens`` is the sum of cache reads, cache writes and uncached tokens."""

    read_tokens: int
    write_tokens: int
    uncached_tokens: int
    sent_tokens: int
    hit_rate: float | None
    days: list[CacheDay]


class Spread(msgspec.Struct, frozen=True):
    """A distribution. Percentiles are values that occurred (nearest rank)."""

    count: int
    median: int
    p95: int
    max: int


class Band(msgspec.Struct, frozen=True):
    """Context sizes of the responses with the numbers ``first`` to ``last`` in their sessions.

    Numbers begin with 1. If ``last`` is None, there is no last number.
    """

    first: int
    last: int | None
    contexts: Spread


class ContextStats(msgspec.Struct, frozen=True):
    """Sizes of contexts. ``peaks`` has the largest context of each session, ``growth`` how much
    the context grew from one response to the next, where it grew."""

    bands: list[Band]
    peaks: Spread | None
    growth: Spread | None
    drops: int


class Wait(msgspec.Struct, frozen=True):
    """Waits for a person, the model or tools. ``ms`` counts each wait up to the cap, ``away_ms``
    the time beyond it."""

    waits: int
    ms: int
    away_ms: int
    share: float | None


class TimeStats(msgspec.Struct, frozen=True):
    """Waiting time by cause. The shares are parts of the sum of all four causes, without the time
    beyond the cap."""

    cap_ms: int
    ms: int
    away_ms: int
    person: Wait
    model: Wait
    tools: Wait
    other: Wait


class RepoTests(msgspec.Struct, frozen=True):
    repo: str | None
    runs: int
    passed: int
    failed: int
    pass_rate: float | None


class SuiteDay(msgspec.Struct, frozen=True):
    day: str
    passed: int
    failed: int


class SuiteRuns(msgspec.Struct, frozen=True):
    """Test runs. ``pass_rate`` is passed / (passed + failed); ``unknown`` runs have no result."""

    runs: int
    passed: int
    failed: int
    unknown: int
    pass_rate: float | None
    repos: Rows[RepoTests]
    days: list[SuiteDay]


class FileStats(msgspec.Struct, frozen=True):
    repo: str | None
    path: str
    edits: int
    failed: int
    sessions: int
    last_edited: str | None


class Longest(msgspec.Struct, frozen=True):
    session_uid: str
    title: str | None
    flavor: str
    repo: str | None
    model: str | None
    started_at: str | None
    wall_clock_s: float
    turns: int
    events: int
    output_tokens: int
