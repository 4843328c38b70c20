"""Lines for ``install``: the diff of each file, and a table of what is installed where."""

from collections.abc import Iterator, Sequence
from os.path import commonprefix
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
    """Yield the diff of a file. Secrets in the lines around a change are masked."""
    described = change.to_dict()
    yield click.style(safe(f"{described['action']} {short_path(change.path)}"), bold=True)
    lines = described["diff"].split("\n")[2:-1]
    for place, line in enumerate(lines):
        shown = safe_lines(_window(lines, place).removesuffix("\r"))[0]
        style = _STYLES.get(line[:1])
        yield click.style(shown, **style) if style else shown


def _window(lines: list[str], place: int) -> str:
    """Return the line at ``place``; if it is long, only the part around the change in it.

    The change is found by comparison with the next line (``-``) or the one before (``+``).
    """
    line = lines[place]
    if len(line) <= LONGEST:
        return line
    mark, other = line[:1], {"-": place + 1, "+": place - 1}.get(line[:1])
    start = 1
    if other is not None and 0 <= other < len(lines):
        common = commonprefix([line[1:], lines[other][1:]])
        start = max(len(common) - LONGEST // 4, 0) + 1
    shown = line[start : start + LONGEST]
    before, after = "… " if start > 1 else "", " …" if start + LONGEST < len(line) else ""
    return f"{mark}{before}{shown}{after}"


def status_lines(found: "Sequence[InstallStatus]", limit: int | None) -> Iterator[str]:
    """Yield a table of all agents, and below it a line for everything that is wrong."""
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
