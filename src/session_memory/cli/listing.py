"""The table of sessions."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from session_memory.cli.output import Cell, Column, table
from session_memory.views.figures import count, duration, local

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.sessions import SessionList

WIDE = 150
_DIM = {"dim": True}
_OUTCOMES: dict[str, dict[str, Any]] = {
    "success": {"fg": "green"},
    "fail": {"fg": "red"},
    "abandoned": {"fg": "yellow"},
}
_Render = Callable[["Session"], str | Cell]


def session_lines(listing: "SessionList", limit: int | None) -> Iterator[str]:
    """One line for each session; a wide terminal shows more of it."""
    if not listing.sessions:
        return iter(())
    columns: list[tuple[Column, _Render]] = [
        (Column("session"), lambda s: Cell(listing.names[s.session_uid], {"fg": "cyan"})),
        (Column("when"), lambda s: local(s.ended_at)),
        (Column("repo", flexible=True), lambda s: s.repo or "-"),
        *(_WIDE_COLUMNS if limit and limit >= WIDE else ()),
        (Column("model", flexible=True), lambda s: _model(s)),
        (Column("turns", right=True), lambda s: count(s.cost.turns)),
        (Column("in", right=True), lambda s: count(s.cost.input_tokens)),
        (Column("out", right=True), lambda s: count(s.cost.output_tokens)),
        (Column("cache", right=True), lambda s: count(s.cost.cache_tokens)),
        (Column("sub", right=True), lambda s: count(listing.children.get(s.session_uid, 0))),
        (Column("title", flexible=True), lambda s: _title(s)),
    ]
    rows = [[render(session) for _, render in columns] for session in listing.sessions]
    return table([column for column, _ in columns], rows, limit)


_WIDE_COLUMNS: tuple[tuple[Column, _Render], ...] = (
    (Column("branch", flexible=True), lambda s: s.git_branch or "-"),
    (Column("flavor"), lambda s: s.flavor),
    (Column("time", right=True), lambda s: duration(s.cost.wall_clock_s)),
    (Column("outcome"), lambda s: Cell(s.outcome, _OUTCOMES.get(s.outcome, _DIM))),
)


def _model(session: "Session") -> str:
    """Model names repeat their maker and their date of release; the middle tells them apart."""
    words = (session.model or "-").removeprefix("claude-").split("-")
    return "-".join(words[:-1] if len(words) > 1 and len(words[-1]) == 8 else words)


def _title(session: "Session") -> str | Cell:
    title = session.title or ""
    return f"({session.relation}) {title}".rstrip() if session.relation else title
