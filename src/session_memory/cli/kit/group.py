"""A group of commands, such as ``session-memory store``: a directory below ``cli/commands``."""

from typing import Any

import click

from session_memory.cli.kit.command import Command, write_examples, write_options
from session_memory.cli.kit.command_files import (
    CommandFile,
    find_file,
    members,
    similar_commands,
)

NAME_COLUMN = 20


class CommandGroup(Command, click.Group):
    """A group of the commands in the directory of ``file``. Its help has one example of each."""

    def __init__(self, file: CommandFile, **attributes: Any) -> None:
        super().__init__(
            name=file.name,
            help=file.load().__doc__,
            json_shape="Each command has its own; see its --help.",
            **attributes,
        )
        self.file = file

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [file.name for file in members(self.file)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        file = find_file(*self.file.words, cmd_name)
        return None if file is None else load_command(file)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        refuse_unknown(self, ctx, args[0], (*self.file.words, args[0]))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(file.name, file.line) for file in members(self.file)], col_max=NAME_COLUMN
            )
        write_options(self, ctx, formatter)
        write_examples([_own_example(file) for file in members(self.file)], formatter)


def _own_example(file: CommandFile) -> tuple[str, str]:
    """Return the command's first example that calls the command itself and not another one."""
    examples = load_command(file).examples
    return next(one for one in examples if one[0].startswith(file.typed))


def load_command(file: CommandFile) -> Command:
    """Import the command of ``file``, or make the group if ``file`` is that of a directory."""
    if file.is_group:
        return CommandGroup(file)
    command: Command = file.load().command
    return command


def refuse_unknown(
    group: click.Group, ctx: click.Context, name: str, words: tuple[str, ...]
) -> None:
    """Raise `UnknownCommand` if ``name`` is no command of ``group`` and no option.

    ``words`` are ``name`` and the groups before it, to find commands with similar names.
    """
    if not name.startswith("-") and group.get_command(ctx, name) is None:
        raise UnknownCommand(name, similar_commands(words), ctx)


class UnknownCommand(click.UsageError):
    """No command has this name. ``possibilities`` are commands with similar names, in any group."""

    def __init__(self, name: str, possibilities: list[str], ctx: click.Context) -> None:
        super().__init__(f"no such command {name!r}", ctx)
        self.possibilities = possibilities
