"""Fold older messages behind a summary.

The messages stay in the store, but the model is sent the summary instead of them. Instructions
(system messages) are not folded. A call is always folded together with its result.
"""

from typing import TextIO

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural

LONGEST_NOTE = 1_000_000


@make_command(
    examples=(
        ("live compact sess_4f1c", "a summary made without a model"),
        (
            "live compact sess_4f1c --keep 1 --note summary.md",
            "your own summary, keep one exchange",
        ),
        ("live compact sess_4f1c --note -", "summary from standard input"),
    ),
    json_shape='{"session_id", "members": [SEQ, …], "compact_seq", "note_seq"}; no members and'
    " null if there was nothing to fold.",
)
@session_argument
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=4,
    metavar="N",
    show_default=True,
    help="Leave the last N exchanges as they are.",
)
@click.option(
    "--note",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Take the summary from this file; - reads standard input. By default one is made without a"
    " model.",
)
@click.pass_obj
def command(settings: Settings, session: str, keep: int, note: TextIO | None) -> None:
    from session_memory.views.live import compact_live

    text = _read(note)
    with opened_session(settings, session) as (live, session_id):
        done = compact_live(live, session_id, keep=keep, note=text)
    if settings.as_json:
        print_json(done.to_dict())
    elif not done.members:
        remark(settings, "Nothing to fold: the session has only the exchanges to keep.")
    elif not settings.quiet:
        undo = f"undo with: session-memory live undo {session_id} --compaction"
        folded = f"Folded {plural(len(done.members), 'message')} behind message {done.note_seq}"
        click.echo(safe(f"{folded}; {undo}"))


def _read(note: TextIO | None) -> str | None:
    if note is None:
        return None
    try:
        text = note.read(LONGEST_NOTE + 1)
    except UnicodeDecodeError as error:
        raise click.UsageError("the note is not text in UTF-8") from error
    if len(text) > LONGEST_NOTE:
        raise click.UsageError(f"the note is longer than {LONGEST_NOTE:,} characters")
    if not text.strip():
        raise click.UsageError("the note is empty")
    return text
