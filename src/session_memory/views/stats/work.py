"""The sections tools, retries, tests, files, time and sessions."""

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

_RETRIES = 10  # its column in the pulse


def tools(queries: StatsQueries, limit: int) -> Rows[ToolStats]:
    spent = {tool: figures for tool, *figures in queries.ask.durations(queries.scope)}
    rows = [
        ToolStats(
            tool,
            calls,
            results,
            failed,
            rate(failed, results),
            *spent.get(tool, (0, None, None, None)),
        )
        for tool, calls, results, failed in queries.ask.tools(queries.scope)
    ]
    return first(rows, limit)


def retries(queries: StatsQueries, limit: int) -> Retries:
    rows = [Retried(*row) for row in queries.ask.retried(queries.scope)]
    calls = sum(row.retries for row in rows)
    every = sum(row[_RETRIES] for row in queries.pulse)
    sessions = queries.ask.sessions_with_retries(queries.scope)
    return Retries(every, calls, every - calls, sessions, first(rows, limit))


def tests(queries: StatsQueries, limit: int) -> SuiteRuns:
    runs, passed, failed = total(queries.tests, 3, 3)
    repos = []
    for repo, rows in grouped(queries.tests, 1).items():
        its_runs, its_passed, its_failed = total(rows, 3, 3)
        share = rate(its_passed, its_passed + its_failed)
        repos.append(RepoTests(repo, its_runs, its_passed, its_failed, share))
    repos.sort(key=lambda row: (-row.runs, row.repo or ""))
    days = [
        SuiteDay(day, good, bad) for day, (_, good, bad) in queries.by_day(queries.tests, 2).items()
    ]
    unknown = runs - passed - failed
    return SuiteRuns(
        runs, passed, failed, unknown, rate(passed, passed + failed), first(repos, limit), days
    )


def files(queries: StatsQueries, limit: int) -> Rows[FileStats]:
    found = queries.ask.files(queries.scope, limit)
    rows = [
        FileStats(repo, path, edits, failed, sessions, None if last is None else format_time(last))
        for repo, path, edits, failed, sessions, last, _ in found
    ]
    return Rows(found[0][6] if found else 0, rows)


def time(queries: StatsQueries) -> TimeStats:
    by_who = {who: total(rows, 3, 3) for who, rows in grouped(queries.waits, 2).items()}
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
    return Rows(sum(row[3] for row in queries.sessions), rows)
