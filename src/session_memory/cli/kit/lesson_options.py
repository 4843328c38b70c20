"""Options, completion and the opened store that the commands about lessons share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.completion import MOST, UNREADABLE, complete_facet
from session_memory.cli.kit.output import print_json, remark
from session_memory.cli.kit.settings import Settings, settings_of
from session_memory.render.text import safe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from session_memory.config import Config
    from session_memory.learn.applied import AppliedLessons
    from session_memory.learn.curate import DecisionNote
    from session_memory.learn.lessons import Lessons
    from session_memory.learn.proposals import Proposal
    from session_memory.store import Store

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def dir_option() -> Decorator:
    """The option ``--dir``: the folder of lessons."""
    kind = click.Path(file_okay=False, path_type=Path)
    meaning = "The folder of lessons; by default lessons/ beside the store, or as configured."
    return click.option("--dir", "directory", type=kind, metavar="DIR", help=meaning)


def decision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--why`` and ``--by`` of commands whose decision is recorded."""
    by = "Who decided; by default your user name."
    function = click.option("--by", "who", metavar="NAME", help=by)(function)
    return click.option("--why", default="", metavar="TEXT", help="The reason to record.")(function)


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--target`` and ``--repo`` of commands about instruction files."""
    target = (
        "An instruction file such as CLAUDE.md; repeatable. By default the instruction files at the"
        " top of this project, or a new AGENTS.md."
    )
    repo = (
        "The repository of the file; by default that of most sessions in its directory, or the"
        " directory's name."
    )
    kind = click.Path(dir_okay=False, path_type=Path)
    function = click.option(
        "--repo", shell_complete=complete_facet("repo"), metavar="NAME", help=repo
    )(function)
    return click.option(
        *("--target", "targets"), type=kind, multiple=True, metavar="FILE", help=target
    )(function)


def print_learned(value: Any) -> None:
    """Print JSON with all secrets masked, because it contains texts of sessions."""
    from session_memory.redact import mask_values

    print_json(mask_values(value))


class OpenedLessons:
    """An open store with its folder of lessons and the record of applied lessons."""

    def __init__(self, store: "Store", config: "Config", directory: Path | None) -> None:
        from session_memory.views.lessons import applied_of, lessons_of

        self.store, self.config = store, config
        self.lessons: Lessons = lessons_of(store, config, directory)
        self.applied: AppliedLessons = applied_of(store)

    def proposals(
        self, targets: tuple[Path, ...], repo: str | None, names: tuple[str, ...], force: bool
    ) -> "list[Proposal]":
        """Propose the lessons for the instruction files ``targets``, by default this project's.

        ``names`` limits the proposals to these lessons; ``force`` has the meaning of ``--force``.
        """
        from session_memory.views.lessons import proposals

        return proposals(
            self.store,
            self.config,
            self.lessons,
            self.applied,
            targets=targets,
            here=Path.cwd(),
            repo=repo,
            only=names,
            force=force,
        )


@contextmanager
def opened_lessons(settings: Settings, directory: Path | None = None) -> Iterator[OpenedLessons]:
    config = settings.configuration()
    with settings.opened(config) as store:
        yield OpenedLessons(store, config, directory)


def decision_note(who: str | None, why: str, *, force: bool = False) -> "DecisionNote":
    from session_memory.core.time import now_ms
    from session_memory.learn.curate import DecisionNote, current_user

    return DecisionNote(now_ms(), who or current_user(), why, force)


def remark_unread(settings: Settings, store: "Store") -> None:
    """Print how many sessions the answer leaves out because they are not analyzed yet."""
    from session_memory.views.outdated import waiting

    if settings.chatty and (number := waiting(store)):
        from session_memory.views.figures import plural

        verb = "is" if number == 1 else "are"
        changed = f"{plural(number, 'session')} {verb} new or changed since the last analysis"
        remark(settings, f"{changed}: session-memory analyze")


def complete_lesson(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Complete the id of a lesson; offer none if the lessons cannot be read."""
    from click.shell_completion import CompletionItem

    try:
        with opened_lessons(settings_of(ctx), ctx.params.get("directory")) as opened:
            found = opened.lessons.read()[0]
    except UNREADABLE:
        return []
    named = [one for one in found if one.id.startswith(incomplete)]
    return [CompletionItem(one.id, help=safe(one.title)) for one in named[:MOST]]


def complete_pattern(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Complete the id of a pattern, worst first; offer none if the store cannot be read."""
    from click.shell_completion import CompletionItem

    from session_memory.learn.kept_patterns import kept_patterns

    try:
        with settings_of(ctx).opened() as store:
            found = [one for one in kept_patterns(store) if one.id.startswith(incomplete)]
    except UNREADABLE:
        return []
    return [CompletionItem(one.id, help=safe(one.detail)) for one in found[:MOST]]
