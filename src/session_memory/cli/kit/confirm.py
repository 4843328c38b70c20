"""Ask the user before something is written or deleted."""

import click

from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe


def confirm(settings: Settings, question: str, *, yes: bool) -> None:
    """Ask ``question``, unless ``yes`` is given. Any other answer than yes is a usage error.

    Callers ask before they change anything. After Ctrl-C the error is the same, "nothing was
    changed": after "interrupted", a user would look for half-done changes.
    """
    if yes:
        return
    if settings.as_json:
        raise click.UsageError("with --json, give --yes or --dry-run")
    try:
        agreed = click.confirm(safe(question))
    except click.Abort:
        agreed = False
        # Nobody ended the line of the question.
        click.echo()
    if not agreed:
        raise click.UsageError("nothing was changed; answer yes, or give --yes")
