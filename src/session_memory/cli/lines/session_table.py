"""The table of sessions that ``session-memory sessions`` prints."""

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.derive.agents import short_model
from session_memory.pricing import Amount, shown
from session_memory.views.figures import brief_time, count, duration, local, plural

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.sessions import SessionList

# A terminal with at least this many columns shows whole dates.
ROOMY = 116
# Columns that are left out if the output is no terminal.
_RARE = ("branch", "time", "outcome")
NOT_ANALYZED = "not analyzed"
OUTCOME_STYLES: dict[str, dict[str, Any]] = {
    "success": {"fg": "green"},
    "fail": {"fg": "red"},
    "abandoned": {"fg": "yellow"},
    "continued": {"fg": "cyan"},
}


def session_lines(
    listing: "SessionList", limit: int | None, tz: tzinfo | None = None
) -> Iterator[str]:
    """Return a table with a line for each session. A wide terminal shows more columns."""
    if not listing.sessions:
        return iter(())
    left_out = _left_out(listing, limit)
    places = [n for n, column in enumerate(COLUMNS) if column.title not in left_out]
    columns = [COLUMNS[place] for place in places]
    # People look for titles, so on a wide terminal the title gets two fifths of the width.
    least = max(columns[-1].least, (limit or 0) * 2 // 5)
    columns[-1] = columns[-1]._replace(least=least)
    is_roomy = limit is None or limit >= ROOMY
    cells = (_cells(session, listing, tz, is_roomy) for session in listing.sessions)
    return table(columns, [[row[place] for place in places] for row in cells], limit)


COLUMNS = (
    Column("session", flexible=True, middle=True, least=17),
    Column("flavor", spare=5),
    Column("when", spare=1),
    Column("host", flexible=True, spare=9),
    Column("repo", flexible=True, middle=True, least=12, spare=3),
    Column("branch", flexible=True, spare=12),
    Column("time", right=True, spare=11),
    Column("outcome", spare=7),
    Column("model", flexible=True, spare=6),
    Column("turns", right=True, spare=8),
    Column("in", right=True, spare=13),
    Column("out", right=True, spare=4),
    Column("cache", right=True, spare=13),
    Column("cost", right=True, spare=2),
    Column("child", right=True, spare=10),
    Column("title", flexible=True, least=36),
)


def _left_out(listing: "SessionList", limit: int | None) -> set[str]:
    """Return the titles of columns to leave out.

    These are columns with the same value in every line or no value at all and, if the output is no
    terminal, columns that few people look for.
    """
    left_out = {"host"} if _is_same(one.host for one in listing.sessions) else set()
    left_out |= {"flavor"} if _is_same(one.flavor for one in listing.sessions) else set()
    left_out |= set() if listing.amounts else {"cost"}
    # If subagents are folded, their number follows the title.
    left_out |= {"child"} if listing.folded else set()
    return left_out | set(_RARE) if limit is None else left_out


def _is_same(values: Iterable[str | None]) -> bool:
    return len(set(values)) < 2


def _cells(
    session: "Session", listing: "SessionList", tz: tzinfo | None, is_roomy: bool
) -> tuple[str | Cell, ...]:
    """The cells of one session, in the order of ``COLUMNS``."""
    cost = session.cost
    return (
        Cell(listing.names[session.session_uid], {"fg": "cyan"}),
        session.flavor,
        local(session.ended_at, tz=tz) if is_roomy else brief_time(session.ended_at, tz),
        session.host or "-",
        session.repo or "-",
        session.git_branch or "-",
        duration(cost.wall_clock_s),
        _outcome(session),
        short_model(session.model or "-"),
        count(cost.turns),
        count(cost.input_tokens),
        count(cost.output_tokens),
        count(cost.cache_tokens),
        shown(listing.amounts.get(session.session_uid, Amount())),
        count(listing.children.get(session.session_uid, 0)),
        _title(session, listing, is_roomy),
    )


def _outcome(session: "Session") -> Cell:
    if session.analyzed_at is None:
        return Cell(NOT_ANALYZED, {"dim": True})
    return Cell(session.outcome, OUTCOME_STYLES.get(session.outcome, {"dim": True}))


def _title(session: "Session", listing: "SessionList", is_roomy: bool) -> Cell:
    title = listing.titles[session.session_uid]
    text = f"({session.relation}) {title}" if session.relation else title
    fold = listing.folds.get(session.session_uid)
    if fold is None:
        return Cell(text)
    is_more = session.relation == "subagent"
    words = f"{fold.sessions} more" if is_more else plural(fold.sessions, "subagent")
    spent = f", {shown(fold.amount)}" if is_roomy and fold.amount.microdollars else ""
    return Cell(text, tail=f" +{words}{spent}")
