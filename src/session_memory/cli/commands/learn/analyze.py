"""Analyze sessions: outcome, errors, fixes, cost.

Analyzes the sessions that you name. Without UID, analyzes the sessions that are new, that changed
since their last analysis, or whose last analysis used an older version or other prices. Finds how
each session ended and what proves it, what it cost, what went wrong and what resolved it. The
commands patterns, retro, fix, how, similar and lessons use the results.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.jobs_option import jobs_option
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings


@make_command(
    resumable=True,
    examples=(
        ("analyze", "everything that changed since the last time"),
        ("analyze 5b0c6a1e", "one session, even if it did not change"),
        ("analyze --json", "the counts, for a script"),
    ),
    json_shape='{"analyzed", "unchanged", "events", "errors", "signals", "outcomes": {OUTCOME:'
    ' NUMBER}}; the first two count sessions, "signals" are things that stand out in a session.',
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@jobs_option
@click.pass_obj
def command(settings: Settings, sessions: tuple[str, ...], jobs: int | None) -> None:
    from session_memory.cli.kit.analysis import analysis_summary, run_analysis

    with settings.memory() as memory:
        done = run_analysis(settings, memory, sessions, jobs)
    if settings.as_json:
        print_json(done.to_dict())
        return
    if not settings.quiet:
        click.echo(analysis_summary(done))
    remark(settings, "Next: session-memory patterns, session-memory retro")
