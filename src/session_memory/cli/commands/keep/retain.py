"""Move old sessions to the archive, to limit the store.

First it evicts analyzed sessions older than raw_max_age_days. If the stored logs then take more
than the soft cap, it also evicts the oldest analyzed sessions. If they take more than the hard cap,
it also evicts the oldest other sessions, which it analyzes first.

To evict a session is to move its log to the archive, which is read back and compared before
anything is deleted. Title, digest and cost of the session stay in the store; restore brings the
rest back. A session stays if its archive file would take more space than its eviction frees, unless
archive_small is set. Over the hard cap, a session that cannot be analyzed is evicted without a
digest, and the report calls that data loss.

The limits are in section [retention] of the configuration file. While retention is off and no limit
is set, nothing is evicted unless you give --max-age, and --dry-run shows what the suggested limits
would evict. Once you turn it on (config --retention on), it also runs once a day after a sync.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.confirm import confirm
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

if TYPE_CHECKING:
    from session_memory.retain.retention_run import Eviction
    from session_memory.store import Store
    from session_memory.views.retention import RetentionStatus

SHOWN = 20


@make_command(
    resumable=True,
    examples=(
        ("retain --dry-run", "what would be evicted, and why"),
        ("retain", "evict what is over the limits"),
        ("retain --max-age 90", "evict analyzed sessions that ended more than 90 days ago"),
        ("retain --json", "the report, for a monitor"),
        ("pin 5b0c6a1e", "never evict this session"),
    ),
    json_shape='{"backstop_evicted", "budget_evicted", "overflow_analyzed", "overflow_data_loss",'
    ' "bytes_freed", "final_usage_bytes", "over_soft_cap", "over_hard_cap", "tier2_over_cap",'
    ' "waiting_for_analysis", "waiting_bytes", "too_small", "too_small_bytes", "dry_run", "is_off",'
    ' "archive", "evicted": [{"sessions": [UID, …], "why": "age" | "soft cap" | "hard cap"'
    ' | "data loss", "bytes", "last_at"}, …], "expiry":'
    ' [{"flavor", "files", "at_risk", "bytes_at_risk", "days_left"}, …]}; the first four,'
    ' "waiting_for_analysis" and "too_small" are sessions: "backstop_evicted" were too old,'
    ' "budget_evicted" over the soft cap, "overflow_analyzed" over the hard cap,'
    ' "overflow_data_loss" over the hard cap without an analysis. "tier2_over_cap": digests and'
    ' lessons take more than distilled_cap_bytes. "expiry": logs that agents delete soon.'
    ' "is_off": nothing was evicted, because retention is off and no limit is set.'
    ' "not_shrunk" says why freed space was not given back to the disk.',
)
@click.option(
    "--max-age",
    type=click.IntRange(0),
    metavar="DAYS",
    help="Evict analyzed sessions that ended more than DAYS days ago, in place of raw_max_age_days,"
    " and even while retention is off.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be evicted.")
@click.option(
    "--without-archive", is_flag=True, help="Delete the logs instead of archiving them. Asks first."
)
@click.option("--yes", is_flag=True, help="Do not ask; only --without-archive asks.")
@click.pass_obj
def command(
    settings: Settings, max_age: int | None, dry_run: bool, without_archive: bool, yes: bool
) -> None:
    from session_memory.cli.lines.retention import retention_sentences
    from session_memory.core.time import now_ms
    from session_memory.views.retention import (
        TURN_ON_RETENTION,
        expiry_lines,
        limit_words,
        retention_status,
    )

    if without_archive:
        question = "Logs of evicted sessions will be deleted for good. Continue?"
        confirm(settings, question, yes=yes or dry_run)
    with settings.memory() as memory:
        result = memory.retain(
            max_age_days=max_age, dry_run=dry_run, archive=False if without_archive else None
        )
        state = retention_status(memory.store, memory.config, now_ms())
        limits = memory.config.retention
        names = {
            one.sessions[0]: _named(memory.store, one.sessions)
            for one in (result.outcome.gone[:SHOWN] if dry_run else ())
        }
    if settings.as_json:
        print_json(result.to_dict())
        return
    outcome, soon = result.outcome, list(result.expiry)
    if settings.quiet and not dry_run:
        return
    has_caps = not result.is_off and max_age is None
    click.echo(_stored(state, has_caps=has_caps))
    if result.is_off and not dry_run:
        click.echo("Retention is off and no limit is set: nothing was evicted.")
        by_hand = f"session-memory retain --max-age {limits.raw_max_age_days:.0f}"
        remark(settings, f"Evict what is older now: {by_hand}. {TURN_ON_RETENTION}")
        print_lines(map(safe, expiry_lines(soon)))
        return
    if result.is_off:
        click.echo(f"Retention is off. With the suggested limits ({limit_words(limits)}):")
    for line in (*retention_sentences(outcome, dry_run=dry_run), *expiry_lines(soon)):
        click.echo(safe(line))
    if dry_run and outcome.gone:
        _print_plan(outcome.gone, names)
    if not state.after_sync:
        remark(settings, f"Retention does not run by itself. {TURN_ON_RETENTION}")


def _stored(state: "RetentionStatus", *, has_caps: bool) -> str:
    caps = f" of {size(state.soft_cap)}, at most {size(state.hard_cap)}" if has_caps else ""
    held = f", {state.held:,} restored lately" if state.held else ""
    return (
        f"Stored logs: {size(state.bytes)}{caps}; {plural(state.sessions, 'session')},"
        f" {state.evicted:,} evicted, {state.pinned:,} pinned{held}."
    )


def _print_plan(gone: "list[Eviction]", names: dict[str, tuple[str, str]]) -> None:
    columns = (
        Column("last"),
        Column("bytes", right=True),
        Column("why"),
        Column("session"),
        Column("title", flexible=True),
    )
    rows = (
        (_day(one.last_at), size(one.bytes), one.why, *names[one.sessions[0]])
        for one in gone[:SHOWN]
    )
    print_lines(table(columns, rows, terminal_width()))
    if len(gone) > SHOWN:
        click.echo(f"… and {len(gone) - SHOWN:,} more; all of them with --json")


def _day(moment: int) -> str:
    from session_memory.core.time import format_time

    return local(format_time(moment), "%Y-%m-%d")


def _named(store: "Store", uids: tuple[str, ...]) -> tuple[str, str]:
    """Return the short name and the title of the first session, with the number of the others."""
    from session_memory.views.short_names import short_names

    row = store.sessions.row(uids[0])
    title = row.title if row is not None and row.title else ""
    more = f" and {len(uids) - 1} more" if len(uids) > 1 else ""
    return f"{short_names(store, uids[:1])[uids[0]]}{more}", title
