"""Show whether lessons helped.

Compares two groups of analyzed sessions: those that ended before a lesson was written to an
instruction file, and those that started while it was in the file. Both groups are of the file's
repository and of agents that read it. Shows how many sessions of each group have the problem, with
95 % intervals (Wilson for rates, Newcombe for their difference). The verdict says so if there are
too few sessions, or if somebody deleted the lesson and it is in no file any more. Without LESSON,
figures of all analyzed sessions follow, week by week (at most 53 weeks).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.lesson_options import (
    complete_lesson,
    decision_note,
    dir_option,
    opened_lessons,
    print_learned,
    remark_unread,
)
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.cli.kit.lesson_options import OpenedLessons
    from session_memory.learn.fleet_metrics import FleetReport, Metrics
    from session_memory.learn.measure import MeasuredSide, Measurement

DAY_MS = 86_400_000
_COLORS = {"helped": "green", "did_not_help": "red", "worse": "red"}


@make_command(
    examples=(
        ("lessons measure", "all applied lessons, and all sessions by week"),
        ("lessons measure l-0c88102dbf64", "did this one help?"),
        ("lessons measure --mark", "write the result into the lessons"),
        ("lessons measure --baseline", "save the present figures to compare with later"),
    ),
    json_shape='{"lessons": [{"lesson", "version", "title", "verdict", "reason", "applied_at",'
    ' "ended_at", "targets", "before": {"sessions", "days", "showing", "rate", "low", "high",'
    ' "times", "tokens"}, "after": {…}, "difference", "low", "high", "chance", "method"}, …],'
    ' "fleet": {"since", "until", "repo", "metrics": {"sessions", "tokens", "overhead_tokens",'
    ' "overhead_share", "with_errors", "error_rate", "error_rate_low", "error_rate_high", "errors",'
    ' "recurring_errors", "priced_sessions", "cost_percentiles"}, "trend": [{"since", "metrics"},'
    ' …], "baseline", "error_rate_change", "method"}}. "verdict" is helped, unclear, did_not_help,'
    ' worse, too_little_data, not_applied or gone (from the file); "showing" sessions have the'
    ' problem, "rate" is their share, "low" and "high" are its interval; "chance" is the'
    ' probability that chance alone gives this difference; "fleet" are all sessions,'
    ' "overhead_tokens" those used between a failed call and the success of the same check.',
)
@click.argument("name", required=False, metavar="[LESSON]", shell_complete=complete_lesson)
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    default=90,
    metavar="N",
    show_default=True,
    help="Compare with sessions of the N days before the lesson; also the length of the weekly"
    " figures.",
)
@click.option(
    "--repo",
    metavar="NAME",
    help="Only sessions of this repository, in the weekly figures.",
    shell_complete=complete_facet("repo"),
)
@click.option(
    "--mark",
    "marked",
    is_flag=True,
    help="Write the verdicts into the lessons, except too_little_data, not_applied and gone.",
)
@click.option("--baseline", is_flag=True, help="Save the figures of all sessions to compare later.")
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    name: str | None,
    days: int,
    repo: str | None,
    marked: bool,
    baseline: bool,
    directory: Path | None,
) -> None:
    from session_memory.core.time import now_ms

    if baseline and name is not None:
        raise click.UsageError("--baseline is about all sessions: leave out the lesson")
    with opened_lessons(settings, directory) as opened:
        measured = _measured(opened, name, days)
        now = now_ms()
        fleet = None if name else _fleet(opened, now, days, repo)
        if baseline and fleet is not None:
            _keep(opened, fleet, now)
        if marked:
            _mark(opened, measured)
        remark_unread(settings, opened.store)
    if settings.as_json:
        lessons = [one.to_dict() for one in measured]
        print_learned({"lessons": lessons, "fleet": fleet.to_dict() if fleet else None})
        return
    print_lines(_lines(measured, fleet))
    if baseline:
        remark(settings, "Saved. From now on, lessons measure compares with these figures.")


def _measured(opened: "OpenedLessons", name: str | None, days: int) -> "list[Measurement]":
    from session_memory.learn.measure import measure

    periods = opened.applied.periods()
    if name is not None:
        lessons = [opened.lessons.find(name)]
    else:
        live = {period.lesson for period in periods}
        lessons = [one for one in opened.lessons.read()[0] if one.id in live]
    least = opened.config.lessons.measure_sessions
    return measure(opened.store, lessons, periods, least=least, days=days)


def _fleet(opened: "OpenedLessons", now: int, days: int, repo: str | None) -> "FleetReport":
    from session_memory.learn.fleet_metrics import fleet_report

    before = opened.applied.baseline()
    if before is not None and before.get("repo") != repo:
        before = None
    return fleet_report(
        opened.store, since=now - days * DAY_MS, until=now + 1, repo=repo, baseline=before
    )


def _keep(opened: "OpenedLessons", fleet: "FleetReport", now: int) -> None:
    from session_memory.core.time import format_time

    values = fleet.to_dict()
    kept = {key: values[key] for key in ("since", "until", "repo", "metrics")}
    opened.applied.save_baseline({"taken_at": format_time(now), **kept})


def _mark(opened: "OpenedLessons", measured: "list[Measurement]") -> None:
    from session_memory.learn.curate import mark
    from session_memory.learn.measure import GONE, NOT_APPLIED, TOO_LITTLE

    for one in measured:
        if one.verdict not in (GONE, NOT_APPLIED, TOO_LITTLE):
            mark(opened.lessons, one.lesson, one.verdict, decision_note(None, one.reason))


# ------------------------------------------------------------ output for people


def _lines(measured: "list[Measurement]", fleet: "FleetReport | None") -> Iterator[str]:
    for one in measured:
        yield from _measurement(one)
        yield ""
    if fleet is None:
        return
    if not measured:
        yield "No lesson was applied yet."
        yield ""
    yield from _report(fleet)


def _measurement(one: "Measurement") -> Iterator[str]:
    from session_memory.views.figures import local

    verdict = click.style(one.verdict.replace("_", " "), fg=_COLORS.get(one.verdict), bold=True)
    yield f"{safe(f'{one.lesson} v{one.version}  {one.title}')}: {verdict}"
    yield safe(f"  {one.reason}")
    if one.applied_at is None:
        return
    until = f" until {local(one.ended_at)}" if one.ended_at else ""
    yield safe(f"  applied {local(one.applied_at)}{until} to {', '.join(one.targets)}")
    yield f"  before  {_side(one.before)}"
    yield f"  after   {_side(one.after)}"
    if one.difference is not None:
        change = f"{one.difference:+.0%} [{one.low:+.0%} to {one.high:+.0%}]"
        yield f"  change  {change}{_chance(one)}   ({one.method})"


def _chance(one: "Measurement") -> str:
    if one.chance is None:
        return ""
    return ", by chance " + ("below 0.1%" if one.chance < 0.001 else f"{one.chance:.1%}")


def _side(side: "MeasuredSide") -> str:
    from session_memory.views.figures import count, plural

    shown = f"{side.showing} of {plural(side.sessions, 'session')}"
    if side.rate is None:
        return shown
    rate = f"{side.rate:.0%} [{side.low:.0%} to {side.high:.0%}]"
    days, times = plural(side.days, "day"), plural(side.times, "time")
    return f"{shown} on {days}: {rate}, {times}, {count(side.tokens)} tokens"


def _report(fleet: "FleetReport") -> Iterator[str]:
    from session_memory.views.figures import plural

    where = f" in {fleet.repo}" if fleet.repo else ""
    sessions = plural(fleet.metrics.sessions, "session")
    title = f"{sessions}{where}, {fleet.since[:10]} to {fleet.until[:10]}"
    yield click.style(safe(title), bold=True)
    columns = [Column("week from"), Column("sessions", right=True), Column("overhead", right=True)]
    columns += [Column("with errors", right=True), Column("recurring", right=True)]
    columns += [Column(f"cost {p}", right=True) for p in ("p50", "p90", "p99")]
    rows = [_row(week.since[:10], week.metrics) for week in fleet.trend]
    rows.append(_row("all", fleet.metrics, bold=True))
    if fleet.baseline:
        then = str(fleet.baseline.get("taken_at"))[:10]
        rows.append(_row(f"baseline {then}", fleet.baseline["metrics"]))
    yield from table(columns, rows, terminal_width())
    if fleet.error_rate_change is not None:
        change, low, high = fleet.error_rate_change
        text = f"{change:+.0%} [{low:+.0%} to {high:+.0%}]"
        yield f"sessions with errors, against the baseline: {text}"


def _row(name: str, metrics: "Metrics | dict[str, object]", *, bold: bool = False) -> list[Cell]:
    import msgspec

    from session_memory.learn.fleet_metrics import Metrics
    from session_memory.pricing import Amount, shown

    if isinstance(metrics, dict):
        metrics = msgspec.convert(metrics, Metrics)
    costs = [metrics.cost_percentiles.get(p) for p in ("p50", "p90", "p99")]
    texts = [
        name,
        f"{metrics.sessions:,}",
        "-" if metrics.overhead_share is None else f"{metrics.overhead_share:.1%}",
        "-" if metrics.error_rate is None else f"{metrics.error_rate:.0%}",
        f"{metrics.recurring_errors:,}",
        *("-" if cost is None else shown(Amount(cost)) for cost in costs),
    ]
    return [Cell(text, {"bold": True} if bold else {}) for text in texts]
