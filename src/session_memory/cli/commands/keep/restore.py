"""Bring evicted sessions back from the archive.

An evicted session is one whose log was moved to the archive. Its log comes back into the store byte
for byte, and its events are derived from the log again. Sessions that were evicted together come
back together. Restored sessions are pinned for the number of days in raw_max_age_days, so that
retention does not evict them again at once; session-memory pin keeps them longer. With --all,
sessions whose archive is damaged are named, the others come back, and the exit status is 3. To
write the log back to where the agent keeps it, use restore-native.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_uid
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import plural, size


@make_command(
    examples=(
        ("restore 5b0c6a1e", "one session"),
        ("restore --all", "all evicted sessions"),
    ),
    json_shape='{"restored": [{"sessions": [UID, …], "bytes"}, …]}; with --all also "failed":'
    ' [{"sessions": [UID, …], "reason"}, …] if some cannot be restored.',
)
@click.argument("sessions", nargs=-1, metavar="[UID]...", shell_complete=complete_uid)
@click.option("--all", "everything", is_flag=True, help="Restore all evicted sessions.")
@click.pass_context
def command(ctx: click.Context, sessions: tuple[str, ...], everything: bool) -> None:
    from session_memory.core.time import now_ms
    from session_memory.retain.restore import FailedRestore, restore
    from session_memory.views.lookup import find_session

    settings: Settings = ctx.obj
    failed: list[FailedRestore] = []
    if everything == bool(sessions):
        raise click.UsageError("give the sessions to restore, or --all")
    config = settings.configuration()
    with settings.opened(config) as store:
        uids = None if everything else [find_session(store, one) for one in sessions]
        present = _present(uids)
        restored = restore(store, config, uids, now_ms(), failed if everything else None)
    if settings.as_json:
        import msgspec

        rest = {"failed": msgspec.to_builtins(failed)} if failed else {}
        print_json({"restored": msgspec.to_builtins(restored)} | rest)
        ctx.exit(PROBLEMS if failed else 0)
    for uid in (uid for one in restored for uid in one.sessions) if not settings.quiet else ():
        click.echo(safe(f"{uid} is back"))
    total = size(sum(one.bytes for one in restored))
    count = sum(len(one.sessions) for one in restored)
    remark(settings, f"{plural(count, 'session')}, {total}." if restored or failed else present)
    if count:
        remark(settings, "Next: session-memory analyze")
    for one in failed:
        click.secho(safe(f"{', '.join(one.sessions)}: {one.reason}"), fg="red", err=True)
    if failed:
        remark(settings, "Check the archive: session-memory archive verify")
        ctx.exit(PROBLEMS)


def _present(uids: list[str] | None) -> str:
    """Return what to say if nothing had to be restored."""
    if uids is None:
        return "No session is evicted."
    these = "The session is" if len(uids) == 1 else "These sessions are"
    return f"{these} not evicted: nothing to restore."
