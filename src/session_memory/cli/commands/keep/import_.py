"""Import sessions from a portable file or an older store.

Sessions that the store already has are not added twice. Each log keeps the name of the machine it
came from. An import never changes logs that this machine collects itself. Names that people gave to
sessions are imported too, unless the session already has a name in this store.

The file is checked before anything is stored, because it may come from somebody else. A log with an
impossible machine, path or agent is refused and listed; the others are imported, and the exit
status is 3.

If FILE is a directory or a JSON file, it is read as an older store (records of schema version 1). A
session whose own log is in the store is left as it is. docs/coming-from/first-collector.md says
more.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural, size

SHOWN_FILES = 5

if TYPE_CHECKING:
    from session_memory.retain.portable_import import StoreImport


@make_command(
    resumable=True,
    examples=(
        ("import laptop.smx", "sessions that another machine exported"),
        ("import laptop.smx --store team.db", "into another store"),
        ("import ~/.session_memory", "the store of the first collector"),
    ),
    json_shape='{"sources", "known", "refused", "refused_records", "bytes", "sessions", "problems",'
    ' "left_out"}: "sources" is the number of logs in the file; "known" were in the store already;'
    ' "refused" were not imported, "refused_records" of them are single records of an older store;'
    ' "bytes" were imported, "sessions" are new; "problems" are the first reasons for refusals;'
    ' "left_out" are files of an older store that have no sessions.',
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True))
@click.option(
    "--no-limits",
    is_flag=True,
    help="Also import a file that unpacks to far more data than a real export of its size.",
)
@click.pass_context
def command(ctx: click.Context, file: str, no_limits: bool) -> None:
    import msgspec

    from session_memory.cli.kit.progress import progress
    from session_memory.retain.portable_import import import_store

    settings: Settings = ctx.obj
    config = settings.configuration()
    with settings.opened(config, create=True) as store, progress(settings, "Importing") as bar:
        path = Path(file).expanduser()
        done = import_store(store, path, config, is_limited=not no_limits, progress=bar)
    if settings.as_json:
        print_json(msgspec.to_builtins(done))
    elif not settings.quiet:
        click.echo(_summary(done))
    if done.left_out:
        some = ", ".join(done.left_out[:SHOWN_FILES])
        remark(
            settings, f"Left out, without sessions: {plural(len(done.left_out), 'file')} ({some})"
        )
    for problem in done.problems:
        remark(settings, f"Refused: {problem}")
    if done.sessions:
        remark(settings, "Next: session-memory analyze")
    if done.refused:
        ctx.exit(PROBLEMS)


def _summary(done: "StoreImport") -> str:
    without = done.refused - done.refused_records
    new = done.sources - done.known - without
    refused = f", {without:,} refused" if without else ""
    if done.refused_records:
        refused += f", {plural(done.refused_records, 'record')} refused"
    return (
        f"Found {plural(done.sources, 'source')}: {new:,} imported ({size(done.bytes)}),"
        f" {done.known:,} already in the store{refused}."
        f" {plural(done.sessions, 'new session')}."
    )
