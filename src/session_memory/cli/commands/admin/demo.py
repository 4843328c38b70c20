"""Show what the program does, with invented sessions.

Session Memory comes with small invented sessions of nearly all agents in two projects: with
subagents, a fork, a rewind, a compaction and a broken line. None of your own logs is read.

With --store, the demo sessions are collected into that store, which must have no other sessions.
Without --store, they are shown from the demo store that sync --demo-if-empty made. If there is no
demo store, they are collected into a store that is deleted afterwards. Demo sessions never go into
the store that SESSION_MEMORY_STORE names.
"""

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.commands.keep.sync import demo_notice
from session_memory.cli.kit.calling import callable_text
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable
from session_memory.render.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from session_memory.memory import Memory


@make_command(
    resumable=True,
    examples=(
        ("demo", "in a store that is deleted afterwards"),
        ("demo --store demo.db", "keep the store to try other commands"),
        ("show 91d4f0a7 --store demo.db", "show one of its sessions"),
    ),
    json_shape='{"demo": true, "store": PATH or null, "sync": as in sync, "sessions" and "amounts":'
    " as in sessions}",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.lines.session_table import session_lines
    from session_memory.cli.lines.sync_summary import sync_summary

    place = _kept_place(settings)
    with _demo_memory(settings, place) as memory:
        result = memory.sync_demo()
        listing = memory.sessions().listing()
        if settings.as_json:
            sync = result.to_dict()
            print_json({"demo": True, "store": place, "sync": sync, **listing.to_dict()})
            return
        click.secho(demo_notice(), fg="yellow")
        if not settings.quiet:
            click.echo(f"{sync_summary(result, memory.store)}\n")
        print_lines(session_lines(listing, terminal_width()))
        if not settings.quiet:
            click.echo(f"\n{safe(callable_text(_next(place)))}")


def _kept_place(settings: Settings) -> str | None:
    """Return where the demo is kept: at --store, or where sync --demo-if-empty put it; else None.

    The demo is never put into the store of SESSION_MEMORY_STORE, which has real sessions.
    """
    from session_memory.memory.demo_store import demo_place
    from session_memory.store.address import shown

    if settings.store is not None:
        return shown(settings.store)
    place = demo_place(settings.where())
    return str(place) if place.exists() else None


@contextmanager
def _demo_memory(settings: Settings, place: str | None) -> "Iterator[Memory]":
    from session_memory.memory import Memory

    if place is None:
        with (
            tempfile.TemporaryDirectory(prefix="session-memory-demo-") as scratch,
            Memory(Path(scratch) / "demo.db", settings.config) as memory,
        ):
            yield memory
    elif settings.store is None:
        with Memory(place, settings.config) as memory:
            yield memory
    else:
        with settings.memory(create=True) as memory:
            yield memory


def _next(place: str | None) -> str:
    if place is None:
        keep = "session-memory demo --store demo.db"
        return f"The store is deleted again. Keep one to try other commands: {keep}"
    return f"Next: session-memory show 91d4f0a7 --store {pasteable(place)}"
