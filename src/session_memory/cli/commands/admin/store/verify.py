"""Check that nothing in the store is damaged.

Reads all stored logs back and compares them with their hashes. Checks that the tokens of each
session are the sum of its usage, that no event is missing, that every digest and live message can
be read, and that the archive is intact, if its directory is there. Then derives a random sample of
sessions again from the stored logs, and compares their events, digests and indexed words. The
answer says how many of all sessions were compared. The exit status is 1 if something is damaged
or differs.
"""

from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import FAILED
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings
from session_memory.core.errors import StoreDamaged
from session_memory.render.text import safe
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from collections.abc import Callable

    from session_memory.cli.kit.progress import Bar
    from session_memory.memory import Memory
    from session_memory.memory.results import VerifyResult
    from session_memory.retain.verification import CheckedCount

KINDS = {
    "sessions": "sessions derived again",
    "indexed_events": "events looked up in the index",
    "digests_made_again": "digests made again",
    "archive": "archived logs",
}


@make_command(
    examples=(
        ("store verify", "check every byte"),
        ("store verify --sample 200", "derive 200 sessions again to compare"),
        ("store verify --sample all", "derive all sessions again; takes longer"),
        ("store verify --json", "for a script; exit status 0: no damage"),
    ),
    json_shape='{"ok", "packs", "bytes", "sessions", "evicted", "findings": [TEXT, …],'
    ' "skipped": {FLAVOR: REASON, …}, "checked": {KIND: {"checked", "of"}, …}}; "packs" are the'
    ' compressed pieces of logs, "sessions" those derived again, "evicted" those whose logs are in'
    ' the archive; "skipped" agents have no working adapter, so only their logs were checked.',
)
@click.option(
    "--sample",
    metavar="N|all",
    default="20",
    show_default=True,
    callback=lambda ctx, parameter, value: _sample(value),
    help="How many sessions to derive again.",
)
@click.pass_context
def command(ctx: click.Context, sample: int | None) -> None:
    from session_memory.cli.kit.progress import progress

    settings: Settings = ctx.obj
    try:
        with settings.memory() as memory, progress(settings, "Verifying") as bar:
            _begin(bar, memory, sample)
            found = memory.verify(sample, on_source=bar.advance, on_session=_advancing(bar))
    except StoreDamaged as error:
        # The usual hint of this error is to run this very command.
        error.hint = StoreDamaged.way_on
        raise
    if settings.as_json:
        print_json(found.to_dict())
    else:
        _print(settings, found, sample)
    if found.findings:
        ctx.exit(FAILED)


def _sample(value: str) -> int | None:
    if value == "all":
        return None
    if not value.isascii() or not value.isdigit():
        raise click.BadParameter("give a number, or all")
    return int(value)


def _print(settings: Settings, found: "VerifyResult", sample: int | None) -> None:
    from session_memory.cli.lines.agents import remark_skipped

    read = f"Read {plural(found.packs, 'pack')} back ({size(found.bytes)})"
    verdict = "everything is as it was written" if not found.findings else "something is wrong"
    sessions = found.checked.get("sessions")
    total = sessions.of if sessions else 0
    derived = plural(found.sessions, "session")
    if found.sessions < total:
        derived = f"{found.sessions:,} of {plural(total, 'session')}"
    click.echo(f"{read}, derived {derived} again: {verdict}.")
    if partly := [line for line in map(_partly, found.checked.items()) if line]:
        click.echo(f"Not all were checked: {', '.join(partly)}.")
    if sample is not None and found.sessions < total - found.evicted:
        remark(settings, "Derive all sessions again: session-memory store verify --sample all")
    if found.evicted:
        click.echo(_evicted(found))
    remark_skipped(settings, found.skipped)
    for finding in found.findings:
        click.secho(f"  {safe(finding)}", fg="red")
    if not all("; run: " in finding for finding in found.findings):
        remark(settings, StoreDamaged.way_on)


def _evicted(found: "VerifyResult") -> str:
    """Say how much was checked of evicted sessions, which cannot be derived again."""
    count, archive = plural(found.evicted, "session"), found.checked.get("archive")
    if archive is None or not archive.checked:
        return f"{count} evicted. Check them with: session-memory archive verify"
    return f"{count} evicted: read back from the archive, and not derived again."


def _partly(count: "tuple[str, CheckedCount]") -> str:
    """Return ``20 of 1,500 sessions`` if only a sample was checked; empty if all were."""
    kind, counts = count
    if counts.checked >= counts.of:
        return ""
    return f"{counts.checked:,} of {counts.of:,} {KINDS.get(kind, kind)}"


def _begin(bar: "Bar", memory: "Memory", sample: int | None) -> None:
    """Begin the progress bar. Its length is the bytes of all logs, which are read for their hashes,
    and an estimate of the bytes that are read again to derive the sample."""
    sources, sessions = memory.store.sources.every(), memory.store.sessions.count()
    raw = sum(row.kept for row in sources)
    share = 1.0 if sample is None or sample >= sessions else sample / sessions
    bar.bytes_again = int(raw * share)
    bar.begin(len(sources), raw + bar.bytes_again)


def _advancing(bar: "Bar") -> "Callable[[int, int], None]":
    before = 0

    def advance(done: int, total: int) -> None:
        nonlocal before
        place = bar.bytes_again * done // total if total else 0
        bar.advance(place - before)
        before = place

    return advance
