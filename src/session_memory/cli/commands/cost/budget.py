"""Show what was spent, and what is left of your limits.

The exit status is 3 if a limit is exceeded. Section [budget] of the configuration file has the
limits; budget set writes them there. No amount includes usage of models without a price.
"""

import math
from datetime import tzinfo
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.output import print_json, print_lines, remark, terminal_width
from session_memory.cli.kit.settings import Settings
from session_memory.cli.kit.when import Zone


class Dollars(click.ParamType[float]):
    """A limit in dollars: at least a cent, or 0 for no limit. A leading dollar sign is allowed."""

    name = "dollars"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        from session_memory.core.money import LEAST_LIMIT, MOST_LIMIT

        try:
            dollars = float(str(value).strip().removeprefix("$"))
        except ValueError:
            self.fail(f"{str(value)!r} is not a number of dollars", param, ctx)
        if not math.isfinite(dollars):
            self.fail(f"{str(value)!r} is not a number of dollars", param, ctx)
        if dollars and not LEAST_LIMIT <= dollars <= MOST_LIMIT:
            least, most = f"{LEAST_LIMIT:g}", f"{MOST_LIMIT:,}"
            self.fail(f"a limit is from {least} to {most} dollars, or 0 for none", param, ctx)
        return dollars


@make_command(
    examples=(
        ("budget", "what was spent today and this month, and what is left"),
        ("budget set --month 200", "a limit of 200 dollars a month"),
        ("budget set --day 20 --month 0", "20 dollars a day, no limit for the month"),
        ("budget --quiet || notify-send 'over budget'", "exit status 3 when over"),
    ),
    json_shape='{"state", "periods": [{"period", "begins", "ends", "state", "limit_microdollars",'
    ' "spent_microdollars", "left_microdollars", "forecast_microdollars", "unpriced_tokens"}, …],'
    ' "prices": {"version", "digest", "own"}}; "state" is ok, near (80 % and more), over or'
    ' unlimited; microdollars are millionths of a dollar; "forecast_microdollars" is the amount at'
    " the end of the period if spending goes on at the same pace.",
)
@click.argument("action", type=click.Choice(["show", "set"]), default="show")
@click.option("--day", type=Dollars(), metavar="DOLLARS", help="The limit for a day; 0 for none.")
@click.option(
    "--month", type=Dollars(), metavar="DOLLARS", help="The limit for a month; 0 for none."
)
@click.option(
    "--tz",
    type=Zone(),
    metavar="ZONE",
    help="Time zone for days and months.  [default: this machine's]",
)
@click.pass_context
def command(
    ctx: click.Context, action: str, day: float | None, month: float | None, tz: tzinfo | None
) -> None:
    from session_memory.cli.lines.budget import budget_lines, warnings

    settings: Settings = ctx.obj
    if action == "set":
        _set(settings, day, month)
    elif day is not None or month is not None:
        raise click.UsageError("to set a limit: budget set --day DOLLARS --month DOLLARS")
    with settings.memory() as memory:
        found = memory.budget(tz=tz)
    if settings.as_json:
        print_json(found.to_dict())
    else:
        print_lines(budget_lines(found, terminal_width()))
        for warning in warnings(found):
            click.secho(warning, fg="yellow", err=True)
        if found.state == "unlimited":
            remark(settings, "No limit is set. Set one with: session-memory budget set --month 200")
    if found.state == "over":
        ctx.exit(PROBLEMS)


def _set(settings: Settings, day: float | None, month: float | None) -> None:
    from session_memory.cli.kit.config_file import set_values
    from session_memory.config import config_path

    options = {"day": day, "month": month}
    limits = {name: value or None for name, value in options.items() if value is not None}
    if not limits:
        raise click.UsageError("give a limit: --day DOLLARS or --month DOLLARS")
    set_values(settings.config or config_path(), "budget", limits)
