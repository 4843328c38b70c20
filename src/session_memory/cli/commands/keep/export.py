"""Write sessions to a file: portable, Markdown, HTML or JSONL.

A portable FILE holds the raw, from which everything else follows, and does not depend on the
version of the store; without UID it takes all sessions. With --redact the secrets in it are
masked, and the logs can no longer be written back as they were.

A transcript is made to be read: Markdown and HTML of one session, JSONL of any number. Secrets
in it are masked. The HTML is one page that loads nothing and runs nothing.

Files are readable by you alone, and one that exists is not overwritten.
"""

from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, short_path
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

FORMATS = ("portable", "markdown", "html", "jsonl")
LEVELS = ("user", "assistant", "tool", "full")


@make_command(
    examples=(
        ("export everything.smx", "everything, to take to another machine"),
        ("export two.smx 5b0c6a1e 91d4f0a7", "two sessions"),
        ("import everything.smx", "and there, take it in"),
        ("export --format html 5b0c6a1e -o session.html", "a page to read or to hand on"),
        ("export --format markdown 5b0c6a1e --depth assistant", "what was said, for a model"),
        ("export --format jsonl 5b0c6a1e 91d4f0a7", "for a script, one object a line"),
    ),
    json_shape='{"path", "sources", "bytes"}; of a transcript {"path", "format", "sessions",'
    ' "bytes"}',
)
@click.argument("words", nargs=-1, metavar="[FILE] [UID]...", shell_complete=complete_uid)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="portable",
    show_default=True,
    help="A file for another store, or a transcript.",
)
@click.option("--output", "-o", metavar="FILE", help="Where to; a transcript else to stdout.")
@click.option(
    "--depth", "level", type=click.Choice(LEVELS), default="full", help="How much of a transcript."
)
@click.option("--inherited", is_flag=True, help="With the events it holds of other sessions.")
@click.option("--no-children", is_flag=True, help="Without what its subagents did.")
@click.option("--redact", is_flag=True, help="Mask secrets in a portable file as well.")
@click.option("--no-redact", is_flag=True, help="Leave secrets in the transcript as they are.")
@click.pass_obj
def command(
    settings: Settings,
    words: tuple[str, ...],
    kind: str,
    output: str | None,
    level: str,
    inherited: bool,
    no_children: bool,
    redact: bool,
    no_redact: bool,
) -> None:
    if kind == "portable":
        if not words and output is None:
            raise click.UsageError("give the FILE to write")
        file, sessions = (output, words) if output else (words[0], words[1:])
        _portable(settings, file, sessions, is_named=output is not None, redacted=redact)
        return
    if not words or (kind != "jsonl" and len(words) > 1):
        many = "at least one session" if kind == "jsonl" else "one session"
        raise click.UsageError(f"give {many} to write as {kind}")
    if settings.as_json and output is None:
        raise click.UsageError(f"with --json, name the file to write the {kind} to: -o FILE")
    how: dict[str, Any] = {
        "format": kind,
        "level": level,
        "inherited": inherited,
        "children": not no_children,
        "redact": not no_redact,
    }
    with settings.memory() as memory:
        if output is None:
            for part in memory.transcripts(words, **how):
                click.echo(part, nl=False)
            return
        done = memory.export(output, words, **how)
    if settings.as_json:
        print_json(done.to_dict())
    elif not settings.quiet:
        click.echo(f"Wrote {size(done.bytes)} of {kind} to {safe(short_path(done.path))}.")


def _portable(
    settings: Settings, file: str, sessions: tuple[str, ...], *, is_named: bool, redacted: bool
) -> None:
    from session_memory.cli.lines.retention import remark_evicted
    from session_memory.views.lookup import names_session

    with settings.memory() as memory:
        if not is_named and "/" not in file and names_session(memory.store, file):
            # Taken for a file, a forgotten name would put every session into it.
            meant = f"session-memory export NAME.smx {file}"
            raise click.UsageError(f"{file} is a session: give the FILE to write first: {meant}")
        done = memory.export(file, sessions, redact=redacted)
        if not sessions:
            remark_evicted(settings, memory.store)
    if settings.as_json:
        print_json(done.to_dict())
    elif not settings.quiet:
        what = f"{plural(done.sources or 0, 'source')} ({size(done.bytes)})"
        click.echo(f"Exported {what} to {safe(short_path(done.path))}.")
