"""The sections of ``stats`` as lines that fit the terminal."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.lines.bars import ChartSigns
from session_memory.cli.lines.calendar import activity_lines
from session_memory.cli.lines.stats.figures import Limit, share
from session_memory.cli.lines.stats.tokens import cache_lines, context_lines, models_lines
from session_memory.cli.lines.stats.work import (
    files_lines,
    groups_lines,
    retries_lines,
    sessions_lines,
    tests_lines,
    time_lines,
    tools_lines,
)
from session_memory.cli.lines.sync_summary import wrapped
from session_memory.views.figures import count, plural

if TYPE_CHECKING:
    from session_memory.views.stats import StatsReport
    from session_memory.views.stats.sections import Summary

TITLES = {
    "summary": "",
    "activity": "Activity: events by day and by hour",
    "agents": "Agents",
    "repos": "Repositories",
    "tools": "Tools: failed results, durations",
    "retries": "Tried again",
    "tests": "Test runs",
    "files": "Files most edited",
    "time": "Waiting for whom",
    "models": "Models",
    "cache": "Cache: share of the sent tokens that was read from it",
    "context": "Context: tokens sent with a response",
    "sessions": "Longest sessions",
}


def report_lines(report: "StatsReport", limit: Limit, using: ChartSigns) -> Iterator[str]:
    """Yield the lines of each section that is not empty, under its title."""
    is_first = True
    for name, section in report.sections.items():
        if name == "sessions":
            lines = list(sessions_lines(section, report, limit, using))
        else:
            lines = list(_LINES[name](section, limit, using))
        if not lines:
            continue
        if not is_first:
            yield ""
        is_first = False
        if TITLES[name]:
            yield click.style(_title(name, section), bold=True)
        yield from lines


def _title(name: str, section: Any) -> str:
    zone = section.tz if name == "activity" else "local"
    return TITLES[name] if zone == "local" else f"{TITLES[name]}, {zone}"


def _summary(summary: "Summary", limit: Limit, using: ChartSigns) -> Iterator[str]:
    if not summary.sessions and not summary.events:
        return
    days = f"on {plural(summary.active_days, 'day')}"
    if summary.first_day:
        days += f", {summary.first_day} to {summary.last_day}"
    sent = summary.input_tokens + summary.cache_read_tokens + summary.cache_write_tokens
    # Prompts of subagents are no turns, but their last answers complete one.
    whose = " with those of subagents" if summary.subagents else ""
    sentences = (
        f"{plural(summary.sessions, 'session')}, {summary.subagents:,} of them subagents, {days}.",
        f"{plural(summary.turns, 'turn')}, {summary.completed:,} completed{whose};"
        f" {plural(summary.calls, 'call')}, {share(summary.error_rate)} failed;"
        f" {plural(summary.edits, 'edit')}; {summary.retries:,} tried again;"
        f" {plural(summary.api_errors, 'API error')}.",
        f"{plural(summary.responses, 'response')}: {count(sent)} tokens sent,"
        f" {share(summary.hit_rate)} of them cached, {count(summary.output_tokens)} out.",
    )
    for sentence in sentences:
        yield from wrapped(sentence).splitlines()


_LINES: dict[str, Callable[[Any, Limit, ChartSigns], Iterator[str]]] = {
    "summary": _summary,
    "activity": activity_lines,
    "agents": groups_lines("agent"),
    "repos": groups_lines("repo"),
    "tools": tools_lines,
    "retries": retries_lines,
    "tests": tests_lines,
    "files": files_lines,
    "time": time_lines,
    "models": models_lines,
    "cache": cache_lines,
    "context": context_lines,
}
