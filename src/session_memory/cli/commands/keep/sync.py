"""Collect new sessions from the agents' logs.

Reads only what was added since the last run, and never changes the logs. It can be stopped at any
time; the next run continues where it stopped. If retention is turned on, it moves old sessions to
the archive once a day. The exit status is 3 if a log could not be read, or has new lines that could
not be read.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.jobs_option import jobs_option
from session_memory.cli.kit.log_options import log_options
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.core.errors import AnalysisFailed
    from session_memory.memory import Memory
    from session_memory.memory.results import AnalysisResult, SyncResult
    from session_memory.memory.retention import DueRetention
    from session_memory.memory.weekly_retro import WeeklyRetro
    from session_memory.store import Store


@make_command(
    resumable=True,
    examples=(
        ("sync", "from every agent on this machine"),
        ("sync --dry-run", "only say what would be read"),
        ("sync --root /backup/laptop/.claude", "from a copy of another machine's logs"),
        ("sync --redact", "mask passwords, keys and tokens before storing"),
        ("sync --analyze", "and analyze new and changed sessions"),
        ("sync --quiet --analyze --retro ~/notes", "for a timer or a hook: everything, silently"),
    ),
    json_shape='{"discovered", "ingested", "unchanged", "failed", "problems", "sessions",'
    ' "events", "bytes", "seconds"}; the first four count sources (files and the like), and the'
    ' first is the sum of the next three, except with --dry-run, where "ingested", "sessions",'
    ' "events" and "bytes" are 0; "problems" counts all that are in the store. --analyze adds'
    ' "analysis", which is what analyze --json prints, --retro "retro": the path of the file, or'
    " null if there was nothing to write."
    ' "adapters": {NAME: REASON} is there if some are broken, "demo_removed" if an older version'
    ' had put demo sessions into the store, and "demo": {"store", …} if --demo-if-empty collected'
    " the demo.",
)
@log_options
@click.option("--dry-run", is_flag=True, help="Only say what would be read.")
@click.option("--redact", is_flag=True, help="Mask secrets before storing.")
@click.option(
    "--analyze",
    is_flag=True,
    help="Then analyze all sessions that are new or changed since their last analysis.",
)
@click.option(
    "--retro",
    "retros",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Then write the retrospective of last week to this directory, once; includes --analyze.",
)
@jobs_option
@click.option(
    "--demo-if-empty",
    is_flag=True,
    help="If the store is empty after the sync, collect invented sessions into a separate store.",
)
@click.pass_context
def command(
    ctx: click.Context,
    roots: tuple[str, ...],
    flavors: tuple[str, ...],
    dry_run: bool,
    redact: bool,
    analyze: bool,
    retros: Path | None,
    jobs: int | None,
    demo_if_empty: bool,
) -> None:
    from session_memory.cli.kit.adapter_remarks import remark_adapters
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.retention import at_risk_lines, due_retention_lines

    settings: Settings = ctx.obj
    analyze = (analyze or retros is not None) and not dry_run
    with _memory(settings, dry_run) as memory:
        if not dry_run:
            make_index_whole(settings, memory.store)
        with progress(settings, "Reading") as bar:
            result = memory.sync(
                roots,
                flavors=flavors,
                redact=redact,
                dry_run=dry_run,
                # Only analyzed sessions can be evicted, so the analysis comes first.
                retain=not analyze,
                jobs=jobs,
                progress=bar,
            )
        if result.demo_removed:
            remark(settings, _removed(result.demo_removed))
        if demo_if_empty and not dry_run and memory.store.sources.is_empty():
            _sync_demo(settings, result, analyze=analyze)
            return
        more = _analyze(settings, memory, retros) if analyze else _Extras()
        _show(settings, memory.store, result, more, dry_run=dry_run)
        remark_adapters(settings, result.broken_adapters)
        if not dry_run:
            retention = more.retention or result.retention
            lines = due_retention_lines(retention) if retention else []
            if result.failed:
                lines += at_risk_lines(memory.store, memory.config)
            for line in lines:
                remark(settings, line)
    if more.failure is not None:
        raise more.failure
    if result.failed or result.new_problems:
        ctx.exit(PROBLEMS)


class _Extras(NamedTuple):
    """What was done after the sync because --analyze or --retro asked for it."""

    analysis: "AnalysisResult | None" = None
    retention: "DueRetention | None" = None
    retro: "WeeklyRetro | None" = None
    wants_retro: bool = False
    failure: "AnalysisFailed | None" = None

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.analysis is not None:
            values["analysis"] = self.analysis.to_dict()
        if self.wants_retro:
            values["retro"] = None if self.retro is None else str(self.retro.path)
        return values


def _analyze(settings: Settings, memory: "Memory", retros: Path | None) -> _Extras:
    """Analyze new and changed sessions, run retention if it is due, write the retrospective."""
    from session_memory.cli.kit.analysis import run_analysis
    from session_memory.core.errors import AnalysisFailed
    from session_memory.memory.retention import run_due_retention
    from session_memory.memory.weekly_retro import write_weekly_retro

    analysis, failure = None, None
    try:
        analysis = run_analysis(settings, memory)
    except AnalysisFailed as error:
        failure = error
    retention = run_due_retention(memory.store, memory.config)
    retro = None if retros is None else write_weekly_retro(memory, retros)
    return _Extras(analysis, retention, retro, retros is not None, failure)


def _memory(settings: Settings, dry_run: bool) -> "Memory":
    from session_memory.core.errors import StoreNotFound
    from session_memory.memory import Memory

    try:
        return settings.memory(create=not dry_run)
    except StoreNotFound:
        if not dry_run:
            raise
        # A dry run must not leave a store behind.
        return Memory(":memory:", settings.config)


def _removed(sessions: int) -> str:
    from session_memory.views.figures import plural

    count = plural(sessions, "demo session")
    return f"{count} removed: invented sessions have a store of their own (session-memory demo)."


def _sync_demo(settings: Settings, result: "SyncResult", *, analyze: bool) -> None:
    """Collect the demo into its own store, because the user's store has nothing yet."""
    from session_memory.cli.kit.analysis import analysis_summary, run_analysis
    from session_memory.cli.lines.sync_summary import sync_summary
    from session_memory.memory import Memory
    from session_memory.memory.demo_store import demo_place

    place = demo_place(settings.where())
    with Memory(place, settings.config) as memory:
        collected = memory.sync_demo()
        analysis = run_analysis(settings, memory) if analyze else None
        click.secho(demo_notice(), fg="yellow", err=settings.as_json)
        if settings.as_json:
            more = {} if analysis is None else {"analysis": analysis.to_dict()}
            demo = {"store": str(place), **collected.to_dict(), **more}
            print_json({**result.to_dict(), "demo": demo})
        elif not settings.quiet:
            click.echo(safe(sync_summary(collected, memory.store)))
            if analysis is not None:
                click.echo(analysis_summary(analysis))
            click.echo(callable_text("Next: session-memory demo"))


