"""Write the messages of a session as JSON lines.

Each line is one message: as content blocks, or with --shape chat as in the API of chat completions.
A file that exists is not overwritten.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument, which_option
from session_memory.cli.kit.output import print_json, print_lines
from session_memory.cli.kit.settings import Settings
from session_memory.render.json_text import to_json
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("live export sess_4f1c > messages.jsonl", "what the model is sent, as blocks"),
        ("live export sess_4f1c --shape chat", "in the flat shape of chat completions"),
        ("live export sess_4f1c --which all --output all.jsonl", "everything, to a new file"),
    ),
    json_shape='{"session_id", "messages": [MESSAGE, …]}; with --output {"session_id", "path",'
    ' "messages": N}.',
)
@session_argument
@click.option(
    "--shape",
    type=click.Choice(("blocks", "chat")),
    default="blocks",
    show_default=True,
    help="How to write calls and results.",
)
@which_option
@click.option("--output", "-o", metavar="FILE", help="A new file to write to.")
@click.pass_obj
def command(settings: Settings, session: str, shape: str, which: str, output: str | None) -> None:
    from session_memory.views.live import exported

    with opened_session(settings, session) as (live, session_id):
        messages = exported(live, session_id, which, shape)
    if output is None:
        if settings.as_json:
            print_json({"session_id": session_id, "messages": messages})
        else:
            print_lines(to_json(message) for message in messages)
        return
    target = Path(output).expanduser()
    _write(target, messages)
    if settings.as_json:
        written = {"session_id": session_id, "path": str(target), "messages": len(messages)}
        print_json(written)
    elif not settings.quiet:
        what = plural(len(messages), "message")
        click.echo(f"Exported {what} to {safe(short_path(target))}.")


def _write(target: Path, messages: Iterable[Any]) -> None:
    from session_memory.memory.exporting import write_new_file

    write_new_file(target, (f"{to_json(message)}\n" for message in messages))
