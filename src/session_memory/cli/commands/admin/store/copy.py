"""Copy a store into an empty one, and compare the two.

FROM and TO are paths or postgresql:// addresses. Everything is copied: logs of all machines with
their cursors, sessions, live sessions, events, usage, problems. Then the fingerprints of both
stores are compared. A target that is not empty is refused. A new file appears when the copy is
complete, and a target on a server cannot be opened before.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

TEAM = "postgresql://me@db.example/sessions"


@make_command(
    examples=(
        (f"store copy ~/.session-memory/memory.db {TEAM}", "from a file to a server"),
        (f"store copy {TEAM} home.db", "and back"),
    ),
    json_shape='{"from", "to", "sessions", "sources", "rows", "bytes", "fingerprint", "same"}:'
    " the places without passwords, the bytes of logs, and whether both fingerprints are equal.",
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.pass_context
def command(ctx: click.Context, source: str, target: str) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.retention import remark_archive
    from session_memory.store.address import expanded, shown
    from session_memory.store.copying import copy_everything, refuse_full
    from session_memory.store.store import copy_target, open_store

    settings: Settings = ctx.obj
    with (
        open_store(source, create=False) as old,
        copy_target(target) as new,
        progress(settings, "Copying") as bar,
    ):
        refuse_full(new)
        sources = old.sources.every()
        raw = sum(row.kept for row in sources)
        bar.begin(len(sources), raw)
        # Others may write to the store meanwhile; the snapshot is of one moment.
        with old.db.snapshot():
            rows = copy_everything(old, new, bar.advance)
            before = old.fingerprint()
        bar.end()
        remark_archive(settings, old, settings.configuration())
        after, sessions, place = new.fingerprint(), new.sessions.count(), shown(expanded(target))
        figures = {
            "from": old.db.name,
            "to": place,
            "sessions": sessions,
            "sources": len(sources),
            "rows": rows,
            "bytes": raw,
            "fingerprint": after,
            "same": before == after,
        }
    if settings.as_json:
        print_json(figures)
    elif not settings.quiet:
        what = f"{plural(sessions, 'session')} of {plural(len(sources), 'source')}"
        click.echo(f"Copied {what} ({size(raw)} of logs) to {safe(short_path(place))}.")
        click.echo(f"Fingerprint of both: {after}" if before == after else _differs(before, after))
    if before != after:
        ctx.exit(FAILED)


def _differs(before: str, after: str) -> str:
    differ = f"The fingerprints differ: {before} and {after}. Do not use the copy."
    return f"{differ} Find out why: session-memory store verify --store …"
