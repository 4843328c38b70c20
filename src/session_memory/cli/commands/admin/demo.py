"""Collect invented sessions and show what comes of them.

Six small sessions of two projects come with Session Memory: with subagents, a fork, a rewind, a
compaction, a broken line. Nothing of yours is read. The store is thrown away afterwards unless
--store says where to keep it.
"""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.commands.keep.sync import DEMO_HOST, demo_notice, run_demo
from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.store import Store


@make_command(
    resumable=True,
    examples=(
        ("demo", "see what it does, in a store that is thrown away"),
        ("demo --store demo.db", "keep the store, to try other commands on it"),
        ("show 91d4f0a7 --store demo.db", "look at one of the demo's sessions"),
    ),
    json_shape='{"demo": true, "store": PATH or null, "sync": as of sync, "sessions": as of'
    " sessions}",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.lines.session_table import session_lines
    from session_memory.cli.lines.sync_summary import sync_summary
    from session_memory.views.sessions import Filter, list_sessions

    with _demo_store(settings) as store:
        outcome = run_demo(settings, store)
        listing = list_sessions(store, Filter(), limit=0, priced=True)
        if settings.as_json:
            import msgspec

            sync = msgspec.to_builtins(outcome.report)
            print_json({"demo": True, "store": _shown(settings), "sync": sync, **listing.to_dict()})
            return
        click.secho(demo_notice(), fg="yellow")
        if not settings.quiet:
            click.echo(f"{sync_summary(outcome, store)}\n")
        print_lines(session_lines(listing, terminal_width()))
        if not settings.quiet:
            click.echo(f"\n{safe(callable_text(_next(settings)))}")


@contextmanager
def _demo_store(settings: Settings) -> "Iterator[Store]":
    """The store named on the command line; the one in the environment holds real sessions."""
    from session_memory.core.errors import NotEmpty
    from session_memory.store import open_store

    if settings.store is None:
        with (
            tempfile.TemporaryDirectory(prefix="session-memory-demo-") as scratch,
            open_store(Path(scratch) / "demo.db") as store,
        ):
            yield store
        return
    with open_store(settings.store) as store:
        if any(row.host != DEMO_HOST for row in store.sources.every()):
            raise NotEmpty(store.db.name)
        yield store


def _shown(settings: Settings) -> str | None:
    from session_memory.store.address import shown

    return None if settings.store is None else shown(settings.store)


def _next(settings: Settings) -> str:
    if settings.store is None:
        keep = "session-memory demo --store demo.db"
        return f"The store is gone again. Keep one to look around in: {keep}"
    return f"Next: session-memory show 91d4f0a7 --store {_shown(settings)}"
