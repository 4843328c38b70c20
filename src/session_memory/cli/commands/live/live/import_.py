"""Turn sessions of mycode and power-loop into live sessions.

A live session gets the same id, messages, summaries, rewinds, dates, usage, parent and status.
Rewound messages stay in the store and can be restored. The data of the other runtime is not
changed. The live session and its origin are one session: nothing is listed or counted twice.

With --all and PATHs, all sessions in these directories and databases are imported. With --all
alone, all sessions in the usual places of mycode and power-loop are imported, and sessions that
were collected before and whose logs are gone. Run the command with --all again to import what is
new. A live session that was continued or closed since its import stays as it is.

Without --all, a session that was imported before is refused, unless --id gives another id.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.live.import_history import ImportedSession
    from session_memory.memory.live_imports import LiveImportResult


@make_command(
    resumable=True,
    examples=(
        ("live import --all", "every session of mycode and power-loop"),
        ("live import --all ~/.mycode agents.db", "every session of a home and of a database"),
        ("live import mycode:5b0c6a1e", "a session that was collected"),
        ("live import ~/.mycode/sessions/5b0c6a1e…", "from the directory of mycode"),
        ("live import power_loop_sessions.db --session sess_1a2b", "one session of a database"),
    ),
    json_shape='{"session_id", "messages", "folds", "rewinds", "plain_notes", "left_out", "state"}:'
    " the new live session and its counts; plain_notes counts summaries kept as normal messages;"
    " left_out is {STATE: N}: N messages that the other runtime did not send to the model any more;"
    ' STATE is its own word for them. "state" is "new".'
    ' With --all: {"new", "grown", "unchanged", "continued",'
    ' "changed", "messages", "folds", "rewinds", "plain_notes", "left_out",'
    ' "failed": [{"session_uid", "reason"}, …]}; the first five count sessions.'
    ' "continued": the origin has grown, and the'
    ' live session was continued or closed. "changed": earlier messages of the origin are different'
    ' now. In both cases the live session stays as it is. "session_uid" is a path if a file could'
    " not be read or had no session.",
)
@click.argument("what", metavar="[UID|PATH]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Import all sessions, or all below each PATH.")
@click.option("--session", metavar="ID", help="The session to import, if PATH is a database.")
@click.option(
    "--id", "new_id", metavar="ID", help="The id of the live session; by default the same."
)
@click.pass_context
def command(
    ctx: click.Context,
    what: tuple[str, ...],
    every: bool,
    session: str | None,
    new_id: str | None,
) -> None:
    settings: Settings = ctx.obj
    if every:
        if session or new_id:
            raise click.UsageError("--session and --id are for one session, not for --all")
        result = _import_all(settings, tuple(Path(path).expanduser() for path in what))
        _show_all(settings, result)
        if not what:
            again = "session-memory live import --all PATH"
            remark(settings, f"Databases of power-loop and homes in other places: {again}")
        if result.new:
            remark(settings, "Next: session-memory live list, session-memory sessions")
        if result.failed:
            ctx.exit(PROBLEMS)
        return
    if len(what) != 1:
        raise click.UsageError("Name one session, or import all of them with --all.")
    _show_one(settings, _import_one(settings, what[0], session, new_id))


def _import_all(settings: Settings, paths: tuple[Path, ...]) -> "LiveImportResult":
    from session_memory.cli.kit.indexing import make_index_whole
    from session_memory.cli.kit.progress import progress
    from session_memory.memory.live_imports import import_all

    with settings.memory(create=True) as memory:
        make_index_whole(settings, memory.store)
        with progress(settings, "Importing") as bar:
            return import_all(memory.store, memory.config, paths, bar)


def _import_one(
    settings: Settings, what: str, session: str | None, new_id: str | None
) -> "ImportedSession":
    from session_memory.collect.live_histories import collected_history, history_at
    from session_memory.core.live_errors import SessionExists
    from session_memory.live.import_history import import_history
    from session_memory.live.store import SessionStore
    from session_memory.views.lookup import find_session

    config = settings.configuration()
    path = Path(what).expanduser()
    if path.exists():
        history = history_at(path, session)
    else:
        if session is not None:
            raise click.UsageError(f"--session is for a database, and there is no file {what}")
        with settings.opened(config) as store:
            history = collected_history(store, find_session(store, what))
    with SessionStore.open(settings.where(config)) as live:
        try:
            return import_history(live, history, new_id)
        except SessionExists as error:
            error.hint = "Bring it up to date: session-memory live import --all"
            error.hint += f" {pasteable(str(path))}." if path.exists() else "."
            error.hint += " Import it a second time: give another --id."
            raise


def _show_one(settings: Settings, done: "ImportedSession") -> None:
    import msgspec

    if settings.as_json:
        print_json(msgspec.to_builtins(done))
    elif not settings.quiet:
        made = f"{plural(done.messages, 'message')}, {plural(done.folds, 'fold')}"
        click.echo(
            f"{done.session_id} is a live session now: {made}, {plural(done.rewinds, 'rewind')}."
        )
        _show_left_out(done.left_out)


def _show_all(settings: Settings, result: "LiveImportResult") -> None:
    if settings.as_json:
        print_json(result.to_dict())
        return
    for uid, reason in result.failed.items():
        remark(settings, f"{uid} was not imported: {reason}")
    if settings.quiet:
        return
    made = (
        f"{plural(result.messages, 'message')}, {plural(result.folds, 'fold')},"
        f" {plural(result.rewinds, 'rewind')}"
    )
    counts = f"{plural(result.new, 'new live session')}, {result.grown} grown"
    click.echo(f"{counts}, {result.unchanged} unchanged: {made} imported.")
    if result.continued:
        words = "were continued here and in their own runtime; they stay as they are"
        click.echo(f"{plural(result.continued, 'session')} {words}.")
    if result.changed:
        words = "have other messages now than were imported; they stay as they are"
        click.echo(f"{plural(result.changed, 'session')} {words}.")
    _show_left_out(result.left_out)


def _show_left_out(left_out: dict[str, int]) -> None:
    for state, count in left_out.items():
        click.echo(f"Left out: {plural(count, 'message')} that its runtime had {state}.")
