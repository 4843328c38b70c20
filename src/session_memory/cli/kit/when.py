"""``--since``, ``--until`` and ``--tz``, as every report has them."""

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TZ = "session_memory.cli.tz"


class Zone(click.ParamType[tzinfo]):
    """The name of a time zone."""

    name = "zone"

    def convert(self, value: Any, param: Any, ctx: Any) -> tzinfo:
        from session_memory.core.errors import InvalidTime
        from session_memory.views.zones import zone

        if isinstance(value, tzinfo):
            return value
        try:
            return zone(str(value))
        except InvalidTime as error:
            self.fail(f"{error}. {error.hint}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from session_memory.views.zones import zone_names

        return [CompletionItem(name) for name in zone_names() if name.startswith(incomplete)]


class Period(click.ParamType[int]):
    """A moment or a period on a clock of ``--tz``: its first millisecond, or the one past it."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        from session_memory.core.errors import InvalidTime
        from session_memory.views.periods import period

        if isinstance(value, int):
            return value
        tz = ctx.meta.get(_TZ) if ctx is not None else None
        try:
            return period(str(value), tz=tz)[self._end]
        except InvalidTime as error:
            self.fail(f"{error}. {error.hint}", param, ctx)


def _remember(ctx: click.Context, param: click.Parameter, tz: tzinfo | None) -> tzinfo | None:
    ctx.meta[_TZ] = tz
    return tz


tz_option = click.option(
    "--tz",
    type=Zone(),
    metavar="ZONE",
    # Eager: what a day is must be known before the days are read.
    is_eager=True,
    callback=_remember,
    help="Days and hours of this time zone.  [default: this machine's]",
)


def when_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``since`` and ``until`` in milliseconds, and ``tz`` (``None``: this place)."""
    for option in (
        tz_option,
        click.option(
            "--until",
            type=Period(end=True),
            metavar="WHEN",
            help="The same, its end included.",
        ),
        click.option(
            "--since",
            type=Period(),
            metavar="WHEN",
            help="2026-07-01, 2026-07, 7d, yesterday.",
        ),
    ):
        function = option(function)
    return function
