"""Sessions that an agent runtime stores live, and their messages, as lines for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.cli.lines.json_outline import outline
from session_memory.core.time import format_time
from session_memory.render.text import cut, safe, width
from session_memory.views.figures import local, plural

if TYPE_CHECKING:
    from session_memory.live.rows import MessageRow, SessionRow
    from session_memory.views.live import LiveSessionView

SEQ, ROLE = 6, 10
LONGEST = 200
_ROLES: dict[str, dict[str, Any]] = {
    "user": {"fg": "green"},
    "tool": {"fg": "cyan"},
    "system": {"dim": True},
}
_STATUS: dict[str, dict[str, Any]] = {"active": {"fg": "green"}}


def session_lines(rows: "list[SessionRow]", limit: int | None) -> Iterator[str]:
    columns = (
        Column("session"),
        Column("when"),
        Column("status"),
        Column("model", flexible=True),
        Column("cwd", flexible=True, middle=True),
        Column("title", flexible=True),
    )
    cells = (
        (
            Cell(row.session_id, {"fg": "cyan"}),
            local(format_time(row.updated_at)),
            Cell(str(row.status), _STATUS.get(str(row.status), {"dim": True})),
            row.model or "-",
            row.cwd or "-",
            row.title or "",
        )
        for row in rows
    )
    return table(columns, list(cells), limit) if rows else iter(())


def view_lines(view: "LiveSessionView", limit: int | None, *, full: bool) -> Iterator[str]:
    yield from _header(view)
    yield ""
    for message in view.messages:
        yield from message_lines(message, limit, full=full)
    for call in view.pending:
        words = f"open: {call.name} ({call.call_id}), called by message {call.seq}"
        yield click.style(safe(words), fg="yellow")


def _header(view: "LiveSessionView") -> Iterator[str]:
    row, usage = view.session, view.usage
    calls = f"{plural(usage['llm_calls'], 'call')} in {plural(usage['sends'], 'send')}"
    tokens = f"{usage['prompt_tokens']:,} in, {usage['completion_tokens']:,} out"
    forked = f"{row.forked_from} at message {row.forked_at}" if row.forked_from else None
    undone = sum(fold.is_undone for fold in view.compactions)
    facts = {
        "session": row.session_id,
        "status": f"{row.status}, at message {view.head}",
        "model": " ".join(filter(None, (row.provider, row.model))),
        "cwd": row.cwd,
        "time": f"{local(format_time(row.created_at))} to {local(format_time(row.updated_at))}",
        "usage": f"{calls}, {tokens}" if usage["llm_calls"] else None,
        "parent": row.parent_session_id,
        "fork of": forked,
        "folds": f"{len(view.compactions)} made, {undone} undone" if view.compactions else None,
        "subagents": ", ".join(view.children),
    }
    yield click.style(safe(row.title or "(no title)"), bold=True)
    for name, value in facts.items():
        if value:
            yield f"  {name:<10}{safe(value)}"


def message_lines(message: "MessageRow", limit: int | None, *, full: bool = False) -> Iterator[str]:
    """Yield one line for a message; with ``full`` also its whole content."""
    from session_memory.views.live import summary_line

    state = "" if str(message.state) == "active" else f"[{message.state}] "
    name = cut(safe(message.role), ROLE)
    role = click.style(name, **_ROLES.get(message.role, {})) + " " * (ROLE - width(name))
    room = (limit or LONGEST) - SEQ - ROLE - 4 - width(state)
    words = "" if full else cut(safe(summary_line(message)[: LONGEST * 4]), max(room, 20))
    yield f"{message.seq:>{SEQ}}  {role}  {state}{words}".rstrip()
    if full:
        shown = {
            "name": message.name,
            "content": message.content,
            "tool_calls": message.tool_calls,
            "tool_call_id": message.tool_call_id,
            "meta": message.meta,
        }
        yield from outline({name: value for name, value in shown.items() if value}, 4)
