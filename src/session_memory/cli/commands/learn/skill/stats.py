"""Show how often skills pass, and which model to use.

Counts the calls in the skill logs, including those that no sync has collected yet. The advice
depends on the pass rate. 90 % or more: use the fast model. Below 70 %: use the thinking model. In
between, or if fewer than 5 calls passed or failed (with --model: 5 attempts), the advice is
"sample": try both. A call may have several attempts with different models. The call counts for the
model that it names as used, else for the model of its last attempt. Each attempt counts for its own
model. An attempt is verified if a run confirmed its result, such as
a test run.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_json,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.live.skill_rates import PassRate
    from session_memory.views.skills import SkillList

_COLORS: dict[str, dict[str, Any]] = {"fast": {"fg": "green"}, "thinking": {"fg": "yellow"}}
_COLUMNS = (
    Column("skill", flexible=True),
    Column("window"),
    Column("model", flexible=True),
    Column("pass", right=True),
    Column("fail", right=True),
    Column("skip", right=True),
    Column("total", right=True),
    Column("rate", right=True),
    Column("verified", right=True),
    Column("advice"),
)


@make_command(
    examples=(
        ("skill stats", "all skills"),
        ("skill stats --window 7d --window 30d", "the last week and the last month"),
        ("skill stats --skill 'review*' --json", "some of them, for a script"),
    ),
    json_shape='{"skills": [{"skill", "window", "model", "pass", "fail", "skip", "other", "total",'
    ' "pass_rate", "attempts", "verified", "try_rate", "evidence", "advice", "models": [{"model",'
    ' "pass", …}, …]}, …]}; "pass_rate" is pass / (pass + fail), null where there is neither;'
    ' "try_rate" is verified / attempts, null without attempts; "advice" is fast, sample or'
    ' thinking, and "evidence" the number of calls (in "models": of attempts) that the advice rests'
    ' on. "evicted" is the number of evicted sessions that are not counted, because this machine'
    " has no log of them; it is left out if there are none.",
)
@click.option("--skill", metavar="NAME", help="Only this skill; wildcards: * and ?.")
@click.option(
    "--model",
    shell_complete=complete_facet("model"),
    metavar="TEXT",
    help="Only calls of models whose name contains this.",
)
@click.option(
    "--window",
    "windows",
    multiple=True,
    default=("all",),
    metavar="WINDOW",
    help="Calls of the last 7d, 12h, 2w, or all; repeatable.",
    show_default=True,
)
@click.pass_obj
def command(
    settings: Settings, skill: str | None, model: str | None, windows: tuple[str, ...]
) -> None:
    from session_memory.cli.lines.retention import end_incomplete

    with settings.memory() as memory:
        listing = memory.skills(skill, model=model, windows=windows)
    if settings.as_json:
        print_json(listing.to_dict())
        end_incomplete(settings, listing.evicted)
        return
    print_lines(_lines(listing))
    if not listing.skills and not listing.evicted:
        if skill is None and model is None and windows == ("all",):
            remark(settings, "No skill calls. Log them with: session-memory skill append")
        else:
            remark(settings, "No skill call matches. List all: session-memory skill stats")
    end_incomplete(settings, listing.evicted)


def _lines(listing: "SkillList") -> Iterator[str]:
    rows = []
    for row in listing.skills:
        only = row.models[0].model if len(row.models) == 1 else None
        rows.append(_cells(row.rate, row.rate.skill, only or "", row.rate.advice))
        if len(row.models) > 1:
            rows += [_cells(model, "", model.model or "-", "") for model in row.models]
    return table(_COLUMNS, rows, terminal_width()) if rows else iter(())


def _cells(rate: "PassRate", skill: str, model: str, advice: str) -> list[str | Cell]:
    share = "-" if rate.pass_rate is None else f"{rate.pass_rate:.0%}"
    return [
        skill,
        rate.window if skill else "",
        model,
        *(str(number) for number in (rate.passed, rate.failed, rate.skipped, rate.total)),
        share,
        "-" if rate.try_rate is None else f"{rate.verified}/{rate.attempts} {rate.try_rate:.0%}",
        Cell(advice, _COLORS.get(advice, {})),
    ]
