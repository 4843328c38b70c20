"""Write sessions to a file: portable, Markdown, HTML or JSONL.

A portable file is for another store: session-memory import of this or a later version reads it. The
file has the logs of the sessions and their subagents as the agents wrote them, and the names that
you gave to sessions. Without UID, the file has all sessions except evicted ones (their logs are in
the archive; restore brings them back). With --redact, secrets are masked, and the logs can no
longer be written back as they were. A live session has no log: its rows are written, and after an
import it can be continued as a live session.

A transcript is for reading: a Markdown or HTML file has one session with its subagents, a JSONL
file has any number of sessions. Without -o, the transcript is printed. Secrets are masked unless
you give --no-redact. The HTML page loads nothing and runs nothing.

Only you can read the file. A file that exists is not overwritten. If FILE is -, the export goes to
standard output. If a log is damaged in the store, a portable file leaves it out, and the damaged
log is named. If anything was left out, the exit status is 3.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.core.errors import StoreDamaged
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.memory import Memory
    from session_memory.memory.results import ExportResult
    from session_memory.retain.rescue import Damage

STDOUT = "-"
FORMATS = ("portable", "markdown", "html", "jsonl")
LEVELS = ("user", "assistant", "tool", "full")
WHOLE = "a portable file has whole logs"
TRANSCRIPT_OPTIONS = {
    "level": "--depth",
    "inherited": "--inherited",
    "everything": "--all",
    "no_children": "--no-children",
}


@make_command(
    examples=(
        ("export everything.smx", "all sessions, for another machine"),
        ("export two.smx 5b0c6a1e 91d4f0a7", "two sessions"),
        ("import everything.smx", "and there, import it"),
        ("export --format html 5b0c6a1e -o session.html", "a page to read or to send"),
        ("export --format markdown 5b0c6a1e --depth assistant", "prompts and answers, for a model"),
        ("export --format jsonl 5b0c6a1e 91d4f0a7", "for a script, one JSON object per line"),
        ("export -o - > everything.smx", "to standard output"),
    ),
    json_shape='{"path", "sources", "bytes"}, where "bytes" are those of the logs, "damaged" if'
    ' something is damaged, "evicted" with the number of evicted sessions that were left out, if'
    ' any; of a transcript {"path", "format", "sessions", "bytes"}, where "bytes" are those of the'
    " file",
)
@click.argument("words", nargs=-1, metavar="[FILE] [UID]...", shell_complete=complete_uid)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="portable",
    show_default=True,
    help="A file for another store, or a transcript to read.",
)
@click.option("--output", "-o", metavar="FILE", help="The file to write; - is standard output.")
@click.option(
    "--depth",
    "level",
    type=click.Choice(LEVELS),
    default="full",
    show_default=True,
    help="How much a transcript has; only for transcripts. show --help explains the values.",
)
@click.option(
    "--inherited",
    is_flag=True,
    help="Include in a transcript the events that a fork copied from its parent.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Include in a transcript the agent's bookkeeping, such as snapshots and changes of modes."
    " A JSONL file always includes it.",
)
@click.option("--no-children", is_flag=True, help="Leave subagents out of a transcript.")
@click.option("--redact", is_flag=True, help="Mask secrets in a portable file.")
@click.option("--no-redact", is_flag=True, help="Do not mask secrets in a transcript.")
@click.pass_obj
def command(
    settings: Settings,
    words: tuple[str, ...],
    kind: str,
    output: str | None,
    level: str,
    inherited: bool,
    everything: bool,
    no_children: bool,
    redact: bool,
    no_redact: bool,
) -> None:
    if kind == "portable":
        _refuse_options_of_transcripts()
        if not words and output is None:
            raise click.UsageError("give the file to write, as in: session-memory export all.smx")
        file, sessions = (output, words) if output else (words[0], words[1:])
        if file == STDOUT:
            _portable_to_stdout(settings, sessions, redacted=redact)
        else:
            _portable(settings, file, sessions, is_named=output is not None, redacted=redact)
        return
    if output == STDOUT:
        output = None
    if not words or (kind != "jsonl" and len(words) > 1):
        many = "at least one session" if kind == "jsonl" else "one session"
        raise click.UsageError(f"give {many} to write as {kind}")
    if settings.as_json and output is None:
        raise click.UsageError(f"with --json, name the file to write the {kind} to: -o FILE")
    how: dict[str, Any] = {
        "format": kind,
        "level": level,
        "inherited": inherited,
        "everything": everything,
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


def _refuse_options_of_transcripts() -> None:
    """Refuse options that change nothing in a portable file: it has whole logs."""
    ctx = click.get_current_context()
    for name, option in TRANSCRIPT_OPTIONS.items():
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            why = "without UID, a portable file has all sessions" if name == "everything" else WHOLE
            raise click.UsageError(f"{option} is only for transcripts (--format): {why}")


def _portable(
    settings: Settings, file: str, sessions: tuple[str, ...], *, is_named: bool, redacted: bool
) -> None:
    from session_memory.cli.lines.damage import as_json, print_damage
    from session_memory.cli.lines.retention import end_incomplete

    try:
        done, damage = _exported_from(settings, file, sessions, is_named, redacted)
    except StoreDamaged as error:
        if not error.in_database:
            raise
        done, damage = _rescued(settings, Path(file), sessions, redacted)
    if settings.as_json:
        print_json(done.to_dict() | as_json(damage))
    elif not settings.quiet:
        what = f"{plural(done.sources or 0, 'source')} ({size(done.bytes)} of logs)"
        click.echo(f"Exported {what} to {safe(short_path(done.path))}.")
    if damage:
        if not settings.as_json:
            print_damage(settings, damage)
        click.get_current_context().exit(PROBLEMS)
    end_incomplete(settings, done.evicted)


def _exported_from(
    settings: Settings, file: str, sessions: tuple[str, ...], is_named: bool, redacted: bool
) -> "tuple[ExportResult, Damage]":
    from session_memory.retain.rescue import Damage
    from session_memory.views.lookup import names_session

    with settings.memory() as memory:
        if not is_named and "/" not in file and names_session(memory.store, file):
            # The user has probably left out FILE. Without this error, all sessions would be written
            # to a file that has the name of this session.
            correct = f"session-memory export NAME.smx {file}"
            raise click.UsageError(f"{file} is a session: give the FILE to write first: {correct}")
        done = _exported(memory, Path(file), sessions, redacted=redacted)
    return done, Damage(logs=list(done.damaged))


def _rescued(
    settings: Settings, file: Path, sessions: tuple[str, ...], redacted: bool
) -> "tuple[ExportResult, Damage]":
    """Export what can still be read from a store whose database file is damaged."""
    from session_memory.memory.exporting import export_portable
    from session_memory.retain.rescue import Damage
    from session_memory.store.salvage import salvaged
    from session_memory.views.lookup import find_session

    target = file.expanduser().absolute()
    with salvaged(settings.where(), beside=target.parent) as (store, lost):
        uids = [find_session(store, one) for one in sessions] or None
        done = export_portable(store, target, uids, redacted=redacted)
    return done, Damage(logs=list(done.damaged), rows=lost)


def _portable_to_stdout(settings: Settings, sessions: tuple[str, ...], *, redacted: bool) -> None:
    """Write a temporary file first, so that nothing is printed if the export fails."""
    import sys
    from tempfile import TemporaryDirectory

    from session_memory.cli.lines.retention import end_incomplete

    if settings.as_json:
        raise click.UsageError("with --json, name the file to write")
    if sys.stdout.isatty():
        raise click.UsageError("a portable file is not text: send it to a file or a program")
    with TemporaryDirectory(prefix="session-memory-export-") as directory:
        file = Path(directory) / "export.smx"
        with settings.memory() as memory:
            done = _exported(memory, file, sessions, redacted=redacted)
        with file.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
    if done.damaged:
        from session_memory.cli.lines.damage import print_damage
        from session_memory.retain.rescue import Damage

        print_damage(settings, Damage(logs=list(done.damaged)))
        click.get_current_context().exit(PROBLEMS)
    end_incomplete(settings, done.evicted)


def _exported(
    memory: "Memory", file: Path, sessions: tuple[str, ...], *, redacted: bool
) -> "ExportResult":
    return memory.export(file, sessions or None, redact=redacted)
