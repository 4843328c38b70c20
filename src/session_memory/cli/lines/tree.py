"""A session's family (parent, forks, subagents) as a tree with the usage and cost of each."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.views.figures import count, local, plural

if TYPE_CHECKING:
    from session_memory.views.family import AbandonedBranch, FamilyNode, FamilyTree

COLUMNS = (
    # Cut in the middle, because the names of a session's subagents differ at their end.
    Column("session", flexible=True, middle=True, least=26),
    Column("when", spare=2),
    Column("turns", right=True, spare=4),
    Column("out", right=True, spare=3),
    Column("cache", right=True, spare=5),
    Column("cost", right=True),
    Column("with subagents", right=True, spare=1),
    Column("title", flexible=True, least=30),
)
_RELATIONS: dict[str, dict[str, Any]] = {
    "subagent": {"fg": "blue"},
    "fork": {"fg": "magenta"},
    "resume": {"fg": "green"},
}
Row = list[str | Cell]


def family_lines(
    family: "FamilyTree", names: Callable[[str], str], limit: int | None
) -> Iterator[str]:
    rows = list(_rows(family.root, names, family.asked, "", ""))
    yield from table(COLUMNS, rows, limit)
    yield ""
    nodes = family.root.every()
    spent = money(family.amount) if family.amount != Amount() else "no usage"
    together = " together" if len(nodes) > 1 else ""
    yield f"{plural(len(nodes), 'session')}, {spent}{together}"
    if family.left_out:
        deeper = plural(family.left_out, "more session")
        yield f"{deeper} below the hundredth level: not shown and not counted"


def _rows(
    node: "FamilyNode", names: Callable[[str], str], asked: str, start: str, below: str
) -> Iterator[Row]:
    session = node.session
    uid = session.session_uid
    style: dict[str, Any] = {"fg": "cyan", "bold": True} if uid == asked else {"fg": "cyan"}
    yield [
        Cell(f"{start}{names(uid)}", style),
        local(session.started_at),
        count(session.cost.turns),
        count(session.cost.output_tokens),
        count(session.cost.cache_tokens),
        money(node.own),
        "" if money(node.total) == money(node.own) else money(node.total),
        _title(node),
    ]
    last = len(node.branches) + len(node.children) - 1
    for place, branch in enumerate(node.branches):
        yield _branch(branch, f"{below}{'└─ ' if place == last else '├─ '}")
    for place, child in enumerate(node.children, len(node.branches)):
        is_last = place == last
        mark, more = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _rows(child, names, asked, below + mark, below + more)


def _title(node: "FamilyNode") -> Cell:
    relation = node.session.relation
    words = f"({relation}) {node.title}" if relation else node.title
    return Cell(words, _RELATIONS.get(relation or "", {}))


def _branch(branch: "AbandonedBranch", start: str) -> Row:
    what = f"(abandoned branch) {plural(branch.events, 'event')} from {branch.first_seq} on"
    style = {"dim": True}
    return [
        Cell(f"{start}branch", style),
        "",
        "",
        Cell(count(branch.output_tokens), style),
        "",
        "",
        "",
        Cell(what, style),
    ]
