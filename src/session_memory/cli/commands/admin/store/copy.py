"""Copy a store into an empty one, and compare the two.

FROM and TO are paths or postgresql:// addresses. Everything is copied: logs of all machines with
their cursors, sessions, live sessions, events, usage, problems. Then the fingerprints of both
stores are compared; if they differ, the exit status is 1. A target that is not empty is refused. No
program can open the target before the copy is complete. If FROM is damaged, everything that can be
read is copied, the lost parts are named, and the exit status is 3. The archive of evicted sessions
stays where it is.
"""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED, PROBLEMS
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.store.address import expanded, is_postgres, shown
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.retain.rescue import Damage
    from session_memory.store import Store

TEAM = "postgresql://me@db.example/sessions"


@make_command(
    examples=(
        (f"store copy ~/.session-memory/memory.db {TEAM}", "from a file to a server"),
        (f"store copy {TEAM} home.db", "and back"),
    ),
    json_shape='{"from", "to", "sessions", "sources", "rows", "bytes", "fingerprint", "same"}:'
    " the places without passwords, the bytes of logs, and whether both fingerprints are equal;"
    ' if something is damaged, "damaged": {"logs": […], "rows": […]}.',
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.pass_context
def command(ctx: click.Context, source: str, target: str) -> None:
    from session_memory.cli.lines.damage import as_json, print_damage
    from session_memory.core.errors import InvalidRecord, StoreDamaged
    from session_memory.retain.rescue import Damage
    from session_memory.store.store import open_store

    settings: Settings = ctx.obj
    damage = Damage()
    try:
        with open_store(source, create=False) as old:
            figures = _copy(settings, old, target, damage)
    except (StoreDamaged, InvalidRecord) as error:
        if is_postgres(source) and not getattr(error, "in_database", False):
            raise
        figures = _copy_readable(settings, source, target, damage)
    figures["from"], same = shown(expanded(source)), figures["same"]
    before, after = figures.pop("before"), figures["fingerprint"]
    if settings.as_json:
        print_json(figures | as_json(damage))
    elif not settings.quiet:
        what = f"{plural(figures['sessions'], 'session')} of {plural(figures['sources'], 'source')}"
        place = safe(short_path(figures["to"]))
        click.echo(f"Copied {what} ({size(figures['bytes'])} of logs) to {place}.")
        click.echo(f"Fingerprint of both: {after}" if same else _differs(before, after))
    if damage:
        if not settings.as_json:
            print_damage(settings, damage)
        ctx.exit(PROBLEMS if same else FAILED)
    if not same:
        ctx.exit(FAILED)


def _copy(settings: Settings, old: "Store", target: str, damage: "Damage") -> dict[str, Any]:
    from session_memory.cli.kit.progress import progress
    from session_memory.cli.lines.retention import remark_archive
    from session_memory.retain.rescue import damaged_logs
    from session_memory.store.copying import copy_everything, refuse_full
    from session_memory.store.store import copy_target

    damaged: list[int] = []
    with copy_target(target) as new, progress(settings, "Copying") as bar:
        refuse_full(new)
        sources = old.sources.every()
        raw = sum(row.kept for row in sources)
        bar.begin(len(sources), raw)
        # Others may write to the store meanwhile; the snapshot is of one moment.
        with old.db.snapshot():
            rows = copy_everything(old, new, bar.advance)
            before = old.fingerprint(damaged=damaged)
            damage.logs = damaged_logs(old, damaged)
        bar.end()
        remark_archive(settings, old, settings.configuration())
        after = new.fingerprint(damaged=[])
        return {
            "from": old.db.name,
            "to": shown(expanded(target)),
            "sessions": new.sessions.count(),
            "sources": len(sources),
            "rows": rows,
            "bytes": raw,
            "before": before,
            "fingerprint": after,
            "same": before == after,
        }


def _copy_readable(
    settings: Settings, source: str, target: str, damage: "Damage"
) -> dict[str, Any]:
    """Copy what can still be read from a store whose database is damaged.

    If derived rows can be read but have impossible values, all of them are derived again.
    """
    from session_memory.core.errors import InvalidRecord
    from session_memory.store.migrations import all_tables

    try:
        return _copy_salvaged(settings, source, target, damage, all_tables())
    except InvalidRecord:
        return _copy_salvaged(settings, source, target, damage, None)


def _copy_salvaged(
    settings: Settings,
    source: str,
    target: str,
    damage: "Damage",
    tables: Collection[str] | None,
) -> dict[str, Any]:
    """Copy what can be read in ``tables``; None copies all tables that cannot be derived."""
    from session_memory.core.time import now_ms
    from session_memory.retain.rescue import DERIVED, derive_lost
    from session_memory.store.migrations import all_tables
    from session_memory.store.salvage import LostRows, salvaged

    chosen = [one for one in all_tables() if one not in DERIVED] if tables is None else tables
    beside = None if is_postgres(target) else Path(target).expanduser().absolute().parent
    with salvaged(source, chosen, beside) as (store, lost):
        if tables is None:
            lost.append(LostRows("sessions", 0, None, "some values cannot be true"))
        damage.rows = lost
        derive_lost(store, lost, now_ms(), settings.configuration().domain_of)
        return _copy(settings, store, target, damage)


def _differs(before: str, after: str) -> str:
    differ = f"The fingerprints differ: {before} and {after}. Do not use the copy."
    return f"{differ} Find out why: session-memory store verify --store …"
