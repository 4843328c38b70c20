"""List lessons that earlier sessions agree on, ready to accept.

A lesson is suggested if one of these happened in three sessions or more: the same thing resolved an
error, people gave the same instruction, the same test was flaky, or the same program timed out.
Patterns that were accepted or rejected already are left out. Nothing is stored: to make a lesson,
use lessons accept.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import limit_option, make_command
from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.lesson_options import dir_option, opened_lessons, print_learned
from session_memory.cli.kit.output import print_lines, remark
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe

if TYPE_CHECKING:
    from session_memory.views.lessons import SuggestedLesson


@make_command(
    examples=(
        ("lessons suggest", "what to write into the instruction files"),
        ("lessons suggest --repo webshop", "for one repository"),
    ),
    json_shape='{"lessons": [{"pattern", "title", "repos", "sessions", "text"}, …]}; "pattern" is'
    " what lessons accept takes.",
)
@click.option(
    "--repo",
    shell_complete=complete_facet("repo"),
    metavar="NAME",
    help="Only lessons for this repository; wildcards: * and ?.",
)
@limit_option(20)
@dir_option()
@click.pass_obj
def command(settings: Settings, repo: str | None, limit: int, directory: Path | None) -> None:
    from session_memory.views.lessons import suggested_lessons

    with opened_lessons(settings, directory) as opened:
        found = suggested_lessons(opened.store, opened.lessons, repo=repo, limit=limit)
    if settings.as_json:
        print_learned({"lessons": [one.to_dict() for one in found]})
        return
    print_lines(_lines(found))
    if found:
        remark(settings, "Next: session-memory lessons accept PATTERN")
    else:
        remark(settings, "No lesson that three sessions agree on yet: session-memory patterns")


def _lines(found: "list[SuggestedLesson]") -> Iterator[str]:
    for place, one in enumerate(found):
        if place:
            yield ""
        where = ", ".join(one.repos) or "every repository"
        yield click.style(safe(f"{one.pattern}  {where}, {one.sessions} sessions"), bold=True)
        yield safe(f"  {one.text}")
