"""Options that filter sessions, for commands about one session or about all that match."""

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
        help="Only sessions of this agent; wildcards: * and ?.",
    ),
    click.option(
        "--host", metavar="NAME", help="Only sessions of the machine NAME; wildcards: * and ?."
    ),
    click.option(
        "--repo",
        shell_complete=complete_facet("repo"),
        metavar="NAME",
        help="Only sessions of this repository; wildcards: * and ?.",
    ),
    click.option(
        "--branch", metavar="NAME", help="Only sessions on this git branch; wildcards: * and ?."
    ),
    click.option(
        "--model",
        shell_complete=complete_facet("model"),
        metavar="TEXT",
        help="Only models whose name contains this; wildcards: * and ?.",
    ),
    when_options,
)


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that filter sessions."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def refuse_both(session: str | None, filters: dict[str, Any]) -> None:
    """Raise if both a session and filters are given: filters do not apply to one session."""
    if session is not None and any(value is not None for value in filters.values()):
        raise click.UsageError("give a session, or filters, not both")
