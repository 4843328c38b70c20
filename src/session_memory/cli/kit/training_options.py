"""The options of ``train``: which sessions and examples to export, and how to split them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.completion import complete_facet
from session_memory.cli.kit.when import Period

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.learn.train.example import ExampleFilter
    from session_memory.store import Store

KINDS = ("sft", "chat", "dpo")


class Shares(click.ParamType[tuple[int, int, int]]):
    """A parameter type: three numbers such as ``90/5/5``. Their sum does not matter."""

    name = "shares"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int, int]:
        if isinstance(value, tuple):
            return value
        parts = str(value).split("/")
        if len(parts) != 3 or not all(part.isdigit() for part in parts) or not int(parts[0]):
            self.fail("give the shares of train, validation and test, as in 90/5/5", param, ctx)
        first, second, third = (int(part) for part in parts)
        return first, second, third


_OPTIONS = (
    click.option(
        "--kind",
        "kinds",
        type=click.Choice(KINDS),
        multiple=True,
        help="Only examples of this kind; repeatable.",
    ),
    click.option("--no-tools", is_flag=True, help="Leave calls and results out of conversations."),
    click.option(
        "--max-chars",
        type=click.IntRange(min=1000),
        default=100_000,
        show_default=True,
        metavar="N",
        help="Leave out examples with more characters.",
    ),
    click.option(
        "--split",
        "shares",
        type=Shares(),
        default=(90, 5, 5),
        metavar="A/B/C",
        help="Shares of the splits train, validation and test.  [default: 90/5/5]",
    ),
    click.option(
        "--flavor",
        shell_complete=complete_facet("flavor"),
        metavar="NAME",
        help="Only from sessions of this agent; wildcards: * and ?.",
    ),
    click.option(
        "--repo",
        shell_complete=complete_facet("repo"),
        metavar="NAME",
        help="Only from sessions of this repository; wildcards: * and ?.",
    ),
    click.option(
        "--since", type=Period(), metavar="WHEN", help="Since when: 2026-07-01, 2026-07, 7d."
    ),
    click.option(
        "--until",
        type=Period(end=True),
        metavar="WHEN",
        help="Until when; the named day or month is included.",
    ),
)


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def select_examples(
    store: "Store", kinds: tuple[str, ...], no_tools: bool, max_chars: int, **filters: Any
) -> "tuple[list[Session], ExampleFilter]":
    from session_memory.learn.train.example import ExampleFilter
    from session_memory.views.sessions import Filter, each_session

    sessions = list(each_session(store, Filter(**filters)))
    return sessions, ExampleFilter(
        kinds=tuple(kind for kind in KINDS if kind in kinds) or KINDS,
        tools=not no_tools,
        most_characters=max_chars,
    )
