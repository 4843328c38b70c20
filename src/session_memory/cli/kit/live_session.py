"""Open live sessions, for the commands of ``live``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.completion import complete_live
from session_memory.cli.kit.settings import Settings

if TYPE_CHECKING:
    from session_memory.live.store import SessionStore


@contextmanager
def opened_live(settings: Settings) -> "Iterator[SessionStore]":
    from session_memory.views.live import live_store

    with settings.opened() as store:
        yield live_store(store)


@contextmanager
def opened_session(settings: Settings, text: str) -> "Iterator[tuple[SessionStore, str]]":
    from session_memory.views.live import find_live

    with opened_live(settings) as live:
        yield live, find_live(live, text)


def session_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument ``SESSION``: the id of a live session or its beginning."""
    return click.argument("session", metavar="SESSION", shell_complete=complete_live)(function)


def which_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--which",
        type=click.Choice(("context", "path", "all")),
        default="context",
        show_default=True,
        help="Which messages: context is what the model is sent; path has the folded messages"
        " instead of their summaries; all has the rewound messages too.",
    )(function)
