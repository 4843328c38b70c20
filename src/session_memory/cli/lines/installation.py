"""Installations for people: the diff of each file, and what is installed where."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.output import Column, table
from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines

if TYPE_CHECKING:
    from session_memory.install.planning import FileChange
    from session_memory.install.status import InstallStatus

LONGEST = 200
_STYLES: dict[str, dict[str, Any]] = {
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    "@": {"fg": "cyan"},
}


def change_lines(change: "FileChange") -> Iterator[str]:
    """The diff of a file. Secrets in the lines around a change are masked."""
    shown_change = change.to_dict()
    yield click.style(safe(f"{shown_change['action']} {short_path(change.path)}"), bold=True)
    for line in shown_change["diff"].split("\n")[2:-1]:
        shown = safe_lines(line.removesuffix("\r"))[0]
        if len(shown) > LONGEST:
            shown = f"{shown[:LONGEST]} …"
        style = _STYLES.get(line[:1])
        yield click.style(shown, **style) if style else shown


def status_lines(found: "Sequence[InstallStatus]", limit: int | None) -> Iterator[str]:
    """A table of all agents, and below it what is wrong."""
    columns = (
        Column("agent"),
        Column("on this machine"),
        Column("level"),
        Column("server", flexible=True, middle=True),
        Column("hooks", flexible=True),
    )
    yield from table(columns, [_row(one) for one in found], limit)
    for one in found:
        yield from (click.style(safe(line), fg="yellow") for line in _warnings(one))


def _row(one: "InstallStatus") -> list[str]:
    where = "–" if one.server is None else short_path(one.server)
    here = "yes" if one.here else "no"
    return [one.agent, here, one.level, where, ", ".join(one.hooks) or "–"]


def _warnings(one: "InstallStatus") -> Iterator[str]:
    option = " --project" if one.level == "project" else ""
    if one.problem:
        yield f"{one.agent}: {one.problem}"
    if one.program_exists is False:
        yield f"{one.agent}: {one.program} does not exist any more"
    if one.outdated:
        names = ", ".join(short_path(path) for path in one.outdated)
        yield f"{one.agent}: out of date: {names}; session-memory install {one.agent}{option}"
