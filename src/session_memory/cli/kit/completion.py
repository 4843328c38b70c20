"""Shell completion of ids and names that are in the store."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

from session_memory.core.errors import SessionMemoryError

MOST = 50
# Completion must not print errors into the line that is being typed. The command prints them later.
UNREADABLE = (SessionMemoryError, OSError, click.ClickException)


def complete_uid(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Complete the short name of a session, newest first; offer none if the store is unreadable."""
    from click.shell_completion import CompletionItem

    from session_memory.cli.kit.settings import settings_of
    from session_memory.render.text import safe
    from session_memory.views.lookup import suggest_sessions

    try:
        with settings_of(ctx).opened() as store:
            found = suggest_sessions(store, incomplete, MOST)
    except UNREADABLE:
        return []
    return [CompletionItem(name, help=safe(title)) for name, title in found]


def complete_live(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Complete the id of a live session, the last changed first.

    Offer none if the store is unreadable.
    """
    from click.shell_completion import CompletionItem

    from session_memory.cli.kit.settings import settings_of
    from session_memory.render.text import safe
    from session_memory.views.live import list_live, live_store

    try:
        with settings_of(ctx).opened() as store:
            rows = list_live(live_store(store), with_subagents=True, limit=0).sessions
    except UNREADABLE:
        return []
    found = [row for row in rows if row.session_id.startswith(incomplete)]
    return [CompletionItem(row.session_id, help=safe(row.title or "")) for row in found[:MOST]]


Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def complete_facet(name: str) -> Completer:
    """Return a completer that offers every ``flavor``, ``repo`` or ``model`` in the store.

    ``name`` is one of these three. An unreadable store offers none.
    """

    def complete(
        ctx: click.Context, parameter: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from session_memory.cli.kit.settings import settings_of
        from session_memory.render.text import safe
        from session_memory.views.stats import facets

        try:
            with settings_of(ctx).opened() as store:
                found = dict(zip(("flavor", "repo", "model"), facets(store), strict=True))[name]
        except UNREADABLE:
            return []
        # A name with control characters cannot be typed, so it is not offered.
        plain = (one for one in found if one.startswith(incomplete) and safe(one) == one)
        return [CompletionItem(one) for one in plain][:MOST]

    return complete
