"""Undo the last lessons apply: restore the file byte for byte.

If the file was changed since, only the lessons are removed from it, and the exit status is 3. A
file that lessons apply created is deleted.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.failures import PROBLEMS
from session_memory.cli.kit.lesson_options import (
    decision_note,
    decision_options,
    opened_lessons,
    print_learned,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.learn.applied import AppliedLessons


@make_command(
    examples=(
        ("lessons revert", "in the files of this project"),
        ("lessons revert --target ~/code/webshop/CLAUDE.md", "in one file"),
        (
            "lessons revert --json --target AGENTS.md",
            "with --json: does the file have the same bytes as before?",
        ),
    ),
    json_shape='{"reverted": [{"target", "exact", "removed", "lessons": [{"id", "version"},'
    ' …], "note"}, …]}; "exact": the file has the same bytes as before.',
)
@click.option(
    *("--target", "targets"),
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="The file to restore; repeatable. By default all files at the top of this project that"
    " lessons were written to.",
)
@decision_options
@click.pass_context
def command(ctx: click.Context, targets: tuple[Path, ...], who: str | None, why: str) -> None:
    import msgspec

    from session_memory.core.lesson_errors import NotApplied

    settings: Settings = ctx.obj
    with opened_lessons(settings) as opened:
        paths = [path.parent.resolve() / path.name for path in targets]
        if not paths:
            paths = _live_here(opened.applied, Path.cwd())
        if not paths:
            raise NotApplied("any file of this project")
        done = [opened.applied.revert(path, decision_note(who, why)) for path in paths]
    if settings.as_json:
        print_learned({"reverted": msgspec.to_builtins(done)})
    else:
        for one in done:
            ids = ", ".join(held.id for held in one.lessons)
            state = "the same bytes as before" if one.exact else one.note
            click.echo(safe(f"{short_path(one.target)}: without {ids or 'lessons'}; {state}"))
    if not all(one.exact for one in done):
        ctx.exit(PROBLEMS)


def _live_here(applied: "AppliedLessons", here: Path) -> list[Path]:
    """Return the files of the project at ``here`` that lessons were written to."""
    from session_memory.learn.targets import project_of

    top = project_of(here)
    targets = dict.fromkeys(write.target for write in applied.writes())
    found = [Path(one) for one in targets if applied.stack(one)]
    return [path for path in found if path.parent == top]
