"""Explain a command, or list all commands.

Prints the same as session-memory COMMAND --help.
"""

import click

from session_memory.cli.commands import OLD_NAMES
from session_memory.cli.kit.command import make_command
from session_memory.cli.kit.group import refuse_unknown
from session_memory.cli.kit.output import print_json
from session_memory.cli.kit.settings import Settings


@make_command(
    examples=(
        ("help", "all commands"),
        ("help show", "one command"),
        ("help store verify", "a command of a group"),
    ),
    json_shape='{"command", "help"}',
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    settings: Settings = ctx.obj
    inner = ctx.find_root()
    for number, word in enumerate(words):
        group = inner.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{inner.command_path} has no commands", ctx)
        refuse_unknown(group, inner, word, words[: number + 1])
        found = group.get_command(inner, word)
        if found is None:
            raise click.UsageError(f"{word} is an option, not a command", ctx)
        name = word if number else OLD_NAMES.get(word, word)
        inner = click.Context(found, parent=inner, info_name=name)
    if settings.as_json:
        print_json({"command": inner.command_path, "help": inner.get_help()})
    else:
        click.echo(inner.get_help())
