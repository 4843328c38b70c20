"""Show one session: messages, calls and their output, subagents.

UID is the session's uid or native id (the id that its agent gave it), or the first four or more
characters of either. The id of a subagent may be its parent's id and its own with a colon between.
A title, or its beginning, names a session as well.

A subagent is shown below the call that started it, or at the end if the log does not name the call.
The cost of a turn is shown below the turn. Branches that a rewind abandoned are marked.

The agent's bookkeeping is left out: snapshots of files, changes of modes, queue operations,
instructions for the model. Slash commands are shown as they were typed. --all shows everything as
it was logged.

On a terminal the answer is shown in a pager: the program in the variable PAGER, or less. --depth
and --all choose how much is shown. --json ignores both: it has every event of the session,
bookkeeping too, but only a summary of each event unless you give --full, and only the uids of
subagents.

Kinds for --kind: user_msg, assistant_msg, thinking, tool_call, tool_result, error, test_run, edit,
retry, human_intervention, decision, lifecycle, completion. An event can be of several kinds.
"""

from datetime import tzinfo
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page
from session_memory.cli.kit.when import tz_option

if TYPE_CHECKING:
    from session_memory.store import Store
    from session_memory.views.transcript_items import TranscriptOptions

LEVELS = ("user", "assistant", "tool", "full")
AROUND = 10


@make_command(
    examples=(
        ("show 5b0c6a1e", "a session, by the beginning of its id"),
        ("show 5b0c6a1e --depth user", "only what you wrote and decided"),
        ("show 5b0c6a1e --depth full", "long outputs whole"),
        ("show 5b0c6a1e --kind user_msg --kind error", "only prompts and errors"),
        ("show 5b0c6a1e --around 171", "event 171, with ten events before and after it"),
        ("show 5b0c6a1e --full", "with every record as the agent wrote it"),
        ("show 5b0c6a1e --json --inherited", "for a script, with the events a fork copied"),
    ),
    json_shape='{"session": SESSION, "events": [EVENT, …], "usage": [USAGE, …], "children": [UID,'
    ' …], "amount": {"microdollars", "unpriced_tokens"}, "with_subagents": {…}}; --full adds'
    ' "payload" to each event, and "spilled" if a long output is in a separate file; inherited'
    ' events carry their owner\'s uid and seq, "inherited" and "seq_here". An evicted session is'
    ' read from the archive; if that fails, "missing" is {"kind", "message", "hint"}.',
)
@click.argument("session", metavar="UID", shell_complete=complete_uid)
@click.option(
    "--depth",
    "level",
    type=click.Choice(LEVELS),
    default="tool",
    show_default=True,
    help="user: what a person wrote and decided. assistant: also answers, and errors of the model."
    " tool: also thinking and calls, with shortened output. full: whole output.",
)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Only events of this kind; repeatable."
)
@click.option(
    "--around",
    metavar="EVENT",
    help=f"Only this event, by its number or id, with {AROUND} events before and after it.",
)
@click.option(
    "--from",
    "start",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="Start at the event with this number.",
)
@click.option(
    "--inherited", is_flag=True, help="Also show events that a fork copied from its parent."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also show the agent's bookkeeping, such as changes of modes.",
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
    everything: bool,
    full: bool,
    no_children: bool,
    tz: tzinfo | None,
    no_pager: bool,
) -> None:
    if around is not None and start is not None:
        raise click.UsageError("give --around or --from, not both")
    from session_memory.views.event_lookup import find_event
    from session_memory.views.known_names import check_kinds
    from session_memory.views.transcript_items import TranscriptOptions

    with settings.memory() as memory:
        check_kinds(memory.store, *kinds)
        shown = memory.session(session)
        middle = None if around is None else find_event(memory.store, shown.uid, around)
        first = start if middle is None else max(middle - AROUND, 0)
        last = None if middle is None else middle + AROUND
        if settings.as_json:
            view = shown.view(kinds=kinds, inherited=inherited, full=full, first=first, last=last)
            print_json(view.to_dict())
            if view.missing is not None:
                click.get_current_context().exit(PROBLEMS)
            return
        options = TranscriptOptions(
            level=level,
            kinds=kinds,
            inherited=inherited,
            native=full,
            children=not no_children,
            first=first,
            last=last,
            everything=everything,
            kept=middle,
        )
        remark_page(settings, memory.store, shown.uid)
        _print_transcript(settings, memory.store, shown.uid, options, tz, paged=not no_pager)


def _print_transcript(
    settings: Settings,
    store: "Store",
    uid: str,
    options: "TranscriptOptions",
    tz: tzinfo | None,
    *,
    paged: bool,
) -> None:
    from session_memory.cli.kit.pager import print_paged
    from session_memory.cli.lines.transcript import TranscriptLines
    from session_memory.views.figures import plural
    from session_memory.views.short_names import SessionNames
    from session_memory.views.transcript import Transcript

    names = SessionNames(store, [uid, *store.sessions.children(uid)])
    transcript = Transcript(store, options)
    unfolded = options.native or options.level == "full"
    lines = TranscriptLines(names, terminal_width(), unfolded=unfolded, asked=options.kept, tz=tz)
    print_paged(settings, lines.of(transcript.items(uid)), paged=paged)
    if options.kinds and not transcript.events:
        remark(settings, f"No event is of kind {', '.join(options.kinds)}.")
    elif options.first is not None:
        found = bool(transcript.events)
        _partly(settings, names(uid), options.first, options.last, found=found)
    elif transcript.hidden:
        left_out = plural(transcript.hidden, "event")
        remark(settings, f"{left_out} of bookkeeping left out; --all shows them.")
    for uid, missing in transcript.missing.items():
        hint = f" {missing.hint}" if missing.hint else ""
        remark(settings, f"The events of {names(uid)} are missing: {missing.message}.{hint}")
    if transcript.missing:
        click.get_current_context().exit(PROBLEMS)


def _partly(settings: Settings, name: str, first: int, last: int | None, *, found: bool) -> None:
    span = f"from {first} on" if last is None else f"{first} to {last}"
    shown = f"Events {span}" if found else f"No event {span}"
    remark(settings, f"{shown}; all of them: session-memory show {name}")
