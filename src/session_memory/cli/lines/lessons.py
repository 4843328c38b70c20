"""What the commands about lessons share: their options, their completions, their folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.completion import MOST, UNREADABLE
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
    """``--dir`` of every command that reads or writes lessons."""
    kind = click.Path(file_okay=False, path_type=Path)
    told = "The folder of lessons; by default lessons/ beside the store, or [lessons] dir."
    return click.option("--dir", "directory", type=kind, metavar="DIR", help=told)


def word_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--why`` and ``--by`` of every command whose decision is kept."""
    by = "Who decides; by default who is logged in."
    function = click.option("--by", "who", metavar="NAME", help=by)(function)
    return click.option("--why", default="", metavar="TEXT", help="The reason, kept.")(function)


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--target`` and ``--repo`` of the commands that are about instruction files."""
    target = "A file such as CLAUDE.md; again for more. By default those of the project here."
    repo = "The repository it is for; by default the name of the file's directory."
    kind = click.Path(dir_okay=False, path_type=Path)
    function = click.option("--repo", metavar="NAME", help=repo)(function)
    return click.option(
        *("--target", "targets"), type=kind, multiple=True, metavar="FILE", help=target
    )(function)


def print_learned(value: Any) -> None:
    """What a command about lessons tells a program: all of it passes here, and no secret does."""
    from session_memory.redact import mask_values

    print_json(mask_values(value))


class Desk:
    """An opened store with its folder of lessons and its registry."""

    def __init__(self, store: "Store", config: "Config", directory: Path | None) -> None:
        from session_memory.views.lessons import applied_of, lessons_of

        self.store, self.config = store, config
        self.lessons: Lessons = lessons_of(store, config, directory)
        self.applied: AppliedLessons = applied_of(store)

    def proposals(
        self, targets: tuple[Path, ...], repo: str | None, names: tuple[str, ...], force: bool
    ) -> "list[Proposal]":
        """What the files should say, for the project here unless others are named."""
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
def desk(settings: Settings, directory: Path | None = None) -> Iterator[Desk]:
    config = settings.configuration()
    with settings.opened(config) as store:
        yield Desk(store, config, directory)


def word(who: str | None, why: str, *, force: bool = False) -> "DecisionNote":
    from session_memory.core.time import now_ms
    from session_memory.learn.curate import DecisionNote, current_user

    return DecisionNote(now_ms(), who or current_user(), why, force)


def remark_unread(settings: Settings, store: "Store") -> None:
    """What was not analyzed cannot be learned from."""
    from session_memory.views.learning import unread

    if settings.chatty and (waiting := unread(store)):
        told = f"{waiting:,} of the sessions changed since they were analyzed"
        remark(settings, f"{told}: session-memory analyze")


def complete_lesson(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """The ids of lessons; nothing at all when they cannot be read."""
    from click.shell_completion import CompletionItem

    try:
        with desk(settings_of(ctx), ctx.params.get("directory")) as opened:
            found = opened.lessons.read()[0]
    except UNREADABLE:
        return []
    named = [one for one in found if one.id.startswith(incomplete)]
    return [CompletionItem(one.id, help=safe(one.title)) for one in named[:MOST]]


def complete_pattern(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """The ids of patterns, the worst first; nothing at all when the store cannot be read."""
    from click.shell_completion import CompletionItem

    from session_memory.learn.patterns import patterns

    try:
        with settings_of(ctx).opened() as store:
            found = [one for one in patterns(store) if one.id.startswith(incomplete)]
    except UNREADABLE:
        return []
    return [CompletionItem(one.id, help=safe(one.detail)) for one in found[:MOST]]
