"""Sum up the store in a few lines, and suggest what to do next.

session-memory without a command prints the same. Nothing is written, and no store is created.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.calling import how_to_call
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.output import print_json, print_lines, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.lines.folding import wrapped
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.views.overview import NextStep, Overview

MARGIN = 16


@make_command(
    examples=(
        ("", "how is my store?"),
        ("status --json", "the same for a script"),
        ("status --store team.db", "of another store"),
    ),
    json_shape='{"store": PLACE, "exists", "sessions", "subagents", "sessions_today", "agents":'
    ' {FLAVOR: N, …}, "log_flavors": [FLAVOR, …], "cost": {"today": {"microdollars",'
    ' "unpriced_tokens"}, "month": {…}}, "collected_at", "never_analyzed", "to_analyze",'
    ' "expiring": [{"flavor", "files", "at_risk", "bytes_at_risk", "days_left"}, …], "next":'
    ' [{"command", "why"}, …]}; "agents" counts the stored sessions, "log_flavors" are the agents'
    ' with logs on this machine; "expiring" are logs that an agent will delete soon, "at_risk"'
    " those of them that the store does not have.",
)
@click.pass_obj
def command(settings: Settings) -> None:
    from session_memory.store.address import shown

    found = _overview(settings)
    place = shown(settings.where())
    if settings.as_json:
        print_json({"store": place, **found.to_dict()})
        return
    if found.sessions:
        print_lines(_lines(found, place))
    else:
        click.echo(f"No sessions yet in {safe(short_path(place))}.")
    if not settings.quiet:
        print_lines(_next_lines(found.next_steps(), settings))


def _overview(settings: Settings) -> "Overview":
    from session_memory.core.errors import StoreNotFound
    from session_memory.views.overview import overview

    config = settings.configuration()
    try:
        with settings.opened(config) as store:
            return overview(store, config)
    except StoreNotFound:
        return overview(None, config)


def _lines(found: "Overview", place: str) -> Iterator[str]:
    from session_memory.core.time import now_ms
    from session_memory.pricing.money_text import dollars
    from session_memory.views.figures import age, plural
    from session_memory.views.retention import expiry_lines

    total = plural(found.sessions, "session")
    of_subagents = f" ({found.subagents:,} of subagents)" if found.subagents else ""
    agents = ", ".join(f"{one.flavor} {one.sessions:,}" for one in found.totals)
    today, month = (
        dollars(amount.microdollars) + (" + unpriced" if amount.unpriced_tokens else "")
        for amount in (found.cost_today, found.cost_month)
    )
    rows = [
        ("Store", short_path(place)),
        ("Sessions", f"{total}{of_subagents}, {found.sessions_today:,} of them active today"),
        ("Agents", agents),
        ("Cost", f"{today} today, {month} this month"),
        ("Last new data", age(found.collected_at, now_ms())),
    ]
    if found.to_analyze:
        never = f" ({found.never_analyzed:,} never analyzed)" if found.never_analyzed else ""
        rows.append(
            ("Not analyzed", f"{plural(found.to_analyze, 'session')} new or changed{never}")
        )
    rows += [("Deleted soon", line) for line in expiry_lines(found.expiring)]
    columns = terminal_width()
    for title, text in rows:
        first, *others = wrapped(safe(text), columns and columns - MARGIN)
        yield f"{click.style(f'{title:<14}', bold=True)}  {first}"
        yield from (f"{'':<{MARGIN}}{other}" for other in others)


def _next_lines(steps: "list[NextStep]", settings: Settings) -> Iterator[str]:
    from session_memory.store.address import shown

    call = how_to_call()
    # If --store was given for this run, the suggested commands need it as well.
    store = f" --store {shlex.quote(shown(settings.store))}" if settings.store else ""
    lines = [(f"{call} {step.command}{store}", step.why) for step in steps]
    lines.append((f"{call} --help", "all commands"))
    size = max(len(line) for line, _ in lines)
    yield ""
    yield "Next:"
    yield from (safe(f"  {line:<{size}}  # {why}") for line, why in lines)
