"""The options that limit which logs are read. `sync` and `watch` have them."""

from collections.abc import Callable
from typing import Any

import click

from session_memory.cli.kit.completion import complete_facet

Command = Callable[..., Any]

_root = click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="Only logs in this directory; repeatable."
)
_flavor = click.option(
    "--flavor",
    "flavors",
    shell_complete=complete_facet("flavor"),
    multiple=True,
    metavar="NAME",
    help="Only logs of this agent; repeatable.",
)


def log_options(command: Command) -> Command:
    """Add the options ``--root`` and ``--flavor`` to a command."""
    return _root(_flavor(command))
