"""Installations for people: the diff of each file, and what is installed where."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines

if TYPE_CHECKING:
    from session_memory.install.planning import FileChange

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
