"""Show lessons as a diff of instruction files, such as CLAUDE.md or AGENTS.md.

Shows the accepted lessons for this repository and agent that have enough sessions as evidence
(distribute_sessions in the configuration file). In the file, the lessons are between two markers;
the rest of the file stays as it is. Secrets are masked. Nothing is written: lessons apply does
that.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.lesson_options import (
    complete_lesson,
    dir_option,
    opened_lessons,
    print_learned,
    remark_unread,
    target_options,
)
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("lessons propose", "for the files of this project"),
        ("lessons propose --target ~/code/webshop/CLAUDE.md", "for one file"),
        (
            "lessons propose l-0c88102dbf64 --target AGENTS.md",
            "add one lesson",
        ),
        ("lessons propose --json", "also the lessons left out, and why"),
    ),
    json_shape='{"proposals": [{"target", "repo", "changes", "lessons": [{"id", "version"}, …],'
    ' "skipped": [{"lesson", "reason"}, …], "diff"}, …]}',
)
@click.argument("names", nargs=-1, metavar="[LESSON]...", shell_complete=complete_lesson)
@target_options
@click.option("--force", is_flag=True, help="Include lessons with little evidence.")
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    names: tuple[str, ...],
    targets: tuple[Path, ...],
    repo: str | None,
    force: bool,
    directory: Path | None,
) -> None:
    from session_memory.cli.lines.proposals import proposal_lines

    with opened_lessons(settings, directory) as opened:
        found = opened.proposals(targets, repo, names, force)
        remark_unread(settings, opened.store)
    if settings.as_json:
        print_learned({"proposals": [one.to_dict() for one in found]})
        return
    for one in found:
        for line in proposal_lines(one):
            click.echo(line)
    if any(one.is_change for one in found):
        remark(settings, "Nothing was written. Next: session-memory lessons apply")