def _show(
    settings: Settings,
    store: "Store",
    result: "SyncResult",
    more: "_Extras",
    *,
    dry_run: bool,
) -> None:
    from session_memory.cli.lines.sync_summary import looked_at, sync_summary

    if settings.as_json:
        print_json({**result.to_dict(), **more.to_dict()})
        return
    if settings.quiet:
        if dry_run:
            click.echo(sync_summary(result, store, dry_run=True))
        return
    if not result.discovered:
        click.echo("No agent logs found. Looked in:")
        for place in looked_at(result):
            click.echo(f"  {safe(place)}")
        click.echo(callable_text("Try it with invented sessions: session-memory demo"))
        return
    click.echo(sync_summary(result, store, dry_run=dry_run))
    if more.analysis is not None:
        from session_memory.cli.kit.analysis import analysis_summary

        click.echo(analysis_summary(more.analysis))
    if more.retro is not None:
        click.echo(safe(f"Wrote {short_path(more.retro.path)}."))
    elif more.wants_retro:
        words = "it was written before, or no session ended last week"
        remark(settings, f"No retrospective was written: {words}.")
    click.echo(callable_text(_next(result, dry_run)))


def _next(result: "SyncResult", dry_run: bool) -> str:
    """Return the end of the answer: ``Next:`` with a command that can be run as it is."""
    if dry_run and result.discovered > result.unchanged:
        return "Next: session-memory sync"
    if result.failed or result.new_problems:
        problems = "What could not be read: session-memory problems"
        return f"{problems}\nNext: session-memory sessions"
    return "Next: session-memory sessions"


def demo_notice() -> str:
    return "DEMO: these sessions are invented. None of your own logs was read."
