"""Derive all events again from the stored logs.

Use it after an upgrade: a newer release may understand more of a log. The stored logs are not
changed, and the agents' own logs are not needed. A session keeps its old events until its new ones
are complete. If the rebuild is interrupted, run it again: it continues where it stopped. Evicted
sessions, whose logs are in the archive, stay as they are. If the adapter of an agent is missing or
fails, its sessions stay as they are, too, and the exit status is 3.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.store.sources import SourceRow


@make_command(
    resumable=True,
    examples=(
        ("store rebuild", "after an upgrade, when doctor says so"),
        ("store rebuild --json", "the counts, for a script"),
    ),
    json_shape='{"sources", "sessions", "events", "skipped": {FLAVOR: REASON, …}}; "sources" were'
    ' read again, "sessions" and "events" are all in the store now; sessions of a skipped agent'
    " stay as they were.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.agents import remark_skipped
    from session_memory.cli.lines.retention import remark_evicted
    from session_memory.core.time import now_ms
    from session_memory.derive.rebuilding import rebuild
    from session_memory.store.digests import Digests

    settings: Settings = ctx.obj
    config = settings.configuration()
    with settings.opened(config) as store, progress(settings, "Rebuilding") as bar:
        sources = store.sources.every()
        bar.begin(len(sources), sum(row.kept for row in sources))

        def on_source(row: "SourceRow") -> None:
            bar.advance(row.kept)

        done = rebuild(store, now_ms(), config.domain_of, on_source)
        bar.end()
        remark_evicted(settings, store)
        remark_skipped(settings, done.skipped)
        figures = {
            "sources": done.sources,
            "sessions": store.sessions.count(),
            "events": store.events.count(),
        }
        evicted = store.retention.count_evicted()
        waiting = Digests(store.db).count_waiting()
    if settings.as_json:
        print_json({**figures, "skipped": done.skipped})
    else:
        here = plural(figures["sessions"] - evicted, "session")
        made = f"{here} with {plural(figures['events'], 'event')}"
        click.echo(f"Derived {made} again from {plural(done.sources, 'source')}.")
        if waiting:
            remark(settings, "Next: session-memory analyze")
    if done.skipped:
        ctx.exit(PROBLEMS)
