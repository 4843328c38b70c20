"""Commands that are about one session, or about all sessions that the filters admit."""

from collections.abc import Callable
from typing import Any

import click

from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.when import when_options

_OPTIONS = (
    click.option(
        "--flavor",
        shell_complete=complete_facet("flavor"),
        metavar="NAME",
        help="Only sessions of this agent.",
    ),
    click.option("--host", metavar="NAME", help="Only sessions of this machine; * and ? match."),
    click.option(
        "--repo",
        shell_complete=complete_facet("repo"),
        metavar="NAME",
        help="Only this repository; * and ? match.",
    ),
    click.option("--branch", metavar="NAME", help="Only this git branch; * and ? match."),
    click.option(
        "--model",
        shell_complete=complete_facet("model"),
        metavar="TEXT",
        help="Only models with this in their name; * matches.",
    ),
    when_options,
)


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that filter sessions."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def refuse_both(session: str | None, filters: dict[str, Any]) -> None:
    """Raise if a session and filters are given: filters do not apply to one session."""
    if session is not None and any(value is not None for value in filters.values()):
        raise click.UsageError("give a session, or filters, not both")
