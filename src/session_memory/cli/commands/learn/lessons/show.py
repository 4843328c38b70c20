"""Show one lesson with its evidence and history."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.lesson_options import (
    complete_lesson,
    dir_option,
    opened_lessons,
    print_learned,
)
from session_memory.cli.kit.output import print_lines
from session_memory.cli.kit.settings import Settings
from session_memory.render.text import safe, safe_lines

if TYPE_CHECKING:
    from session_memory.views.lessons import LessonPage


@make_command(
    examples=(
        ("lessons show l-0c88102dbf64", "its text, evidence and decisions"),
        ("lessons show l-0c88 --json", "with every version"),
    ),
    json_shape='{"lesson": LESSON, "decisions": [{"at", "who", "action", "lesson", "version",'
    ' "why", "forced", "sha256"}, …], "versions": [LESSON, …]}; a LESSON is as in lessons list, in'
    ' "versions" without "seen", "live" and "recorded".',
)
@click.argument("name", metavar="LESSON", shell_complete=complete_lesson)
@dir_option()
@click.pass_obj
def command(settings: Settings, name: str, directory: Path | None) -> None:
    from session_memory.views.lessons import show_lesson
    from session_memory.views.short_names import short_names

    with opened_lessons(settings, directory) as opened:
        page = show_lesson(opened.lessons, opened.applied, opened.store, name)
        names = short_names(opened.store, [uid for uid, _ in page.row.lesson.events])
    if settings.as_json:
        print_learned(page.to_dict())
        return
    print_lines(_lines(page, names))


def _lines(page: "LessonPage", names: dict[str, str]) -> Iterator[str]:
    from session_memory.views.figures import local, plural

    lesson = page.row.lesson
    yield click.style(safe(f"{lesson.id}  {lesson.title}"), bold=True)
    edited = "" if page.row.is_recorded else ", edited by hand since"
    yield f"  status    {lesson.status}, version {lesson.version}{edited}"
    where = [
        ",".join(lesson.repos) or "every repository",
        ",".join(lesson.flavors) or "every agent",
    ]
    yield safe(f"  scope     {', '.join(where)}")
    seen = f"{plural(page.row.seen, 'session')}, {local(lesson.first_seen, '%Y-%m-%d')}"
    yield f"  seen      {seen} to {local(lesson.last_seen, '%Y-%m-%d')}"
    if lesson.effect:
        yield safe(f"  effect    {lesson.effect}")
    yield from (safe(f"  live in   {target}") for target in page.row.live)
    for name, text in (("Problem", lesson.problem), ("Resolution", lesson.resolution)):
        yield ""
        yield click.style(name, bold=True)
        yield from (f"  {line}" for line in safe_lines(text))
    yield ""
    yield click.style("Evidence", bold=True)
    yield from (safe(f"  session-memory patterns {shown.id}") for shown in lesson.patterns)
    for uid, event in lesson.events:
        # The id of an event is from a log, and may be any text.
        yield safe(f"  session-memory show {names.get(uid, uid)} --around {shlex.quote(event)}")
    yield ""
    yield click.style("Decisions", bold=True)
    for one in page.decisions:
        forced = ", forced" if one.forced else ""
        why = f": {one.why}" if one.why else ""
        yield safe(f"  {local(one.at)}  v{one.version}  {one.action}{forced} by {one.who}{why}")
