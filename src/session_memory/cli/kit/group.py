"""The program itself: finds commands by name, loads them late, turns failures into messages."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from session_memory.cli.kit.command import (
    PROGRAM,
    Examples,
    shared_options,
    write_examples,
    write_options,
)
from session_memory.cli.kit.failures import guarded

Sections = Mapping[str, Mapping[str, str]]
PACKAGE = "session_memory.cli.commands"
# Commands that keep what they did when they are interrupted, and go on from there.
GOING_ON = frozenset({"sync", "watch", "demo", "analyze", "rebuild", "import", "retain"})
COMPLETE = "_SESSION_MEMORY_COMPLETE"


class Commands(click.Group):
    """``sections`` names every command with its line of help, so that listing loads nothing."""

    def __init__(self, *, sections: Sections, examples: Examples, **kwargs: Any) -> None:
        super().__init__(context_settings={"help_option_names": ["-h", "--help"]}, **kwargs)
        self.sections = sections
        self.examples = examples
        self.params += [*shared_options(), _version_option()]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in self.sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        # "import" is the one command whose name Python wants for itself.
        module = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        found: click.Command = import_module(f"{PACKAGE}.{module}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.NoSuchCommand(name, possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()), col_max=20)
        write_options(self, ctx, formatter)
        write_examples(self.examples, formatter)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = PROGRAM,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and leave with an exit status: 0 done, 1 failed, 2 usage, 3 done with problems."""

        words = list(sys.argv[1:] if args is None else args)
        name = prog_name or PROGRAM

        def run() -> int:
            if instruction := os.environ.get(complete_var or COMPLETE):
                from click.shell_completion import shell_complete

                return shell_complete(self, extra, name, complete_var or COMPLETE, instruction)
            with self.make_context(name, words, **extra) as ctx:
                self.invoke(ctx)
            return 0

        status = guarded(
            run,
            as_json="--json" in words,
            plain="--no-color" in words,
            goes_on=not GOING_ON.isdisjoint(words),
        )
        if standalone_mode:
            sys.exit(status)
        return status


def _version_option() -> click.Option:
    def show(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            from session_memory import __version__

            click.echo(f"{PROGRAM} {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Print the version.",
    )
