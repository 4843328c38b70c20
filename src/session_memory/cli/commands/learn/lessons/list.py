"""List lessons with their status, scope and effect."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.lesson_options import dir_option, print_learned
from session_memory.cli.kit.output import (
    Cell,
    Column,
    print_lines,
    remark,
    table,
    terminal_width,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.views.lessons import LessonRow

STATUSES = ("accepted", "rejected", "merged")
_COLORS = {"accepted": "green", "rejected": "red"}


@make_command(
    examples=(
        ("lessons list", "all lessons"),
        ("lessons list --status accepted --json", "accepted lessons, for a script"),
    ),
    json_shape='{"directory", "lessons": [{"id", "version", "status", "title", "repos", "flavors",'
    ' "effect", "merged_into", "created_at", "updated_at", "patterns", "sessions", "first_seen",'
    ' "last_seen", "session_uids", "events", "quotes", "problem", "resolution", "seen", "live":'
    ' [FILE, …], "recorded"}, …], "problems": [TEXT, …]}; "recorded" is false for a file that was'
    ' edited directly; "effect" is the last verdict of lessons measure --mark; "seen" is the number'
    ' of sessions with its pattern now, "sessions" the number when it was accepted; "live" are the'
    " files that it was written to and not reverted, also if somebody deleted it there.",
)
@click.option("--status", type=click.Choice(STATUSES), help="Only lessons with this status.")
@dir_option()
@click.pass_context
def command(ctx: click.Context, status: str | None, directory: Path | None) -> None:
    settings: Settings = ctx.obj
    with settings.memory() as memory:
        listing = memory.lessons(status=status, directory=directory)
    if settings.as_json:
        print_learned(listing.to_dict())
    else:
        columns = [Column("id"), Column("v", right=True), Column("status"), Column("seen", True)]
        columns += [Column("scope"), Column("live", right=True), Column("effect")]
        columns += [Column("title", flexible=True)]
        if listing.rows:
            print_lines(table(columns, map(_cells, listing.rows), terminal_width()))
        else:
            what = "lesson" if status is None else f"{status} lesson"
            empty = f"No {what} in {short_path(listing.directory)}."
            remark(settings, f"{empty} Make one from a pattern: session-memory patterns")
        for problem in listing.problems:
            click.secho(safe(f"problem: {problem}"), err=True, fg="yellow")
    if listing.problems:
        ctx.exit(PROBLEMS)


def _cells(row: "LessonRow") -> list[str | Cell]:
    lesson = row.lesson
    edited = "" if row.is_recorded else " (edited)"
    scope = "; ".join(filter(None, (",".join(lesson.repos), ",".join(lesson.flavors))))
    return [
        lesson.id,
        str(lesson.version),
        Cell(lesson.status + edited, {"fg": _COLORS.get(lesson.status)}),
        str(row.seen),
        scope or "everywhere",
        str(len(row.live)) if row.live else "-",
        lesson.effect or "-",
        lesson.title,
    ]
