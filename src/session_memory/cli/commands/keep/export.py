"""Write sessions to a file: portable, Markdown, HTML or JSONL.

A portable FILE holds the raw, from which everything else follows, and does not depend on the
version of the store; without UID it takes all sessions. With --redact the secrets in it are
masked, and the logs can no longer be written back as they were.

A transcript is made to be read: Markdown and HTML of one session, JSONL of any number. Secrets
in it are masked. The HTML is one page that loads nothing and runs nothing.

Files are readable by you alone, and one that exists is not overwritten.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, short_path
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.views.transcript import TranscriptItem, TranscriptOptions

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
    from session_memory.views.lookup import find_session
    from session_memory.views.transcript import TranscriptOptions

    reading = TranscriptOptions(level=level, inherited=inherited, children=not no_children)
    with settings.opened() as store:
        uids = [find_session(store, word) for word in words]
        text = transcript_text(store, uids, kind, reading, redacted=not no_redact)
        if output is None:
            for part in text:
                click.echo(part, nl=False)
            return
        target = Path(output).expanduser()
        written = _written(target, text)
    if settings.as_json:
        told = {"path": str(target), "format": kind, "sessions": len(uids), "bytes": written}
        print_json(told)
    elif not settings.quiet:
        click.echo(f"Wrote {size(written)} of {kind} to {safe(short_path(target))}.")


def transcript_text(
    store: "Store", uids: list[str], kind: str, reading: "TranscriptOptions", *, redacted: bool
) -> Iterator[str]:
    """The file in pieces. Whatever it says has passed through `masked`."""
    from session_memory.render.html import html
    from session_memory.render.jsonl import jsonl
    from session_memory.render.markdown import markdown
    from session_memory.views.masking import masked
    from session_memory.views.transcript import Transcript, TranscriptOptions

    mask = _mask() if redacted else None

    def items(uid: str, how: TranscriptOptions) -> "Iterator[TranscriptItem]":
        return masked(Transcript(store, how).items(uid), mask)

    for uid in uids:
        if kind == "html":
            prompts = TranscriptOptions(level="user", inherited=reading.inherited, children=False)
            yield from html(items(uid, reading), items(uid, prompts))
        elif kind == "markdown":
            yield from markdown(items(uid, reading))
        else:
            yield from jsonl(items(uid, reading))


def _mask() -> Callable[[str], str]:
    from session_memory.redact import mask

    return mask


def _portable(
    settings: Settings, file: str, sessions: tuple[str, ...], *, is_named: bool, redacted: bool
) -> None:
    from session_memory.cli.lines.retention import remark_evicted
    from session_memory.retain.portable_file import export_store
    from session_memory.views.lookup import find_session, names_session

    target = Path(file).expanduser()
    with settings.opened() as store:
        if not is_named and "/" not in file and names_session(store, file):
            # Taken for a file, a forgotten name would put every session into it.
            meant = f"session-memory export NAME.smx {file}"
            raise click.UsageError(f"{file} is a session: give the FILE to write first: {meant}")
        uids = [find_session(store, one) for one in sessions] or None
        done = export_store(store, target, uids, redacted=redacted)
        if uids is None:
            remark_evicted(settings, store)
    if settings.as_json:
        print_json({"path": str(target), "sources": done.sources, "bytes": done.bytes})
    elif not settings.quiet:
        what = f"{plural(done.sources, 'source')} ({size(done.bytes)})"
        click.echo(f"Exported {what} to {safe(short_path(target))}.")


def _written(target: Path, text: Iterator[str]) -> int:
    """Write a file that must not exist yet; it appears whole or not at all."""
    import os

    from session_memory.core.errors import UnsafePath

    if target.exists() or target.is_symlink():
        raise UnsafePath(f"{target} exists already", "Choose a name that does not exist yet.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    written = 0
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            for part in text:
                written += file.write(part.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        # Linking instead of renaming refuses to replace a file that came into being meanwhile.
        os.link(partial, target)
    except FileExistsError:
        hint = "Choose a name that does not exist yet."
        raise UnsafePath(f"{target} exists already", hint) from None
    finally:
        partial.unlink(missing_ok=True)
    return written
