"""Reject a pattern or a lesson.

A rejected pattern is not suggested again. A rejected lesson stays in the folder of lessons, with
the status "rejected". If it was written to a file, run lessons apply for that file to remove it
there.
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
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import pasteable
from session_memory.render.text import safe


@make_command(
    examples=(
        (
            "lessons reject p-0c88102dbf64 --why 'one machine only'",
            "do not suggest this pattern again",
        ),
        ("lessons reject l-0c88102dbf64", "no longer use this lesson"),
    ),
    json_shape='{"lesson": LESSON}; a LESSON is as in lessons list, without'
    ' "seen", "live" and "recorded".',
)
@click.argument("name", metavar="PATTERN|LESSON", shell_complete=complete_lesson)
@decision_options
@dir_option()
@click.pass_obj
def command(
    settings: Settings, name: str, who: str | None, why: str, directory: Path | None
) -> None:
    from session_memory.learn.curate import reject
    from session_memory.views.lessons import pattern_or_lesson

    with opened_lessons(settings, directory) as opened:
        what = pattern_or_lesson(opened.store, opened.lessons, name)
        lesson = reject(opened.lessons, opened.store, what, decision_note(who, why))
        live = [
            one.target
            for one in opened.applied.live()
            if any(held.id == lesson.id for held in one.lessons)
        ]
    if settings.as_json:
        print_learned({"lesson": lesson.to_dict()})
        return
    click.echo(safe(f"{lesson.id} version {lesson.version} is rejected"))
    for target in live:
        again = f"session-memory lessons apply --target {pasteable(str(target))}"
        remark(settings, f"Still in {target}. Remove it: {again}")
