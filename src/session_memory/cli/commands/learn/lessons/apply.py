"""Write lessons to instruction files, such as CLAUDE.md or AGENTS.md.

Writes exactly what lessons propose shows. In the file, the lessons are between two markers. The
file is replaced as a whole and keeps its line ends, its permissions and every byte outside the
markers. Only Markdown files are written; symbolic links and files in the directories of git and of
agents are refused. To undo it, use lessons revert.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.lesson_options import (
    complete_lesson,
    decision_note,
    decision_options,
    dir_option,
    opened_lessons,
    print_learned,
    target_options,
)
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable, short_path
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.learn.applied_registry import FileWrite
    from session_memory.learn.proposals import Proposal


@make_command(
    examples=(
        ("lessons apply", "to the files of this project"),
        ("lessons apply --target ~/code/webshop/CLAUDE.md", "to one file"),
        ("lessons apply l-0c88102dbf64 --target AGENTS.md", "add one lesson"),
        ("lessons revert --target AGENTS.md", "undo it"),
    ),
    json_shape='{"applied": [{"target", "repo", "changes", "written", "lessons": [{"id",'
    ' "version"}, …], "skipped": [{"lesson", "reason"}, …], "diff"}, …]}',
)
@click.argument("names", nargs=-1, metavar="[LESSON]...", shell_complete=complete_lesson)
@target_options
@click.option("--force", is_flag=True, help="Include lessons with little evidence.")
@decision_options
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    names: tuple[str, ...],
    targets: tuple[Path, ...],
    repo: str | None,
    force: bool,
    who: str | None,
    why: str,
    directory: Path | None,
) -> None:
    from session_memory.cli.lines.proposals import proposal_lines

    done: list[tuple[Proposal, FileWrite | None]] = []
    with opened_lessons(settings, directory) as opened:
        found = opened.proposals(targets, repo, names, force)
        for one in found:
            done.append((one, opened.applied.apply(one, decision_note(who, why, force=force))))
    if settings.as_json:
        print_learned({"applied": [{**one.to_dict(), "written": w is not None} for one, w in done]})
        return
    for one, write in done:
        for line in proposal_lines(one):
            click.echo(line)
        if write is not None:
            path = short_path(one.target.path)
            undo = f"session-memory lessons revert --target {pasteable(path)}"
            click.echo(safe(f"Written: {path}. Undo: {undo}"))
    if not any(write for _, write in done):
        remark(settings, "Nothing was written.")
