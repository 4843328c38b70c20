"""The line below a result: the command that shows its session, and facts about the session."""

from collections.abc import Iterable

import click

from session_memory.render.text import cut, safe, width

INDENT = "  "


def look_line(name: str, facts: Iterable[str], columns: int, *, around: int | None = None) -> str:
    """Return a line like ``session-memory show NAME  codex · webshop · 2 days ago``.

    It has at most ``columns`` columns. The command is never cut; the facts are cut at their end, so
    callers put a title last. ``around`` is the number of the event that the command shows.
    """
    at = "" if around is None else f" --around {around}"
    look = f"{INDENT}session-memory show {safe(name)}{at}"
    room = columns - width(look) - len(INDENT)
    known = cut(safe(" · ".join(filter(None, facts))), room) if room > 1 else ""
    shown = f"{INDENT}{click.style(known, dim=True)}" if known else ""
    return f"{click.style(look, fg='cyan')}{shown}"
