"""A command that is several: it names its members, and loads one when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from session_memory.cli.kit.command import Command, write_examples, write_options


class Family(Command, click.Group):
    """``members`` gives every command its line of help; ``package`` is where their files are."""

    def __init__(self, *args: Any, members: Mapping[str, str], package: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.members = members
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.members:
            return None
        found: click.Command = import_module(f"{self.package}.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in self.members:
            raise click.NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.members.items()), col_max=20)
        write_options(self, ctx, formatter)
        write_examples(self.examples, formatter)
