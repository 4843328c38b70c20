"""The table of sessions."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.derive.agents import short_model
from session_memory.pricing import Amount, shown
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


def session_lines(
    listing: "SessionList", limit: int | None, tz: tzinfo | None = None
) -> Iterator[str]:
    """One line for each session; a wide terminal shows more of it, a narrow one less."""
    if not listing.sessions:
        return iter(())
    left_out = _left_out(listing, limit)
    columns = [column for column in COLUMNS if column.title not in left_out]
    places = [COLUMNS.index(column) for column in columns]
    cells = (_cells(session, listing, tz) for session in listing.sessions)
    return table(columns, [[row[place] for place in places] for row in cells], limit)


COLUMNS = (
    Column("session"),
    Column("flavor", spare=6),
    Column("when", spare=1),
    Column("host", flexible=True, spare=7),
    Column("repo", flexible=True, spare=3),
    Column("branch", flexible=True, spare=8),
    Column("time", right=True, spare=8),
    Column("outcome", spare=8),
    Column("model", flexible=True, spare=8),
    Column("turns", right=True, spare=5),
    Column("in", right=True, spare=8),
    Column("out", right=True, spare=4),
    Column("cache", right=True, spare=8),
    Column("cost", right=True, spare=2),
    Column("child", right=True, spare=8),
    Column("title", flexible=True),
)


def _left_out(listing: "SessionList", limit: int | None) -> set[str]:
    """Columns for which there is no room, or in which every line would say the same."""
    left_out = {"host"} if _is_same(one.host for one in listing.sessions) else set()
    left_out |= set() if listing.amounts else {"cost"}
    if limit is not None and limit >= WIDE:
        return left_out
    left_out |= {"flavor"} if _is_same(one.flavor for one in listing.sessions) else set()
    left_out |= {"branch", "time", "outcome"}
    is_narrow = limit is not None and limit < NARROW
    return left_out | {"host", "model", "in", "cache", "child"} if is_narrow else left_out


def _is_same(values: Iterable[str | None]) -> bool:
    return len(set(values)) < 2


def _cells(session: "Session", listing: "SessionList", tz: tzinfo | None) -> tuple[str | Cell, ...]:
    """In the order of ``COLUMNS``."""
    cost = session.cost
    return (
        Cell(listing.names[session.session_uid], {"fg": "cyan"}),
        session.flavor,
        local(session.ended_at, tz=tz),
        session.host or "-",
        session.repo or "-",
        session.git_branch or "-",
        duration(cost.wall_clock_s),
        Cell(session.outcome, _OUTCOMES.get(session.outcome, {"dim": True})),
        short_model(session.model or "-"),
        count(cost.turns),
        count(cost.input_tokens),
        count(cost.output_tokens),
        count(cost.cache_tokens),
        shown(listing.amounts.get(session.session_uid, Amount())),
        count(listing.children.get(session.session_uid, 0)),
        _title(session),
    )


def _title(session: "Session") -> str:
    title = session.title or ""
    return f"({session.relation}) {title}".rstrip() if session.relation else title
