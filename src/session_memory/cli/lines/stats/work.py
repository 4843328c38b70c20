"""Statistics of agents, repositories, tools, tests, files, waiting and long sessions as lines."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column
from session_memory.cli.lines.bars import ChartSigns
from session_memory.cli.lines.charts import chart
from session_memory.cli.lines.stats.figures import Limit, bad, good, more, share, spent, trend
from session_memory.cli.lines.sync_summary import wrapped
from session_memory.core.text import below_repo
from session_memory.core.time import parse_time
from session_memory.render.paths import short_path
from session_memory.render.text import cut_middle, safe
from session_memory.views.figures import count, duration, plural
from session_memory.views.zones import clock

if TYPE_CHECKING:
    from session_memory.views.stats import StatsReport
    from session_memory.views.stats.sections import Group, Rows


def groups_lines(title: str) -> Callable[["Rows[Group]", Limit, ChartSigns], Iterator[str]]:
    columns = (
        Column(title, flexible=True, middle=True, least=18),
        Column("events", right=True),
        Column("sessions", right=True),
        Column("turns", right=True),
        Column("calls", right=True),
        Column("failed", right=True),
        Column("edits", right=True),
        Column("tests", right=True),
        Column("pass", right=True),
        Column("out", right=True),
        Column("cached", right=True),
        Column("person", right=True),
        Column("model", right=True),
        Column("tools", right=True),
    )

    def lines(groups: "Rows[Group]", limit: Limit, using: ChartSigns) -> Iterator[str]:
        rows: list[list[str | Cell]] = [
            [
                row.name or "-",
                count(row.events),
                count(row.sessions),
                count(row.turns),
                count(row.calls),
                bad(row.error_rate),
                count(row.edits),
                count(row.test_runs),
                good(row.pass_rate),
                count(row.output_tokens),
                share(row.hit_rate),
                spent(row.person_ms),
                spent(row.model_ms),
                spent(row.tools_ms),
            ]
            for row in groups.rows
        ]
        amounts = [row.events for row in groups.rows]
        yield from chart(columns, rows, limit, using, amounts=amounts)
        yield from more(groups, using)

    return lines


def tools_lines(tools: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    columns = (
        Column("tool", flexible=True),
        Column("calls", right=True),
        Column("failed", right=True),
        Column("median", right=True),
        Column("95 %", right=True),
        Column("longest", right=True),
    )
    rows = [
        [
            row.tool or "-",
            count(row.calls),
            bad(row.error_rate),
            spent(row.median_ms),
            spent(row.p95_ms),
            spent(row.max_ms),
        ]
        for row in tools.rows
    ]
    yield from chart(columns, rows, limit, using, amounts=[row.calls for row in tools.rows])
    yield from more(tools, using)


def retries_lines(retries: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not retries.retries:
        return
    counted = f"{plural(retries.calls, 'call')} and {plural(retries.api, 'request')} to the API"
    yield from wrapped(f"{counted}, in {plural(retries.sessions, 'session')}.").splitlines()
    columns = (
        Column("tool", flexible=True),
        Column("again", right=True),
        Column("succeeded", right=True),
    )
    rows = [
        [row.tool or "-", count(row.retries), count(row.succeeded)] for row in retries.tools.rows
    ]
    amounts = [row.retries for row in retries.tools.rows]
    yield from chart(columns, rows, limit, using, amounts=amounts)
    yield from more(retries.tools, using)


def tests_lines(tests: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not tests.runs:
        return
    runs = f"{plural(tests.runs, 'run')}, {share(tests.pass_rate)} passed"
    runs += f", {tests.unknown:,} without a result." if tests.unknown else "."
    yield from wrapped(runs).splitlines()
    if len(tests.days) > 1:
        failed = [day.failed / (day.passed + day.failed or 1) for day in tests.days]
        yield trend("failed, day by day", failed, limit, using)
    columns = (
        Column("repo", flexible=True, middle=True, least=18),
        Column("runs", right=True),
        Column("passed", right=True),
        Column("failed", right=True),
        Column("pass", right=True),
    )
    rows = [
        [
            row.repo or "-",
            count(row.runs),
            count(row.passed),
            count(row.failed),
            good(row.pass_rate),
        ]
        for row in tests.repos.rows
    ]
    amounts = [row.pass_rate or 0 for row in tests.repos.rows]
    yield from chart(columns, rows, limit, using, amounts=amounts, largest=1)
    yield from more(tests.repos, using)


def files_lines(files: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    columns = (
        Column("file", flexible=True, middle=True),
        Column("edits", right=True),
        Column("failed", right=True),
        Column("sessions", right=True),
        Column("repo", flexible=True),
    )
    free = None if limit is None else max(limit - 48, 20)
    rows = [
        [
            Cell(cut_middle(safe(_path(row)), free or len(row.path)), {"fg": "cyan"}),
            count(row.edits),
            count(row.failed),
            count(row.sessions),
            row.repo or "-",
        ]
        for row in files.rows
    ]
    yield from chart(columns, rows, limit, using, amounts=[row.edits for row in files.rows])
    yield from more(files, using)


def _path(row: Any) -> str:
    return below_repo(short_path(row.path), row.repo)


def time_lines(time: Any, limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not time.ms:
        return
    columns = (
        Column("waiting for"),
        Column("time", right=True),
        Column("share", right=True),
        Column("waits", right=True),
        Column("each", right=True),
    )
    waits = (
        ("the person", time.person),
        ("the model", time.model),
        ("tools", time.tools),
        ("something else", time.other),
    )
    rows = [
        [
            name,
            spent(wait.ms),
            share(wait.share),
            count(wait.waits),
            spent(wait.ms // wait.waits if wait.waits else None),
        ]
        for name, wait in waits
    ]
    yield from chart(columns, rows, limit, using, amounts=[wait.ms for _, wait in waits])
    if time.away_ms:
        cap = duration(time.cap_ms / 1000)
        away = f"Not counted: {spent(time.away_ms)} beyond the first {cap} of long waits."
        yield from wrapped(away).splitlines()


def sessions_lines(
    longest: Any, report: "StatsReport", limit: Limit, using: ChartSigns
) -> Iterator[str]:
    read = clock(report.filters.tz)
    columns = (
        Column("session"),
        Column("turns took", right=True),
        Column("turns", right=True),
        Column("title", flexible=True),
        Column("when"),
        Column("events", right=True),
        Column("out", right=True),
        Column("repo", flexible=True),
    )
    rows = [
        [
            Cell(report.labels.name(row.session_uid), {"fg": "cyan"}),
            duration(row.wall_clock_s),
            count(row.turns),
            report.labels.title(row.session_uid),
            f"{read(parse_time(row.started_at)):%Y-%m-%d %H:%M}" if row.started_at else "-",
            count(row.events),
            count(row.output_tokens),
            row.repo or "-",
        ]
        for row in longest.rows
    ]
    yield from chart(columns, rows, limit, using, keep=4)
