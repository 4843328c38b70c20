"""Answers about cost as lines for a terminal: reports, audits of sessions, prices of models."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from session_memory.cli.kit.output import Cell, Column, table
from session_memory.cli.lines.bars import bar, room, signs, spark
from session_memory.derive.agents import short_model
from session_memory.pricing.money_text import shown
from session_memory.pricing.sessions import Amount
from session_memory.render.text import safe, width
from session_memory.views.figures import count, local, plural

if TYPE_CHECKING:
    from session_memory.pricing.rates import Rate
    from session_memory.views.cost import CostReport, CostRow
    from session_memory.views.cost_audit import CostAudit
    from session_memory.views.session_labels import SessionLabels

MONEY = {"fg": "green"}
_FIGURES = ("in", "out", "cache read", "cache write")
# On a narrow terminal, the column with the highest number is left out first.
_SPARE = {"in": 3, "out": 2, "cache read": 4, "cache write": 5}
NARROW = 80
MOST_DAYS = 4000


# Names of these kinds differ at their ends: the number of a pull request, the last directory.
_CUT_IN_THE_MIDDLE = ("session", "repo", "task", "branch", "pr")


def report_lines(
    report: "CostReport",
    rows: "list[CostRow]",
    limit: int | None,
    labels: "SessionLabels",
) -> Iterator[str]:
    """Yield a cost report: a table of ``rows``, a sparkline of days, and usage without a price.

    The total covers the whole report, also rows that are not shown. ``labels`` has the names and
    titles of sessions.
    """
    if not report.rows:
        return
    yield from _table(report, rows, limit, labels)
    if report.by == "day" and len(report.rows) > 2:
        yield ""
        yield from _days(report, limit)
    yield from unpriced_lines(report.unpriced)


def _table(
    report: "CostReport", rows: "list[CostRow]", limit: int | None, labels: "SessionLabels"
) -> Iterator[str]:
    narrow = limit is not None and limit < NARROW
    figures = () if narrow else _FIGURES
    trees = ["with subagents"] if report.by == "session" else []
    columns = [
        Column(
            report.by,
            flexible=report.by != "block",
            middle=report.by in _CUT_IN_THE_MIDDLE,
            least=26 if report.by in ("branch", "pr") else 17,
        ),
        *([Column("title", flexible=True, least=30)] if report.by == "session" else []),
        *([] if narrow or report.by in ("model", "session") else [Column("models", flexible=True)]),
        *(Column(name, right=True, spare=_SPARE[name]) for name in figures),
        Column("cost", right=True),
        *(Column(name, right=True, spare=1) for name in trees),
    ]
    cells = [_cells(report, row, columns, labels) for row in rows]
    total = _total(report, columns)
    lines = list(table(columns, [*cells, total], limit))
    yield from _with_bars(lines, [_length(row) for row in rows], limit)


def _length(row: "CostRow") -> int:
    """Return the amount for the row's bar. That of a session includes its subagents."""
    whole: dict[str, int] = row.about.get("with_subagents") or {}
    return whole.get("microdollars", row.tally.microdollars)


def _cells(
    report: "CostReport", row: "CostRow", columns: list[Column], labels: "SessionLabels"
) -> list[str | Cell]:
    given, output, read, written, *_ = row.tally.buckets
    values: dict[str, str | Cell] = {
        report.by: _name(report.by, row, labels),
        "models": ", ".join(short_model(model) for model in row.models),
        "in": count(given),
        "out": count(output),
        "cache read": count(read),
        "cache write": count(written),
        "cost": Cell(shown(row.tally.amount), MONEY),
    }
    if report.by == "session":
        values["title"] = _title(row, labels)
        values["with subagents"] = Cell(shown(Amount(**row.about["with_subagents"])), MONEY)
    return [values[column.title] for column in columns]


def _total(report: "CostReport", columns: list[Column]) -> list[str | Cell]:
    given, output, read, written, *_ = report.totals.buckets
    values = {
        report.by: "total",
        "in": count(given),
        "out": count(output),
        "cache read": count(read),
        "cache write": count(written),
        "cost": shown(report.totals.amount),
    }
    return [Cell(values.get(column.title, ""), {"bold": True}) for column in columns]


def _title(row: "CostRow", labels: "SessionLabels") -> str:
    kind = f"({row.about['relation']}) " if row.about.get("relation") else ""
    return f"{kind}{labels.title(row.key or '') or row.about.get('title') or ''}".rstrip()


def _name(by: str, row: "CostRow", labels: "SessionLabels") -> str:
    if row.key is None:
        return "(no date)" if by in ("day", "week", "month", "block") else "-"
    if by == "block":
        now = "  now" if row.about.get("is_active") else ""
        return f"{local(row.key)} – {local(row.about['ends'], '%H:%M')}{now}"
    return labels.name(row.key)


def _with_bars(lines: list[str], amounts: list[int], limit: int | None) -> Iterator[str]:
    """Yield the table's lines with a bar at the end of each row, if there is room."""
    head, *body, total = lines
    taken = max(width(_plain(line)) for line in lines) + 2
    columns, using = room(limit, taken, 24), signs()
    yield head
    for line, amount in zip(body, amounts, strict=True):
        drawn = bar(amount, max(amounts, default=0), columns, using)
        blank = " " * (taken - width(_plain(line)))
        yield f"{line}{blank}{drawn}".rstrip()
    yield total


