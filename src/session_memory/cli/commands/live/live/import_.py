"""Turn a mycode or power-loop session into a live session.

The live session gets the same id, messages, summaries and rewinds. Rewound messages stay in the
store and can be restored. The data of the other runtime is not changed, and its earlier usage
counts only there.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural


@make_command(
    examples=(
        ("live import mycode:5b0c6a1e", "a session that was collected"),
        ("live import ~/.mycode/sessions/5b0c6a1e…", "from the directory of mycode"),
        ("live import power_loop_sessions.db --session sess_1a2b", "one session of a database"),
    ),
    json_shape='{"session_id", "messages", "folds", "rewinds", "plain_notes", "left_out"}:'
    " the new live session and its counts; plain_notes counts summaries kept as normal messages;"
    " left_out counts messages that the other runtime had dropped, by its reason.",
)
@click.argument("what", metavar="UID|PATH")
@click.option("--session", metavar="ID", help="The session to import, if PATH is a database.")
@click.option(
    "--id", "new_id", metavar="ID", help="The id of the live session; by default the same."
)
@click.pass_obj
def command(settings: Settings, what: str, session: str | None, new_id: str | None) -> None:
    import msgspec

    from session_memory.collect.live_histories import collected_history, history_at
    from session_memory.live.import_history import import_history
    from session_memory.live.store import SessionStore
    from session_memory.views.lookup import find_session

    config = settings.configuration()
    path = Path(what).expanduser()
    if path.exists():
        history = history_at(path, session)
    else:
        with settings.opened(config) as store:
            history = collected_history(store, find_session(store, what))
    with SessionStore.open(settings.where(config)) as live:
        done = import_history(live, history, new_id)
    if settings.as_json:
        print_json(msgspec.to_builtins(done))
    elif not settings.quiet:
        made = f"{plural(done.messages, 'message')}, {plural(done.folds, 'fold')}"
        click.echo(
            f"{done.session_id} is a live session now: {made}, {plural(done.rewinds, 'rewind')}."
        )
        for state, count in done.left_out.items():
            click.echo(f"Left out: {plural(count, 'message')} that its runtime had {state}.")
