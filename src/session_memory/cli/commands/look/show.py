"""Show one session: messages, calls and their output, subagents.

UID is the session's uid or native id, or the first four or more characters of it. A subagent is
named by its parent's id and its own, with a colon between. A subagent is shown below the call that
started it, and the cost of a turn below the turn. Branches that a rewind abandoned are marked.

On a terminal the answer goes through a pager: PAGER, or less. --depth chooses how much is shown;
--json always has every event.

Kinds: user_msg, assistant_msg, thinking, tool_call, tool_result, error, test_run, edit, retry,
human_intervention, decision, lifecycle, completion. An event can be of several kinds.
"""

from datetime import tzinfo

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.output import print_json, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import tz_option

LEVELS = ("user", "assistant", "tool", "full")
AROUND = 10


@make_command(
    examples=(
        ("show 5b0c6a1e", "a session, by the beginning of its id"),
        ("show 5b0c6a1e --depth user", "only what you wrote"),
        ("show 5b0c6a1e --depth full", "long outputs whole"),
        ("show 5b0c6a1e --kind user_msg --kind error", "only prompts and errors"),
        ("show 5b0c6a1e --around 171", "event 171, with ten events before and after it"),
        ("show 5b0c6a1e --full", "with every record as the agent wrote it"),
        ("show 5b0c6a1e --json --inherited", "for a script, with the events a fork copied"),
    ),
    json_shape='{"session": SESSION, "events": [EVENT, …], "usage": [USAGE, …], "children": [UID,'
    ' …], "amount": {"microdollars", "unpriced_tokens"}, "with_subagents": {…}}; --full adds'
    ' "payload" to each event, and "spilled" where the agent keeps a long output apart; inherited'
    ' events carry their owner\'s uid and seq, "inherited" and "seq_here".',
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option(
    "--depth",
    "level",
    type=click.Choice(LEVELS),
    default="tool",
    show_default=True,
    help="Only prompts; prompts and answers; also calls with shortened output; everything.",
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only events of this kind.")
@click.option(
    "--around",
    metavar="EVENT",
    help=f"Only this event, by its number or id, with {AROUND} before and after it.",
)
@click.option(
    "--from", "start", type=click.IntRange(min=0), metavar="SEQ", help="Start at this event."
)
@click.option(
    "--inherited", is_flag=True, help="Also show events that a fork copied from its parent."
)
@click.option("--full", is_flag=True, help="Also show each record as the agent wrote it.")
@click.option("--no-children", is_flag=True, help="Name subagents without showing their events.")
@tz_option
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@click.pass_obj
def command(
    settings: Settings,
    session: str,
    level: str,
    kinds: tuple[str, ...],
    around: str | None,
    start: int | None,
    inherited: bool,
    full: bool,
    no_children: bool,
    tz: tzinfo | None,
    no_pager: bool,
) -> None:
    if around is not None and start is not None:
        raise click.UsageError("give --around or --from, not both")
    from session_memory.views.event_lookup import find_event

    with settings.memory() as memory:
        store, shown = memory.store, memory.session(session)
        uid = shown.uid
        middle = None if around is None else find_event(store, uid, around)
        first = start if middle is None else max(middle - AROUND, 0)
        last = None if middle is None else middle + AROUND
        if settings.as_json:
            view = shown.view(kinds=kinds, inherited=inherited, full=full, first=first, last=last)
            print_json(view.to_dict())
            return
        from session_memory.cli.kit.pager import print_paged
        from session_memory.cli.lines.transcript import TranscriptLines
        from session_memory.views.short_names import SessionNames
        from session_memory.views.transcript import Transcript, TranscriptOptions

        reading = TranscriptOptions(
            level=level,
            kinds=kinds,
            inherited=inherited,
            native=full,
            children=not no_children,
            first=first,
            last=last,
        )
        names = SessionNames(store, [uid, *store.sessions.children(uid)])
        transcript = Transcript(store, reading)
        lines = TranscriptLines(
            names,
            terminal_width(),
            unfolded=full or level == "full",
            asked=middle,
            tz=tz,
        )
        print_paged(settings, lines.of(transcript.items(uid)), paged=not no_pager)
    if kinds and not transcript.pieces:
        remark(settings, _nothing_of(kinds))
    elif first is not None:
        _partly(settings, names(uid), first, last, found=bool(transcript.pieces))


def _partly(settings: Settings, name: str, first: int, last: int | None, *, found: bool) -> None:
    span = f"from {first} on" if last is None else f"{first} to {last}"
    shown = f"Events {span}" if found else f"No event {span}"
    remark(settings, f"{shown}; all of them: session-memory show {name}")


def _nothing_of(kinds: tuple[str, ...]) -> str:
    """What to say when no event has these kinds; a kind we do not know may be misspelled."""
    from difflib import get_close_matches

    from session_memory.core.schema import KINDS

    unknown = [get_close_matches(kind, KINDS, n=1) for kind in kinds if kind not in KINDS]
    close = [kind for found in unknown for kind in found]
    hint = f" Did you mean {', '.join(close)}?" if close else ""
    if unknown and not close:
        hint = f" The kinds: {', '.join(sorted(KINDS))}."
    return f"No event is of kind {', '.join(kinds)}.{hint}"
