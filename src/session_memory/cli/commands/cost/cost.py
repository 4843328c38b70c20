"""Show what was spent, by day, model, repository or session.

Each response of a model is priced once, at the price that was valid on its day, from the price
table of this program. A model without a price is listed as unpriced: its tokens are counted, but no
amount includes it. To set prices of your own, use the configuration file. docs/cost.md explains the
rules.
"""

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet, complete_uid
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.web_page import remark_page
from session_memory.cli.kit.when import when_options
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from datetime import tzinfo

    from session_memory.memory import Memory
    from session_memory.views.cost import CostReport, CostRow
    from session_memory.views.cost_audit import CostAudit
    from session_memory.views.cost_comparison import CostComparison
    from session_memory.views.cost_prices import PriceRows
    from session_memory.views.session_labels import SessionLabels

_PLURALS = {"branch": "branches", "pr": "pull requests"}
# What to say about usage that belongs to no commit, branch, pull request or task.
_LINKED = {
    "commit": "belongs to no commit: it came after the last one of its session",
    "branch": "belongs to no branch: the log names none",
    "pr": "belongs to no pull request",
    "task": "belongs to no task",
}
GROUPINGS = (
    *("day", "week", "month", "block", "model", "repo", "flavor", "session", "task"),
    *("commit", "branch", "pr"),
)
# How many rows are shown without --limit.
SHOWN_DAYS, SHOWN = 31, 20
ALL = ""
"""The value of --audit without a session."""


@make_command(
    examples=(
        ("cost --by model --since 2026-07", "by model, since July"),
        ("cost --by session --repo webshop", "the most expensive sessions, with subagents"),
        ("cost --by task", "what each issue or pull request cost"),
        ("cost --by commit --since 7d", "what each commit of a week cost"),
        ("cost --audit 5b0c6a1e", "how the cost of a session was calculated"),
        ("cost --audit", "the costs that agents log, beside our amounts"),
        ("cost --by month --tz UTC --json", "for a script"),
    ),
    json_shape='Amounts are in microdollars, millionths of a dollar. {"totals":'
    ' {"input_tokens", …, "responses", "microdollars", "unpriced_tokens"},'
    ' "by", "rows": [{"key", "input_tokens", …, "microdollars", "unpriced_tokens", "models"}, …],'
    ' "unpriced": [{"model", "tokens"}, …], "prices": {"version", "digest", "own"}}; with'
    ' "notes" if agents leave tokens out; a session has "with_subagents" too, a block'
    ' "ends" and "is_active". --audit: {"session_uid",'
    ' "records": [{"usage_id", "event_uid", "parts", "microdollars", "rule", …}, …], "totals",'
    ' "branches", "subagents", "with_subagents", …}; without UID: {"rows": [{"flavor", "model",'
    ' "per", "figures", "compared", "reported", "ours", "difference", "zero", "unpriced",'
    ' "unpriced_reported", "responses"}, …], "differences": [{"session_uid", …}, …], "notes",'
    ' "prices"}. --prices: {"prices", "rows": [{"model", "provider", "since", …}, …]}, in'
    " picodollars for a token, which is the same number as microdollars for a million tokens.",
)
@click.option(
    "--by",
    type=click.Choice(GROUPINGS),
    default="day",
    show_default=True,
    help="Make one row for each of these; a block is five hours, as subscriptions count them.",
)
@click.option(
    "--flavor",
    metavar="NAME",
    shell_complete=complete_facet("flavor"),
    help="Only sessions of this agent; wildcards: * and ?.",
)
@click.option(
    "--repo",
    metavar="NAME",
    shell_complete=complete_facet("repo"),
    help="Only sessions of this repository; wildcards: * and ?.",
)
@click.option(
    "--model",
    metavar="TEXT",
    shell_complete=complete_facet("model"),
    help="Only models whose name contains this; wildcards: * and ?.",
)
@click.option(
    "--session",
    metavar="UID",
    shell_complete=complete_uid,
    help="Only this session and its subagents.",
)
@click.option("--task", metavar="REF", help="Only sessions with this task, such as #12.")
@when_options
@click.option(
    "--audit",
    metavar="[UID]",
    is_flag=False,
    flag_value=ALL,
    shell_complete=complete_uid,
    help="Show every response of a session with its price. Without UID, compare the costs that the"
    " agents themselves log with our amounts; a difference is our amount minus the agent's.",
)
@click.option("--prices", is_flag=True, help="Show the prices of the models in the store.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"At most N rows; 0 for all.  [default: the newest {SHOWN_DAYS} periods, or the {SHOWN}"
    " most expensive rows of another grouping; all with --json]",
)
@click.pass_obj
def command(
    settings: Settings,
    /,
    by: str,
    audit: str | None,
    prices: bool,
    limit: int | None,
    **filters: Any,
) -> None:
    from session_memory.views.session_labels import session_labels

    if audit == ALL:
        _refuse("--audit", "by task prices")
    elif audit is not None:
        _refuse("--audit UID", "by flavor repo model session task since until tz prices limit")
    elif prices:
        _refuse("--prices", "by task limit")
    with settings.memory() as memory:
        if audit == ALL:
            del filters["task"]
            _print_comparison(settings, memory, limit, memory.cost_audit(**filters))
            return
        if audit is not None:
            shown = memory.session(audit)
            _print_audit(settings, shown.audit())
            remark_page(settings, memory.store, shown.uid, "cost")
            return
        if prices:
            del filters["task"]
            _print_prices(settings, memory.prices(**filters))
            return
        report = memory.cost(by, **filters)
        rows = _shown_rows(report, limit, settings.as_json)
        if settings.as_json:
            print_json({**report.to_dict(), "rows": [row.to_dict() for row in rows]})
            return
        uids = {row.key for row in rows if row.key} if report.by == "session" else ()
        _print(settings, report, rows, session_labels(memory.store, uids))
        _print_warnings(memory, filters["tz"])


def _refuse(option: str, others: str) -> None:
    """Raise if the user gave one of ``others``, which ``option`` would ignore."""
    ctx = click.get_current_context()
    for name in others.split():
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} cannot be used with {option}", ctx)