def _plain(line: str) -> str:
    from click import unstyle

    return unstyle(line)


def _days(report: "CostReport", limit: int | None) -> Iterator[str]:
    """Yield one line with a sparkline of all days of the report; a day without usage is blank."""
    spent = {row.key: row.tally.microdollars for row in report.rows if row.key is not None}
    first, last = date.fromisoformat(min(spent)), date.fromisoformat(max(spent))
    span = (last - first).days + 1
    if span > MOST_DAYS:
        return
    days = [(first + timedelta(days=day)).isoformat() for day in range(span)]
    drawn = spark([spent.get(day, 0) for day in days], room(limit, 27, 90) or 1, signs())
    yield f"{first}  {drawn}  {last}"


def unpriced_lines(unpriced: list[dict[str, object]]) -> Iterator[str]:
    for each in unpriced:
        parts = []
        if each["tokens"]:
            parts.append(plural(int(str(each["tokens"])), "token"))
        if each.get("web_searches"):
            searches = int(str(each["web_searches"]))
            parts.append(f"the fee of {plural(searches, 'web search', 'web searches')}")
        what = " and ".join(parts) or "nothing used"
        yield f"unpriced: {safe(str(each['model']))}, {what}"


# ---------------------------------------------------------------- audit


def audit_lines(audit: "CostAudit", limit: int | None) -> Iterator[str]:
    """Yield a line for each response, below it tokens x price of each kind, then the sums."""
    for record in audit.records:
        usage = record.usage
        head = f"#{usage.seq}  {local(usage.ts)}  {record.rate.kind.label}  {usage.usage_id}"
        head += f"  [branch {record.branch}]" if record.branch is not None else ""
        head += "  [a subagent's, reported here]" if usage.reported else ""
        amount = "unpriced" if record.rate.price is None else exact(record.microdollars)
        yield f"{safe(head)}  {amount}"
        for part in record.parts:
            per = "each" if part.bucket == "search" else "a million"
            price = "?" if record.rate.price is None else exact(_per(part.bucket, part.price))
            product = f" = {_pico(part.picodollars)}" if record.rate.price is not None else ""
            yield f"    {part.count:>12,} {part.bucket:<14} x {price} {per}{product}"
        yield safe(f"    {record.rate.words}")
    if not audit.records:
        yield "own: the log reports no usage"
    else:
        yield f"own: {shown(audit.own)} ({exact(audit.own.microdollars)})"
    for branch, spent in audit.branches.items():
        yield safe(f"of these on branch {branch}: {exact(spent)}")
    for uid, below in audit.subagents.items():
        yield safe(f"subagent {uid}: {shown(below)}")
    if audit.subagents:
        yield f"with subagents: {shown(audit.whole)} ({exact(audit.whole.microdollars)})"


def _per(bucket: str, price: int) -> int:
    """Convert ``price`` to micro-dollars: per million tokens, or for one search.

    ``price`` is in picodollars per token or per search. One picodollar per token is one
    micro-dollar per million tokens, so for tokens the number stays the same.
    """
    return price // 1_000_000 if bucket == "search" else price


def exact(microdollars: int) -> str:
    """Return an amount in dollars with all six decimals: ``$0.018214``."""
    return f"${microdollars // 1_000_000:,}.{microdollars % 1_000_000:06}"


def _pico(picodollars: int) -> str:
    return f"${picodollars // 10**12:,}.{picodollars % 10**12:012}".rstrip("0").rstrip(".")


# ---------------------------------------------------------------- prices

PRICES = (
    Column("model", flexible=True, least=26),
    Column("listed as", flexible=True, spare=7),
    Column("since", spare=3),
    Column("context", right=True, spare=4),
    Column("in", right=True),
    Column("read", right=True, spare=1),
    Column("write", right=True, spare=2),
    Column("1h write", right=True, spare=5),
    Column("out", right=True),
    Column("1k searches", right=True, spare=6),
)


def price_lines(rates: "list[Rate]", limit: int | None) -> Iterator[str]:
    """Return a table of prices in dollars: for a million tokens and for a thousand searches."""
    # Agents log the standard speed and tier in several ways. Equal rows are shown once.
    rows: list[list[str | Cell]] = []
    for rate in rates:
        if (row := _price(rate)) not in rows:
            rows.append(row)
    return table(PRICES, rows, limit)


def _price(rate: "Rate") -> list[str | Cell]:
    model, price = rate.kind.label, rate.price
    if rate.kind.tier not in (None, "standard", "default"):
        model += f", {rate.kind.tier}"
    if price is None:
        return [model, Cell("unpriced", {"fg": "yellow"}), *[""] * 8]
    prices = (price.input, price.cache_read, price.cache_write, price.cache_write_1h, price.output)
    return [
        model,
        f"{rate.provider}/{rate.listed}" if rate.listed else rate.provider,
        price.since or "ever",
        f">= {count(price.above)}" if price.above else "",
        *(_trimmed(each) for each in prices),
        "" if price.search is None else _trimmed(price.search // 1_000),
    ]


def _trimmed(microdollars: int) -> str:
    return exact(microdollars).rstrip("0").rstrip(".")
