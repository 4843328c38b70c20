"""Print the last messages of a session, and wait for more.

Shows messages that any process adds to the session. With --after, every message with a higher
number is shown, rewound ones and notes of compactions too. Ends when the session is closed, with
Ctrl-C, or when nobody reads its output any more.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.live_session import opened_session, session_argument
from session_memory.cli.kit.output import print_lines, terminal_width
from session_memory.cli.kit.reader import reader_is_gone
from session_memory.cli.kit.settings import Settings
from session_memory.render.json_text import to_json

if TYPE_CHECKING:
    from session_memory.live.rows import MessageRow
    from session_memory.live.store import SessionStore

# While no message comes, check this often whether anybody still reads the output.
LOOK_UP_S = 1.0


@make_command(
    examples=(
        ("live tail sess_4f1c", "the last ten messages, then new ones"),
        ("live tail sess_4f1c --lines 50 --no-follow", "the last fifty, without waiting"),
        ("live tail sess_4f1c --after 120 --json", "continue after message 120"),
    ),
    json_shape='One message per line: {"session_id", "seq", "role", "name", "content",'
    ' "tool_calls", "tool_call_id", "round_index", "state", "meta", "created_at",'
    ' "stands_after"}; "state" is'
    ' always "active": live show --which all says which messages were rewound or compacted.',
)
@session_argument
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(min=0),
    default=10,
    metavar="N",
    show_default=True,
    help="How many earlier messages to print first; not used with --after.",
)
@click.option(
    "--after",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="Begin after the message with this number.",
)
@click.option("--no-follow", is_flag=True, help="Do not wait for more.")
@click.pass_obj
def command(
    settings: Settings, session: str, lines: int, after: int | None, no_follow: bool
) -> None:
    with opened_session(settings, session) as (live, session_id):
        last = after
        if last is None:
            # The last number is read before the tail. So a message that is added in between is not
            # lost: it is in the tail, or it is followed below. Rewound messages have numbers after
            # the tail, and they are no new ones.
            state = live.get_state(session_id)
            tail = live.load_tail(session_id, lines) if lines else []
            for message in tail:
                _print(settings, message)
            last = max((state.next_seq - 1 if state else 0, *(message.seq for message in tail)))
        try:
            for message in _following(live, session_id, last, no_follow):
                _print(settings, message)
        except KeyboardInterrupt:
            # Ctrl-C is the normal way to end.
            return


def _following(
    live: "SessionStore", session_id: str, after: int, no_follow: bool
) -> "Iterator[MessageRow]":
    if no_follow:
        yield from live.messages_after(session_id, after)
        return
    while not reader_is_gone():
        for message in live.events(session_id, after=after, quiet_for=LOOK_UP_S):
            after = message.seq
            yield message
        if live.get_session(session_id) is None:
            return


def _print(settings: Settings, message: "MessageRow") -> None:
    from session_memory.cli.lines.live import message_lines
    from session_memory.views.live import jsonable

    if settings.as_json:
        click.echo(to_json(jsonable(message)))
    else:
        print_lines(message_lines(message, terminal_width()))