def _shown_rows(report: "CostReport", limit: int | None, as_json: bool) -> "list[CostRow]":
    """Return the rows to show: the newest periods; in any other grouping, the most expensive."""
    in_time = report.by in ("day", "week", "month", "block")
    if limit is None:
        limit = 0 if as_json else SHOWN_DAYS if in_time else SHOWN
    if not limit:
        return report.rows
    return report.rows[-limit:] if in_time else report.rows[:limit]


def _print(
    settings: Settings, report: "CostReport", rows: "list[CostRow]", labels: "SessionLabels"
) -> None:
    from session_memory.cli.lines.cost import report_lines
    from session_memory.cli.lines.cost_comparison import note_lines
    from session_memory.pricing import shown as money

    print_lines(report_lines(report, rows, terminal_width(), labels))
    if not report.rows:
        remark(settings, "No usage in this selection. Collect new logs: session-memory sync")
        return
    if len(rows) < len(report.rows):
        plural = _PLURALS.get(report.by, f"{report.by}s")
        shown = f"{len(rows):,} of {len(report.rows):,} {plural}"
        remark(settings, f"{shown}; --limit 0 lists all.")
    if report.by in _LINKED and (others := [row for row in report.rows if row.key is None]):
        cost = money(others[0].tally.amount)
        remark(settings, f"{cost} of {money(report.totals.amount)} {_LINKED[report.by]}.")
    for note in note_lines(report.notes):
        remark(settings, note)
    if report.unpriced:
        remark(
            settings,
            "Set prices for unpriced models: session-memory config --example, section [prices]",
        )
    remark(settings, f"Prices: {report.prices['version']} ({report.prices['digest'][:12]})")


def _print_audit(settings: Settings, audit: "CostAudit") -> None:
    from session_memory.cli.lines.cost import audit_lines
    from session_memory.views.cost_audit import ROUNDING

    if settings.as_json:
        print_json(audit.to_dict())
        return
    print_lines(audit_lines(audit, terminal_width()))
    prices = audit.prices
    remark(settings, f"Prices: {prices['version']} ({prices['digest'][:12]}); {ROUNDING}.")


def _print_comparison(
    settings: Settings, memory: "Memory", limit: int | None, compared: "CostComparison"
) -> None:
    from session_memory.cli.lines.cost_comparison import comparison_lines, difference_lines
    from session_memory.views.session_labels import session_labels

    if limit is None:
        limit = 0 if settings.as_json else SHOWN
    rows = compared.differences[: limit or None]
    if settings.as_json:
        print_json({**compared.to_dict(), "differences": [row.to_dict() for row in rows]})
        return
    if not compared.rows:
        remark(settings, "No agent in this selection logs what it cost.")
        return
    print_lines(comparison_lines(compared, terminal_width()))
    if rows:
        labels = session_labels(memory.store, {row.uid for row in rows})
        print_lines(["", *difference_lines(rows, terminal_width(), labels)])
    if len(rows) < len(compared.differences):
        every = plural(len(compared.differences), "difference")
        remark(settings, f"{len(rows):,} of {every}; --limit 0 lists all.")
    remark(settings, f"Prices: {compared.prices['version']} ({compared.prices['digest'][:12]})")


def _print_prices(settings: Settings, listing: "PriceRows") -> None:
    from session_memory.cli.lines.cost import price_lines

    if settings.as_json:
        print_json(listing.to_dict())
        return
    if listing.rates:
        print_lines(price_lines(listing.rates, terminal_width()))
    else:
        remark(settings, "No models yet. Collect logs with: session-memory sync")
    used = listing.prices
    table = f"{used['version']} ({used['digest'][:12]})"
    remark(settings, f"Prices: {table}, dollars for a million tokens or a thousand searches.")


def _print_warnings(memory: "Memory", tz: "tzinfo | None") -> None:
    """Warn when the money spent is near a limit or over it."""
    from session_memory.cli.lines.budget import warnings

    limits = memory.config.budget
    if limits.day is None and limits.month is None:
        return
    for warning in warnings(memory.budget(tz=tz)):
        click.secho(warning, fg="yellow", err=True)
