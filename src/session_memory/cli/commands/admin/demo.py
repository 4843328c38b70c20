"""Show what the program does, with invented sessions.

Session Memory comes with eight small sessions of two projects: with subagents, a fork, a rewind, a
compaction and a broken line. None of your own logs is read. The store is deleted afterwards, unless
--store says where to keep it.
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
    json_shape='{"demo": true, "store": PATH or null, "sync": as in sync, "sessions": as in'
    " sessions}",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.cli.lines.session_table import session_lines
    from session_memory.cli.lines.sync_summary import sync_summary

    with _demo_memory(settings) as memory:
        result = memory.sync_demo()
        listing = memory.sessions().listing()
        if settings.as_json:
            sync = result.to_dict()
            print_json({"demo": True, "store": _shown(settings), "sync": sync, **listing.to_dict()})
            return
        click.secho(demo_notice(), fg="yellow")
        if not settings.quiet:
            click.echo(f"{sync_summary(result, memory.store)}\n")
        print_lines(session_lines(listing, terminal_width()))
        if not settings.quiet:
            click.echo(f"\n{safe(callable_text(_next(settings)))}")


@contextmanager
def _demo_memory(settings: Settings) -> "Iterator[Memory]":
    """The store of --store; SESSION_MEMORY_STORE is ignored, because it has real sessions."""
    from session_memory.core.errors import NotEmpty
    from session_memory.memory import Memory
    from session_memory.memory.operations import DEMO_HOST

    if settings.store is None:
        with (
            tempfile.TemporaryDirectory(prefix="session-memory-demo-") as scratch,
            Memory(Path(scratch) / "demo.db", settings.config) as memory,
        ):
            yield memory
        return
    with settings.memory(create=True) as memory:
        if any(row.host != DEMO_HOST for row in memory.store.sources.every()):
            raise NotEmpty(memory.place)
        yield memory


def _shown(settings: Settings) -> str | None:
    from session_memory.store.address import shown

    return None if settings.store is None else shown(settings.store)


def _next(settings: Settings) -> str:
    if settings.store is None:
        keep = "session-memory demo --store demo.db"
        return f"The store is deleted again. Keep one to try other commands: {keep}"
    return f"Next: session-memory show 91d4f0a7 --store {_shown(settings)}"
