"""Show statistics: activity, tools, tests, models, time.

Sections: summary, activity, agents, repos, tools, retries, tests, files, time, models, cache,
context, sessions. Without a name all of them are shown.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import when_options

if TYPE_CHECKING:
    from session_memory.views.stats import StatsReport

# The names are repeated here, so that shell completion need not import the views.
SECTIONS = (
    *("summary", "activity", "agents", "repos", "tools", "retries", "tests", "files", "time"),
    *("models", "cache", "context", "sessions"),
)
_SECTION = click.Choice(SECTIONS)
SHAPE = (
    '{"wanted": {…}, SECTION: …}; "wanted" are the filters; a list is {"total": N, "rows": […]}.'
    ' "evicted" is the number of evicted sessions (their logs are in the archive) whose events are'
    " not counted, if any; then the exit status is 3. Each figure: docs/stats.md."
)


def _narrowed(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, meaning in (
        ("model", "Only models whose name contains this; wildcards: * and ?."),
        ("repo", "Only sessions of this repository; wildcards: * and ?."),
        ("flavor", "Only sessions of this agent; wildcards: * and ?."),
    ):
        option = click.option(
            f"--{name}", metavar="NAME", help=meaning, shell_complete=complete_facet(name)
        )
        function = option(function)
    return function


@make_command(
    examples=(
        ("stats", "everything, of all sessions"),
        ("stats tools files --since 7d", "two sections, this week"),
        ("stats activity --tz Europe/Berlin", "when you work, in the time of Berlin"),
        ("stats --json --limit 0", "all figures, for a script"),
    ),
    json_shape=SHAPE,
)
@click.argument("sections", nargs=-1, type=_SECTION, metavar="[SECTION]...")
@click.option(
    "--section",
    "also",
    multiple=True,
    type=_SECTION,
    metavar="NAME",
    help="A section to show, the same as the argument SECTION; repeatable.",
)
@when_options
@_narrowed
@limit_option(10)
@click.pass_obj
def command(
    settings: Settings, /, sections: tuple[str, ...], also: tuple[str, ...], **filters: Any
) -> None:
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.views.evicted import partly_sentence

    with settings.memory() as memory:
        report = memory.stats(*sections, *also, **filters)
    if settings.as_json:
        print_json(report.to_dict())
    else:
        _show(settings, report)
    sentence = partly_sentence(report.evicted, "only tokens are counted, no events")
    end_incomplete(settings, report.evicted, sentence)


def _show(settings: Settings, report: "StatsReport") -> None:
    from session_memory.cli.lines.bars import signs
    from session_memory.cli.lines.stats import report_lines
    from session_memory.views.figures import plural

    if not report.stored:
        remark(settings, "No sessions yet. Collect them: session-memory sync")
        return
    lines = list(report_lines(report, terminal_width(), signs()))
    print_lines(lines)
    if not lines:
        of = plural(report.stored, "session")
        remark(settings, f"No session matches, or none has such data, of {of}.")
