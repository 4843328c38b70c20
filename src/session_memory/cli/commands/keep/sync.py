"""Collect what is new in the agents' logs.

Reads only what was added since the last run and never touches the logs themselves. It can be
stopped at any moment; the next run goes on from there.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.collect.discover import Root
    from session_memory.collect.sync_report import SyncOutcome
    from session_memory.config import Config
    from session_memory.learn.analyze import Analyzed
    from session_memory.store import Store

DEMO_HOST = "demo"


@make_command(
    resumable=True,
    examples=(
        ("sync", "collect from every agent found on this machine"),
        ("sync --dry-run", "only say what would be read"),
        ("sync --root /backup/laptop/.claude", "collect from a copy of another machine's logs"),
        ("sync --redact", "mask passwords, keys and tokens before anything is kept"),
        ("sync --analyze", "and work out what the sessions come down to"),
    ),
    json_shape='{"discovered", "ingested", "unchanged", "failed", "problems", "sessions",'
    ' "events", "bytes", "seconds"}; the first four count sources, and the first is the sum of'
    ' the next three. --analyze adds "analysis", which is what analyze --json prints.',
)
@click.option("--root", "roots", multiple=True, metavar="DIR", help="Look here only; repeatable.")
@click.option("--flavor", "flavors", multiple=True, metavar="NAME", help="Only this agent.")
@click.option("--dry-run", is_flag=True, help="Say what there is to read, and read nothing.")
@click.option("--redact", is_flag=True, help="Mask secrets before anything is kept.")
@click.option("--analyze", is_flag=True, help="Then analyze the sessions that changed.")
@click.option("--demo-if-empty", is_flag=True, help="Without any logs, collect invented ones.")
@click.pass_context
def command(
    ctx: click.Context,
    roots: tuple[str, ...],
    flavors: tuple[str, ...],
    dry_run: bool,
    redact: bool,
    analyze: bool,
    demo_if_empty: bool,
) -> None:
    from session_memory.cli.lines.retention import after_sync
    from session_memory.collect.discover import roots as places

    settings: Settings = ctx.obj
    config = settings.configuration()
    config.redact |= redact
    given = tuple(Path(root).expanduser() for root in roots)
    where = places(config, given, flavors)
    with _store(settings, config, dry_run) as store:
        outcome = run(settings, store, config, where, dry_run=dry_run)
        is_demo = demo_if_empty and not outcome.report.discovered and _has_no_logs(store)
        if is_demo and not dry_run:
            outcome = run_demo(settings, store)
        analysis = _analyzed(settings, store, config) if analyze and not dry_run else None
        _show(settings, store, outcome, analysis, dry_run=dry_run, is_demo=is_demo)
        if not (dry_run or is_demo):
            for line in after_sync(store, config, failed=bool(outcome.report.failed)):
                remark(settings, line)
    if not is_demo and (outcome.report.failed or outcome.new_problems):
        ctx.exit(PROBLEMS)


def _store(settings: Settings, config: "Config", dry_run: bool) -> "Store":
    from session_memory.core.errors import StoreNotFound
    from session_memory.store import open_store

    try:
        return open_store(settings.where(config), create=not dry_run)
    except StoreNotFound:
        if not dry_run:
            raise
        # A dry run must not leave a store behind.
        return open_store(":memory:")


def run(
    settings: Settings,
    store: "Store",
    config: "Config",
    where: "list[Root]",
    *,
    dry_run: bool = False,
    host: str | None = None,
) -> "SyncOutcome":
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.indexing import make_index_whole
    from session_memory.collect.sync import sync

    if not dry_run:
        make_index_whole(settings, store)
    with progress(settings, "Reading") as bar:
        return sync(store, config, where, progress=bar, dry_run=dry_run, host=host)


def run_demo(settings: Settings, store: "Store") -> "SyncOutcome":
    """Collect the bundled sessions, whatever the configuration leaves out, under their own host."""
    from session_memory.collect.discover import roots
    from session_memory.config import Config
    from session_memory.demo import demo_home

    config = Config()
    return run(settings, store, config, roots(config, (demo_home(),)), host=DEMO_HOST)


def _has_no_logs(store: "Store") -> bool:
    return all(row.host == DEMO_HOST for row in store.sources.every())


def _analyzed(settings: Settings, store: "Store", config: "Config") -> "Analyzed":
    from session_memory.cli.lines.analysis import run_analysis

    store.own_prices = lambda: config.prices
    return run_analysis(settings, store)


def _show(
    settings: Settings,
    store: "Store",
    outcome: "SyncOutcome",
    analysis: "Analyzed | None" = None,
    *,
    dry_run: bool,
    is_demo: bool,
) -> None:
    from session_memory.cli.lines.sync_summary import looked_at, sync_summary

    if is_demo:
        click.secho(demo_notice(), fg="yellow", err=settings.as_json)
    if settings.as_json:
        import msgspec

        more = {} if analysis is None else {"analysis": msgspec.to_builtins(analysis)}
        print_json({**msgspec.to_builtins(outcome.report), **more})
        return
    if settings.quiet:
        return
    if not outcome.report.discovered:
        click.echo("No agent logs found. Looked in:")
        for place in looked_at(outcome):
            click.echo(f"  {safe(place)}")
        click.echo(callable_text("Try it on invented sessions: session-memory demo"))
        return
    click.echo(sync_summary(outcome, store, dry_run=dry_run))
    if analysis is not None:
        from session_memory.cli.lines.analysis import analysis_summary

        click.echo(analysis_summary(analysis))
    click.echo(callable_text(_next(outcome, dry_run)))


def _next(outcome: "SyncOutcome", dry_run: bool) -> str:
    if dry_run:
        return "Next: session-memory sync"
    if outcome.report.failed or outcome.new_problems:
        return "Next: session-memory problems, session-memory sessions"
    return "Next: session-memory sessions"


def demo_notice() -> str:
    whose = "these are invented sessions that come with Session Memory"
    return f"DEMO: {whose}. Nothing of yours was read."
