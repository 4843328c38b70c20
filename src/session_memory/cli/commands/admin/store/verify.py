"""Check that nothing in the store is damaged.

Reads everything back and compares it with its hashes. Then derives a sample of sessions again from
the stored logs and compares the events. The exit status is 1 if something differs.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.core.errors import StoreDamaged
from session_memory.render.text import safe
from session_memory.views.figures import plural, size


@make_command(
    examples=(
        ("store verify", "check every byte"),
        ("store verify --sample 200", "derive 200 sessions again to compare"),
        ("store verify --json", "for a script; exit status 0: no damage"),
    ),
    json_shape='{"ok", "packs", "bytes", "sessions", "evicted", "findings": [TEXT, …],'
    ' "skipped": {FLAVOR: REASON, …}}',
)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="How many sessions to derive again.",
)
@click.pass_context
def command(ctx: click.Context, sample: int) -> None:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.agents import remark_skipped

    settings: Settings = ctx.obj
    try:
        with settings.memory() as memory, progress(settings, "Verifying") as bar:
            sources = memory.store.sources.every()
            bar.begin(len(sources), sum(row.kept for row in sources))
            found = memory.verify(sample, on_source=bar.advance)
    except StoreDamaged as error:
        # Its usual hint is to run this command.
        error.hint = StoreDamaged.way_on
        raise
    if settings.as_json:
        print_json(found.to_dict())
    else:
        read = f"Read {plural(found.packs, 'pack')} back ({size(found.bytes)})"
        verdict = "everything is as it was written" if not found.findings else "something is wrong"
        click.echo(f"{read}, derived {plural(found.sessions, 'session')} again: {verdict}.")
        if found.evicted:
            count = plural(found.evicted, "session")
            click.echo(f"{count} evicted. Check them with: session-memory archive verify")
        remark_skipped(settings, found.skipped)
        for finding in found.findings:
            click.secho(f"  {safe(finding)}", fg="red")
        if not all("; run: " in finding for finding in found.findings):
            remark(settings, StoreDamaged.way_on)
    if found.findings:
        ctx.exit(FAILED)
