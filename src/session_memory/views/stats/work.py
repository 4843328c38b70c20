"""Make the sections tools, retries, tests, files, time and sessions of a statistics report."""

from heapq import nsmallest

from session_memory.core.time import format_time
from session_memory.store.statistics_parts import CAP_MS
from session_memory.views.stats.queries import StatsQueries, grouped, total
from session_memory.views.stats.sections import (
    FileStats,
    Longest,
    RepoTests,
    Retried,
    Retries,
    Rows,
    SuiteDay,
    SuiteRuns,
    TimeStats,
    ToolStats,
    Wait,
    first,
    rate,
)
from session_memory.views.stats.sums import NEVER

_RETRIES = 9  # The column of retries in the rows of the part "pulse".
_UNMEASURED = (0, None, None, None)


def tools(queries: StatsQueries, limit: int) -> Rows[ToolStats]:
    spent = queries.spreads("durations")
    rows = [
        ToolStats(
            tool, calls, results, failed, rate(failed, results), *spent.get(tool, _UNMEASURED)
        )
        for tool, calls, results, failed in queries.rows("tools")
    ]
    rows.sort(key=lambda row: (-row.calls, -row.results, row.tool or ""))
    return first(rows, limit)


def retries(queries: StatsQueries, limit: int) -> Retries:
    rows = [Retried(*row) for row in queries.rows("retried")]
    rows.sort(key=lambda row: (-row.retries, row.tool or ""))
    calls = sum(row.retries for row in rows)
    every = sum(row[_RETRIES] for row in queries.places("pulse"))
    [(sessions,)] = queries.rows("retrying")
    return Retries(every, calls, every - calls, sessions, first(rows, limit))


def tests(queries: StatsQueries, limit: int) -> SuiteRuns:
    places = queries.places("tests")
    runs, passed, failed = total(places, 2, 3)
    repos = []
    for repo, rows in grouped(places, 1).items():
        its_runs, its_passed, its_failed = total(rows, 2, 3)
        share = rate(its_passed, its_passed + its_failed)
        repos.append(RepoTests(repo, its_runs, its_passed, its_failed, share))
    repos.sort(key=lambda row: (-row.runs, row.repo or ""))
    days = [SuiteDay(day, good, bad) for day, (_, good, bad) in queries.days("tests").items()]
    unknown = runs - passed - failed
    return SuiteRuns(
        runs, passed, failed, unknown, rate(passed, passed + failed), first(repos, limit), days
    )


def files(queries: StatsQueries, limit: int) -> Rows[FileStats]:
    found = queries.rows("files")
    rows = nsmallest(
        limit or len(found), found, lambda row: (-row[2], -row[4], row[1], row[0] or "")
    )
    return Rows(len(found), [_file(*row) for row in rows])


def _file(
    repo: str | None, path: str, edits: int, failed: int, sessions: int, last: int
) -> FileStats:
    edited = None if last == NEVER else format_time(last)
    return FileStats(repo, path, edits, failed, sessions, edited)


def time(queries: StatsQueries) -> TimeStats:
    by_who = {who: total(rows, 3, 3) for who, rows in grouped(queries.rows("waits"), 2).items()}
    whole = sum(ms for _, ms, _ in by_who.values())
    away = sum(beyond for _, _, beyond in by_who.values())
    person, model, tools, other = (
        Wait(count, ms, beyond, rate(ms, whole))
        for count, ms, beyond in (
            by_who.get(who, [0, 0, 0]) for who in ("person", "model", "tools", "other")
        )
    )
    return TimeStats(CAP_MS, whole, away, person, model, tools, other)


def longest(queries: StatsQueries, limit: int) -> Rows[Longest]:
    rows = [
        Longest(
            uid,
            title,
            flavor,
            repo,
            model,
            None if started is None else format_time(started),
            wall_clock_ms / 1000,
            turns,
            events,
            output,
        )
        for uid, title, flavor, repo, model, started, wall_clock_ms, turns, events, output in (
            queries.ask.longest(queries.scope, limit)
        )
    ]
    return Rows(total(queries.places("sessions"), 2, 1)[0], rows)
