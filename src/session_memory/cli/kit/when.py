"""The options ``--since``, ``--until`` and ``--tz``."""

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TZ = "session_memory.cli.tz"


class Zone(click.ParamType[tzinfo]):
    """A parameter type: the name of a time zone."""

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
    """A parameter type: a time or a period such as ``7d``, in the time zone of ``--tz``.

    The value is the period's first millisecond, or with ``end`` the first millisecond after it.
    """

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
    # click reads it before ``--since`` and ``--until``, which depend on the time zone.
    is_eager=True,
    callback=_remember,
    help="Time zone for days and hours.  [default: this machine's]",
)


def when_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``--since`` and ``--until``, in milliseconds, and ``--tz``.

    Without ``--tz``, ``tz`` is None: the time zone of this machine.
    """
    for option in (
        tz_option,
        click.option(
            "--until",
            type=Period(end=True),
            metavar="WHEN",
            help="Until when; the named day or month is included.",
        ),
        click.option(
            "--since",
            type=Period(),
            metavar="WHEN",
            help="Since when: 2026-07-01, 2026-07, 7d, yesterday.",
        ),
    ):
        function = option(function)
    return function
