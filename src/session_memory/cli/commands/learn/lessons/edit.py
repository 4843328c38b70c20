"""Change the text or the scope of a lesson.

Without an option, the lesson's file opens in your editor. You can also edit the file directly: the
next command that changes the lesson first saves your edit as a separate version. If the lesson was
already written to CLAUDE.md or a similar file, the next lessons apply changes it there.
"""

import sys
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet
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

TEXTS = ("title", "problem", "resolution")


@make_command(
    examples=(
        ("lessons edit l-0c88102dbf64", "in your editor"),
        ("lessons edit l-0c88 --resolution 'Run make db first.'", "what to do, in your own words"),
        ("lessons edit l-0c88 --repo webshop --repo billing", "for which repositories"),
        ("lessons edit l-0c88 --problem - < problem.md", "from a file"),
    ),
    json_shape='{"lesson": LESSON}; a LESSON is as in lessons list, without'
    ' "seen", "live" and "recorded".',
)
@click.argument("name", metavar="LESSON", shell_complete=complete_lesson)
@click.option("--title", metavar="TEXT", help="The new title, one line.")
@click.option(
    "--problem", metavar="TEXT", help="The text about what goes wrong; - reads standard input."
)
@click.option(
    "--resolution", metavar="TEXT", help="The text about what to do; - reads standard input."
)
@click.option(
    *("--repo", "repos"),
    multiple=True,
    metavar="NAME",
    help="Use the lesson only in this repository; repeatable.",
    shell_complete=complete_facet("repo"),
)
@click.option(
    *("--flavor", "flavors"),
    multiple=True,
    metavar="NAME",
    help="Use the lesson only for this agent; repeatable.",
    shell_complete=complete_facet("flavor"),
)
@click.option(
    "--everywhere", is_flag=True, help="Use the lesson in all repositories and for all agents."
)
@decision_options
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    /,
    name: str,
    repos: tuple[str, ...],
    flavors: tuple[str, ...],
    everywhere: bool,
    who: str | None,
    why: str,
    directory: Path | None,
    **texts: str | None,
) -> None:
    from session_memory.learn.curate import edit

    if everywhere and (repos or flavors):
        raise click.UsageError("give --everywhere, or --repo and --flavor, not both")
    changes: dict[str, Any] = {key: _read(text) for key, text in texts.items() if text is not None}
    if repos or everywhere:
        changes["repos"] = repos
    if flavors or everywhere:
        changes["flavors"] = flavors
    with opened_lessons(settings, directory) as opened:
        if not changes:
            changes = _edited(opened.lessons.find(name))
        lesson = edit(opened.lessons, name, decision_note(who, why), **changes)
    if settings.as_json:
        print_learned({"lesson": lesson.to_dict()})
        return
    click.echo(safe(f"{lesson.id} is at version {lesson.version}"))


def _read(text: str) -> str:
    return sys.stdin.read().strip() if text == "-" else text


def _edited(lesson: Any) -> dict[str, Any]:
    """Open the lesson in the user's editor, and return the fields that a person may change."""
    from session_memory.learn.lesson import from_text, to_text

    text = click.edit(to_text(lesson), extension=".md", require_save=False)
    changed = from_text(text or to_text(lesson))
    return {name: getattr(changed, name) for name in (*TEXTS, "repos", "flavors")}
