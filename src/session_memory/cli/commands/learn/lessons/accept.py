"""Make a lesson from a pattern.

The text is made from a template; quotes from transcripts are in it as `code`. Read it, and put it
into your own words with lessons edit, before you apply it.
"""

from pathlib import Path

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.lesson_options import (
    complete_pattern,
    decision_note,
    decision_options,
    dir_option,
    opened_lessons,
    print_learned,
)
from session_memory.cli.kit.output import remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.paths import short_path
from session_memory.render.text import safe, safe_lines


@make_command(
    examples=(
        ("lessons accept p-0c88102dbf64", "make a lesson from a pattern"),
        ("lessons accept p-0c88 --repo webshop --why 'costs us an hour a week'", "for one repo"),
        ("lessons accept p-0c88 --force", "although few sessions show it"),
    ),
    json_shape='{"lesson": LESSON, "file"}; a LESSON is as in lessons list, without'
    ' "seen", "live" and "recorded".',
)
@click.argument("pattern", metavar="PATTERN", shell_complete=complete_pattern)
@click.option(
    *("--repo", "repos"),
    multiple=True,
    metavar="NAME",
    help="Use the lesson only in this repository; repeatable. By default, the lesson is for the"
    " repository that has the pattern, or for all repositories if several have it.",
    shell_complete=complete_facet("repo"),
)
@click.option("--everywhere", is_flag=True, help="Use the lesson in all repositories.")
@click.option(
    *("--flavor", "flavors"),
    multiple=True,
    metavar="NAME",
    help="Use the lesson only for this agent; repeatable.",
    shell_complete=complete_facet("flavor"),
)
@click.option("--force", is_flag=True, help="Accept it with little evidence; this is recorded.")
@decision_options
@dir_option()
@click.pass_obj
def command(
    settings: Settings,
    pattern: str,
    repos: tuple[str, ...],
    everywhere: bool,
    flavors: tuple[str, ...],
    force: bool,
    who: str | None,
    why: str,
    directory: Path | None,
) -> None:
    from session_memory.learn.curate import accept
    from session_memory.views.lessons import pattern_named

    if everywhere and repos:
        raise click.UsageError("give --everywhere or --repo, not both")
    with opened_lessons(settings, directory) as opened:
        lesson = accept(
            opened.lessons,
            opened.store,
            pattern_named(opened.store, opened.lessons, pattern),
            opened.config.lessons,
            decision_note(who, why, force=force),
            repos=() if everywhere else repos or None,
            flavors=flavors or None,
        )
        path = opened.lessons.path(lesson.id)
    if settings.as_json:
        print_learned({"lesson": lesson.to_dict(), "file": str(path)})
        return
    click.echo(safe(f"{lesson.id} version {lesson.version}: {short_path(path)}"))
    for line in (*safe_lines(lesson.problem), "", *safe_lines(lesson.resolution)):
        click.echo(f"  {line}".rstrip())
    if not lesson.resolution:
        remark(settings, "The lesson does not say what to do yet. Without that, it is not applied.")
    remark(
        settings, f"Next: session-memory lessons edit {lesson.id}, session-memory lessons propose"
    )
