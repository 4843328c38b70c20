"""A proposal to write lessons into a file, as lines: a coloured diff, and what was left out."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.learn.proposals import Proposal

_STYLES: dict[str, dict[str, Any]] = {
    "+": {"fg": "green"},
    "-": {"fg": "red"},
    "@": {"fg": "cyan"},
}


def proposal_lines(proposal: "Proposal") -> Iterator[str]:
    held = plural(len(proposal.lessons), "lesson")
    same = "" if proposal.is_change else "; nothing would change"
    name = short_path(proposal.target.path)
    yield click.style(safe(f"{name} ({proposal.target.repo}): {held}{same}"), bold=True)
    # A line of the file may contain escape sequences. They are shown, not sent to the terminal.
    for line in proposal.diff().split("\n")[:-1]:
        shown = safe_lines(line.removesuffix("\r"))[0]
        style = _STYLES.get(line[:1])
        yield click.style(shown, **style) if style else shown
    for skipped in proposal.skipped:
        yield click.style(safe(f"left out {skipped.lesson}: {skipped.reason}"), dim=True)
