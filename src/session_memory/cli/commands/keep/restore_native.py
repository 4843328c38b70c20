"""Write agents' logs back, byte for byte.

Afterwards the agent can resume the session. Logs of subagents, and outputs that the agent keeps in
separate files, are written too. No file is overwritten, and no symbolic link is followed. If one of
the files exists, none is written, unless --only-missing is given. Without --to, --all writes only
logs of this machine.

Three kinds of logs can be written only with --to: logs that were masked, sessions that the agent
keeps in a database (as a file with their rows), and live sessions, which have no log (as
live/ID.jsonl). Logs of evicted sessions are in the archive: restore them first. If a log is damaged
in the store, it is named and left out, and all others are written. If anything was left out, the
exit status is 3.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.retain.native_files import RestoredFile
    from session_memory.retain.rescue import Damage


@make_command(
    examples=(
        ("restore-native 5b0c6a1e", "to where the agent looks for it"),
        ("restore-native 5b0c6a1e --to /tmp/logs", "to another directory"),
        ("restore-native --all --to /tmp/logs", "all logs that were collected"),
        ("restore-native --all --only-missing", "all logs that the agent deleted"),
    ),
    json_shape='{"files": [{"path", "bytes", "masked"}, …], "bytes"}; and, if something is damaged,'
    ' "damaged": {"logs": [{"path", "sessions", "reason"}, …], "rows": [TEXT, …]};'
    ' "masked": secrets were masked when the log was collected; "evicted" is the number of evicted'
    " sessions that were left out, if any.",
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.option("--all", "everything", is_flag=True, help="Write the logs of all sessions.")
@click.option(
    "--to", metavar="DIR", help="Write below this directory instead of the home directory."
)
@click.option("--host", metavar="NAME", help="Only logs of the machine NAME.")
@click.option("--only-missing", is_flag=True, help="Skip files that exist, and write the others.")
@click.pass_context
def command(
    ctx: click.Context,
    sessions: tuple[str, ...],
    everything: bool,
    to: str | None,
    host: str | None,
    only_missing: bool,
) -> None:
    import msgspec

    from session_memory.cli.lines.damage import as_json
    from session_memory.cli.lines.retention import end_incomplete
    from session_memory.collect.discover import present_paths, roots
    from session_memory.config import this_host
    from session_memory.retain.native_files import DamagedLog, restore_native
    from session_memory.retain.rescue import rescue_native
    from session_memory.store import Store
    from session_memory.views.lookup import find_stored

    settings: Settings = ctx.obj
    if everything == bool(sessions):
        raise click.UsageError("give the sessions to restore, or --all")
    target = Path(to).expanduser() if to else None
    config = settings.configuration()
    where = roots(config)
    if target is None and host is None and everything:
        # Paths of another machine's logs may mean something else on this machine.
        host = this_host(config)
    present = present_paths(config, where) if target is None else ()

    evicted = 0

    def restore(store: Store, damaged: list[DamagedLog], again: bool) -> "list[RestoredFile]":
        uids = None if everything else [find_stored(store, one) for one in sessions]
        nonlocal evicted
        evicted = store.retention.count_evicted() if everything else 0
        return restore_native(
            store,
            uids,
            target,
            host,
            only_missing=only_missing or again,
            below=[root.path for root in where],
            present=present,
            damaged=damaged,
        )

    restored, damage = rescue_native(settings.opened, settings.where(config), restore)
    if settings.as_json:
        files = [{**msgspec.structs.asdict(file), "path": str(file.path)} for file in restored]
        more = {"evicted": evicted} if evicted else {}
        total = sum(f.bytes for f in restored)
        print_json({"files": files, "bytes": total} | more | as_json(damage))
    else:
        _print(settings, restored, damage, host)
    end_incomplete(settings, evicted)
    if damage:
        ctx.exit(PROBLEMS)


def _print(
    settings: Settings, restored: "list[RestoredFile]", damage: "Damage", host: str | None
) -> None:
    from session_memory.cli.lines.damage import print_damage

    total = sum(file.bytes for file in restored)
    for file in restored if not settings.quiet else ():
        click.echo(safe(short_path(file.path)))
    of_host = f" of {host}" if host and not restored else ""
    remark(settings, f"{plural(len(restored), 'file')}{of_host}, {size(total)}.")
    if masked := sum(file.masked for file in restored):
        remark(
            settings, f"{plural(masked, 'file')} of them masked: their secrets were never stored."
        )
    if damage:
        print_damage(settings, damage)
