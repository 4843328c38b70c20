"""Merge lessons into one.

The first lesson keeps its text, gets the evidence of the others, and is used wherever one of them
was used. When the lesson is measured, the patterns of the others count for it. The others stay in
the folder of lessons, with the status "merged". Only accepted lessons can be merged.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.lesson_options import (
    complete_lesson,
    decision_note,
    decision_options,
    dir_option,
    opened_lessons,
    print_learned,
)
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe


@make_command(
    examples=(
        ("lessons merge l-0c88102dbf64 l-99a1b2c3d4e5", "into the first one"),
        ("lessons merge l-0c88 l-99a1 --why 'the same cause'", "with the reason"),
    ),
    json_shape='{"lesson": LESSON, "merged": [ID, …]}; a LESSON is as in lessons list, without'
    ' "seen", "live" and "recorded".',
)
@click.argument("into", metavar="LESSON", shell_complete=complete_lesson)
@click.argument(
    "others", nargs=-1, required=True, metavar="OTHER...", shell_complete=complete_lesson
)
@decision_options
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    into: str,
    others: tuple[str, ...],
    who: str | None,
    why: str,
    directory: Path | None,
) -> None:
    from session_memory.learn.curate import merge

    with opened_lessons(settings, directory) as opened:
        gone = [opened.lessons.find(name).id for name in others]
        lesson = merge(opened.lessons, into, others, decision_note(who, why))
    if settings.as_json:
        print_learned({"lesson": lesson.to_dict(), "merged": gone})
        return
    click.echo(safe(f"{lesson.id} version {lesson.version} has the evidence of {', '.join(gone)}"))
