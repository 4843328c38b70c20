"""Commands that look at one session, or at all that filters leave."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.when import when_options

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.store import Store

_OPTIONS = (
    click.option("--flavor", metavar="NAME", help="Only sessions of this agent."),
    click.option("--host", metavar="NAME", help="Only sessions of this machine; * and ? match."),
    click.option("--repo", metavar="NAME", help="Only this repository; * and ? match."),
    click.option("--branch", metavar="NAME", help="Only this git branch; * and ? match."),
    click.option("--model", metavar="TEXT", help="Only models with this in their name; * matches."),
    when_options,
)


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filters that such a command takes, in their order."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def chosen_sessions(
    store: "Store", session: str | None, wanted: dict[str, Any]
) -> "Iterator[Session]":
    """The session that is named, with its subagents; else those the filters leave."""
    from session_memory.views.calls import with_subagents
    from session_memory.views.lookup import find_session
    from session_memory.views.sessions import Filter, each_session

    if session is None:
        return each_session(store, Filter(**wanted))
    if any(value is not None for value in wanted.values()):
        raise click.UsageError("give a session, or filters, not both")
    found = (store.sessions.get(uid) for uid in with_subagents(store, find_session(store, session)))
    return (one for one in found if one is not None)
