"""Move old sessions to the archive, to limit the store.

It first moves analyzed sessions older than raw_max_age_days; over the soft cap, also the oldest
analyzed ones; over the hard cap, also the oldest others, which it analyzes first. Their logs go
into the archive, which is read back and compared before anything is deleted. Title, digest and cost
of a session stay; restore brings the rest back. Runs only when you type it, until you turn
retention on (config --retention on); then also once a day after a sync. The limits are in section
[retention] of the configuration file.
"""

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import (
    Column,
    print_json,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe
from session_memory.views.figures import local, plural, size

SHOWN = 20


@make_command(
    resumable=True,
    examples=(
        ("retain --dry-run", "what would be evicted, and why"),
        ("retain", "evict what is over the limits"),
        ("retain --json", "the report, for a monitor"),
        ("pin 5b0c6a1e", "never evict this session"),
    ),
    json_shape='{"backstop_evicted", "budget_evicted", "overflow_analyzed", "overflow_data_loss",'
    ' "bytes_freed", "final_usage_bytes", "over_soft_cap", "over_hard_cap", "tier2_over_cap",'
    ' "waiting_for_analysis", "waiting_bytes", "dry_run", "archive", "evicted": [{"sessions": [UID,'
    ' …], "why", "bytes", "last_at"}, …], "expiry": [{"flavor", "files", "at_risk",'
    ' "bytes_at_risk", "days_left"}, …]}; the first four and "waiting_for_analysis" are sessions.'
    ' "not_shrunk" says why freed space was not given back to the disk.',
)
@click.option("--dry-run", is_flag=True, help="Only say what would be evicted.")
@click.option(
    "--without-archive", is_flag=True, help="Delete the logs instead of archiving them. Asks first."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def command(settings: Settings, dry_run: bool, without_archive: bool, yes: bool) -> None:
    from session_memory.cli.lines.retention import retention_sentences
    from session_memory.core.time import now_ms
    from session_memory.views.retention import (
        TURN_ON_RETENTION,
        expiry_lines,
        retention_status,
    )

    if without_archive and not (yes or dry_run):
        click.confirm("Logs of evicted sessions will be deleted for good. Continue?", abort=True)
    with settings.memory() as memory:
        result = memory.retain(dry_run=dry_run, archive=False if without_archive else None)
        state = retention_status(memory.store, memory.config, now_ms())
    if settings.as_json:
        print_json(result.to_dict())
        return
    outcome, soon = result.outcome, list(result.expiry)
    if settings.quiet:
        return
    caps = f"{size(state.soft_cap)}, at most {size(state.hard_cap)}"
    click.echo(
        f"Stored logs: {size(state.bytes)} of {caps}; {plural(state.sessions, 'session')},"
        f" {state.evicted:,} evicted, {state.pinned:,} pinned."
    )
    if not state.after_sync:
        remark(settings, f"Retention does not run by itself. {TURN_ON_RETENTION}")
    for line in (*retention_sentences(outcome, dry_run=dry_run), *expiry_lines(soon)):
        click.echo(safe(line))
    if dry_run and outcome.gone:
        columns = (
            Column("last"),
            Column("bytes", right=True),
            Column("why"),
            Column("session", flexible=True),
        )
        rows = [
            (_day(one.last_at), size(one.bytes), one.why, _named(one.sessions))
            for one in outcome.gone[:SHOWN]
        ]
        print_lines(table(columns, rows, terminal_width()))
        if len(outcome.gone) > SHOWN:
            click.echo(f"… and {len(outcome.gone) - SHOWN:,} more; all of them with --json")


def _day(moment: int) -> str:
    from session_memory.core.time import format_time

    return local(format_time(moment), "%Y-%m-%d")


def _named(uids: tuple[str, ...]) -> str:
    more = f" and {len(uids) - 1} more" if len(uids) > 1 else ""
    return f"{uids[0]}{more}"
