"""Check that the archive is complete and undamaged.

Reads every file back, compares it with its hashes, and checks that every evicted session (one whose
log was moved to the archive) is there. Sessions that were evicted with --without-archive are not
looked for. The exit status is 1 if something is missing or damaged.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("archive verify", "read all files back"),
        ("archive verify --json", "for a script"),
    ),
    json_shape='{"ok", "files", "evicted", "findings": [TEXT, …]}; "evicted" is the number of logs'
    " that must be in the archive.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    from session_memory.retain.archive_check import check_archive

    settings: Settings = ctx.obj
    config = settings.configuration()
    with settings.opened(config) as store:
        found = check_archive(store, config)
    if settings.as_json:
        print_json(
            {
                "ok": not found.findings,
                "files": found.files,
                "evicted": found.sources,
                "findings": found.findings,
            }
        )
    else:
        if not (found.files or found.sources):
            click.echo("The archive is empty: no session was evicted.")
            return
        verdict = "everything is as it was written" if not found.findings else "something is wrong"
        read = f"Read {plural(found.files, 'archive file')} back"
        click.echo(f"{read} for {plural(found.sources, 'evicted log')}: {verdict}.")
        for finding in found.findings:
            click.secho(f"  {safe(finding)}", fg="red")
    if found.findings:
        ctx.exit(FAILED)
