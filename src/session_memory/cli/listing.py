"""The table of sessions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from session_memory.cli.output import Cell, Column, table
from session_memory.views.figures import count, duration, local

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.sessions import SessionList

NARROW, WIDE = 116, 150
_OUTCOMES: dict[str, dict[str, Any]] = {
    "success": {"fg": "green"},
    "fail": {"fg": "red"},
    "abandoned": {"fg": "yellow"},
}


def session_lines(listing: "SessionList", limit: int | None) -> Iterator[str]:
    """One line for each session; a wide terminal shows more of it, a narrow one less."""
    if not listing.sessions:
        return iter(())
    left_out = _left_out(listing, limit)
    columns = [column for column in COLUMNS if column.title not in left_out]
    places = [COLUMNS.index(column) for column in columns]
    cells = (_cells(session, listing) for session in listing.sessions)
    return table(columns, [[row[place] for place in places] for row in cells], limit)


COLUMNS = (
    Column("session"),
    Column("flavor"),
    Column("when"),
    Column("host", flexible=True),
    Column("repo", flexible=True),
    Column("branch", flexible=True),
    Column("time", right=True),
    Column("outcome"),
    Column("model", flexible=True),
    Column("turns", right=True),
    Column("in", right=True),
    Column("out", right=True),
    Column("cache", right=True),
    Column("child", right=True),
    Column("title", flexible=True),
)


def _left_out(listing: "SessionList", limit: int | None) -> set[str]:
    """Columns for which there is no room, or in which every line would say the same."""
    left_out = {"host"} if len(listing.hosts) < 2 else set()
    if limit is not None and limit >= WIDE:
        return left_out
    left_out |= {"flavor"} if len(listing.flavors) < 2 else set()
    left_out |= {"branch", "time", "outcome"}
    is_narrow = limit is not None and limit < NARROW
    return left_out | {"host", "model", "in", "cache", "child"} if is_narrow else left_out


def _cells(session: "Session", listing: "SessionList") -> tuple[str | Cell, ...]:
    """In the order of ``COLUMNS``."""
    cost = session.cost
    return (
        Cell(listing.names[session.session_uid], {"fg": "cyan"}),
        session.flavor,
        local(session.ended_at),
        session.host or "-",
        session.repo or "-",
        session.git_branch or "-",
        duration(cost.wall_clock_s),
        Cell(session.outcome, _OUTCOMES.get(session.outcome, {"dim": True})),
        _model(session),
        count(cost.turns),
        count(cost.input_tokens),
        count(cost.output_tokens),
        count(cost.cache_tokens),
        count(listing.children.get(session.session_uid, 0)),
        _title(session),
    )


def _model(session: "Session") -> str:
    """Model names repeat their maker and their date of release; the middle tells them apart."""
    words = (session.model or "-").removeprefix("claude-").split("-")
    return "-".join(words[:-1] if len(words) > 1 and len(words[-1]) == 8 else words)


def _title(session: "Session") -> str:
    title = session.title or ""
    return f"({session.relation}) {title}".rstrip() if session.relation else title
