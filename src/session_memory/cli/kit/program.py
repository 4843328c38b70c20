"""The program ``session-memory``: find a command by name, import it, print failures as messages."""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from session_memory.cli.commands import DAILY, HEADINGS, OLD_NAMES, SHORT_NAMES
from session_memory.cli.kit.command import (
    PROGRAM,
    RESUMABLE,
    Examples,
    shared_options,
    write_examples,
    write_options,
)
from session_memory.cli.kit.command_files import CommandFile, find_file, top_level
from session_memory.cli.kit.failures import guarded
from session_memory.cli.kit.group import NAME_COLUMN, load_command, refuse_unknown

COMPLETE = "_SESSION_MEMORY_COMPLETE"
# The command that runs when none is given.
OVERVIEW = "status"


class MainGroup(click.Group):
    """The whole program. ``--help`` lists the daily commands first, then the rest by heading."""

    def __init__(self, *, examples: Examples, **attributes: Any) -> None:
        super().__init__(
            context_settings={"help_option_names": ["-h", "--help"]},
            invoke_without_command=True,
            **attributes,
        )
        self.examples = examples
        self.params += [*shared_options(), _version_option()]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [file.name for _, files in sections() for file in files]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        file = find_file(cmd_name)
        return None if file is None else load_command(file)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        refuse_unknown(self, ctx, args[0], (args[0],))
        name, command, rest = super().resolve_command(ctx, args)
        # Help and hints name the command by its present name.
        return OLD_NAMES.get(name or "", name), command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; without one, show the overview."""
        if ctx.args or ctx.invoked_subcommand or getattr(ctx, "_protected_args", None):
            return super().invoke(ctx)
        command = self.get_command(ctx, OVERVIEW)
        assert command is not None
        with command.make_context(OVERVIEW, [], parent=ctx) as inner:
            return command.invoke(inner)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, files in sections():
            with formatter.section(title):
                formatter.write_dl(
                    [(_with_short_name(file.name), file.line) for file in files],
                    col_max=NAME_COLUMN,
                )
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
        """Run the program and exit with 0 done, 1 failed, 2 wrong usage or 3 done with problems."""

        words = list(sys.argv[1:] if args is None else args)
        name = prog_name or PROGRAM
        meta: dict[str, Any] = {}
        settings: Any = None

        def run() -> int:
            nonlocal meta, settings
            if instruction := os.environ.get(complete_var or COMPLETE):
                from click.shell_completion import shell_complete

                return shell_complete(self, extra, name, complete_var or COMPLETE, instruction)
            with self.make_context(name, words, **extra) as ctx:
                meta = ctx.meta
                try:
                    self.invoke(ctx)
                finally:
                    settings = ctx.obj
            return 0

        def find_damage() -> str | None:
            from session_memory.store.damage import damage_of

            stores = getattr(settings, "opened_stores", ())
            return damage_of(getattr(store.db, "url", store.db.name) for store in stores)

        status = guarded(
            run,
            as_json="--json" in words,
            plain="--no-color" in words,
            is_resumable=lambda: bool(meta.get(RESUMABLE)),
            find_damage=find_damage,
        )
        if standalone_mode:
            sys.exit(status)
        return status


def sections() -> list[tuple[str, list[CommandFile]]]:
    """Return the sections of ``--help``: a title, and the commands and groups below it."""
    files = {file.name: file for file in top_level()}
    daily = [files.pop(name) for name in DAILY]
    rest = [
        (heading.capitalize(), [file for file in files.values() if file.heading == heading])
        for heading in HEADINGS
    ]
    return [("Every day", daily), *((title, found) for title, found in rest if found)]


def _version_option() -> click.Option:
    def show(ctx: click.Context, parameter: click.Parameter, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
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


def _with_short_name(name: str) -> str:
    """Return a name for ``--help``, with its short name if there is one: ``sessions, ls``."""
    return ", ".join(filter(None, (name, SHORT_NAMES.get(name))))
