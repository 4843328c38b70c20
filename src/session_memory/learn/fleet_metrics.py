"""Compute metrics of all sessions in a period: error rate, cost of errors, cost of sessions.

A report has these metrics for the whole period and for each week of it. It compares the error rate
with an earlier report (the baseline).
"""

from collections import Counter, defaultdict
from typing import Any

import msgspec

from session_memory.core.time import format_time
from session_memory.learn.fleet import fleet_of
from session_memory.learn.intervals import METHOD, newcombe, wilson
from session_memory.store.digests import DigestRow, ErrorRow
from session_memory.store.store import Store

WEEK_MS = 7 * 86_400_000
MOST_WEEKS = 53
PERCENTILES = (50, 90, 99)


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """Figures over all sessions of a period.

    ``overhead_share`` is the share of all tokens that were used between a failed call and the
    success of the same check. ``error_rate`` is the share of sessions with an error, with the ends
    of its 95 % interval. ``errors`` counts every occurrence, ``recurring_errors`` the different
    errors that occurred in more than one session. ``cost_percentiles`` are micro-dollars per
    session, over the sessions that cost something.
    """

    sessions: int
    tokens: int
    overhead_tokens: int
    overhead_share: float | None
    with_errors: int
    error_rate: float | None
    error_rate_low: float
    error_rate_high: float
    errors: int
    recurring_errors: int
    priced_sessions: int
    cost_percentiles: dict[str, int]


class Week(msgspec.Struct, frozen=True):
    since: str
    metrics: Metrics


class FleetReport(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a period, for the whole period and by week (``trend``).

    ``baseline`` is an earlier report, as JSON values. ``error_rate_change`` is the change of the
    error rate since that report, and the two ends of its 95 % interval.
    """

    since: str
    until: str
    repo: str | None
    metrics: Metrics
    trend: tuple[Week, ...]
    baseline: dict[str, Any] | None = None
    error_rate_change: tuple[float, float, float] | None = None
    method: str = METHOD

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


def fleet_report(
    store: Store,
    *,
    since: int,
    until: int,
    repo: str | None = None,
    baseline: dict[str, Any] | None = None,
) -> FleetReport:
    fleet = fleet_of(store, since, until, repo)
    now = metrics(fleet.sessions, fleet.errors)
    return FleetReport(
        since=format_time(since),
        until=format_time(until),
        repo=repo,
        metrics=now,
        trend=tuple(_weeks(fleet.sessions, fleet.errors, until)),
        baseline=baseline,
        error_rate_change=_change(now, baseline),
    )


def metrics(sessions: list[DigestRow], errors: list[ErrorRow]) -> Metrics:
    own = {session.session_uid: session.tokens for session in sessions}
    spent: Counter[str] = Counter()
    holders: dict[str, set[str]] = defaultdict(set)
    for error in errors:
        spent[error.session_uid] += error.tokens
        holders[error.fingerprint].add(error.session_uid)
    # Two errors may have been open at the same time, so their tokens may be counted twice. The sum
    # is limited to all tokens of the session.
    overhead = sum(min(tokens, own[uid]) for uid, tokens in spent.items())
    total = sum(own.values())
    low, high = wilson(len(spent), len(own))
    costs = sorted(one.microdollars for one in sessions if one.microdollars)
    return Metrics(
        sessions=len(own),
        tokens=total,
        overhead_tokens=overhead,
        overhead_share=overhead / total if total else None,
        with_errors=len(spent),
        error_rate=len(spent) / len(own) if own else None,
        error_rate_low=low,
        error_rate_high=high,
        errors=sum(error.count for error in errors),
        recurring_errors=sum(len(uids) > 1 for uids in holders.values()),
        priced_sessions=len(costs),
        cost_percentiles={f"p{p}": _percentile(costs, p) for p in PERCENTILES if costs},
    )


def _percentile(values: list[int], percent: int) -> int:
    """Return the smallest of the sorted ``values`` that ``percent`` % of them do not exceed."""
    return values[max(-(-len(values) * percent // 100), 1) - 1]


def _weeks(sessions: list[DigestRow], errors: list[ErrorRow], until: int) -> list[Week]:
    """Return the metrics of the last `MOST_WEEKS` weeks, oldest first, without empty weeks."""
    by_week: dict[int, list[DigestRow]] = defaultdict(list)
    week_of: dict[str, int] = {}
    for session in sessions:
        ended = session.started_at if session.ended_at is None else session.ended_at
        week = (until - 1 - (ended or 0)) // WEEK_MS
        if 0 <= week < MOST_WEEKS:
            by_week[week].append(session)
            week_of[session.session_uid] = week
    failed: dict[int, list[ErrorRow]] = defaultdict(list)
    for error in errors:
        if error.session_uid in week_of:
            failed[week_of[error.session_uid]].append(error)
    return [
        Week(format_time(until - (week + 1) * WEEK_MS), metrics(by_week[week], failed[week]))
        for week in sorted(by_week, reverse=True)
    ]


def _change(now: Metrics, baseline: dict[str, Any] | None) -> tuple[float, float, float] | None:
    """Return the change of the error rate since the baseline, and the ends of its 95 % interval."""
    then = (baseline or {}).get("metrics")
    if not then or not then.get("sessions") or not now.sessions:
        return None
    counts = now.with_errors, now.sessions, then["with_errors"], then["sessions"]
    low, high = newcombe(*counts)
    return counts[0] / counts[1] - counts[2] / counts[3], low, high
