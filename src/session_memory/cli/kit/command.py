"""The class of every command, with the shared options, examples and a description of its JSON."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import click

from session_memory.cli.kit.settings import Settings, settings_of

PROGRAM = "session-memory"
ALIGNED = 44
# A key of ``ctx.meta``. If it is set, the help leaves out the options that every command has.
WITHOUT_SHARED = "session_memory.cli.without_shared"
# A key of ``ctx.meta``: whether the command, run again, continues where it was interrupted.
RESUMABLE = "session_memory.cli.resumable"
Examples = Sequence[tuple[str, str]]
# A word with a dash first and a blank inside is a text: no option has a blank in its name.
_DASHED_TEXT = re.compile(r"-[^\s=]*\s")
# A word such as ``-test``, which a search excludes, is a text as well: no option has such a name.
_DASHED_WORD = re.compile(r"-[^-\s][^\s]+")


class Command(click.Command):
    """A command whose help shows examples and, from ``json_shape``, what ``--json`` prints.

    ``resumable``: run again after an interruption, the command continues where it stopped.
    """

    def __init__(
        self,
        *args: Any,
        examples: Examples = (),
        json_shape: str = "",
        resumable: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.json_shape = json_shape
        self.resumable = resumable
        self.params += shared_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args = self._texts_last(args)
        if not ctx.resilient_parsing:
            self._refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _texts_last(self, args: list[str]) -> list[str]:
        """Move texts that start with a dash behind ``--``, so that they are not read as options.

        An error that a user pastes may begin with ``--- FAIL:``.
        """
        takes_text = any(isinstance(p, click.Argument) and p.nargs == -1 for p in self.params)
        if not takes_text or "--" in args:
            return args
        flags = {"-" + "".join(order) for order in permutations("qh")}
        valued = {
            name
            for one in self.params
            if isinstance(one, click.Option) and not (one.is_flag or one.count)
            for name in one.opts
        }
        others: list[str] = []
        texts: list[str] = []
        for before, word in zip(["", *args], args, strict=False):
            is_word = _DASHED_WORD.fullmatch(word) and word not in flags
            is_text = before not in valued and (is_word or _DASHED_TEXT.match(word))
            (texts if is_text else others).append(word)
        return [*others, "--", *texts] if texts else args

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        """Raise if an option with one value is given twice: the last value would win silently."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        seen: set[str] = set()
        for parameter in order:
            if isinstance(parameter, _SharedOption) or not _takes_one_value(parameter):
                continue
            name = parameter.opts[0]
            if name in seen:
                raise click.UsageError(f"{name} takes one value but was given twice", ctx)
            seen.add(name)

    def invoke(self, ctx: click.Context) -> Any:
        since, until = ctx.params.get("since"), ctx.params.get("until")
        if isinstance(since, int) and isinstance(until, int) and since >= until:
            raise click.UsageError("--since is later than --until", ctx)
        ctx.meta[RESUMABLE] = self.resumable
        try:
            return super().invoke(ctx)
        finally:
            _remark_adapters(settings_of(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)
        if self.json_shape:
            with formatter.section("With --json"):
                formatter.write_text(self.json_shape)
        write_examples(self.examples, formatter)


def _remark_adapters(settings: Settings) -> None:
    # A command that did not load the registry has used no adapter.
    if "session_memory.adapters.registry" in sys.modules:
        from session_memory.cli.kit.adapter_remarks import remark_used_adapters

        remark_used_adapters(settings)


def make_command(
    *, examples: Examples, json_shape: str = "", resumable: bool = False
) -> Callable[[Callable[..., Any]], Command]:
    """Return a decorator that makes a function the command of its file.

    The name of the file is the command's name, and the docstring of the file is its help.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        from session_memory.cli.kit.command_files import command_name

        return click.command(
            command_name(function.__module__),
            cls=Command,
            help=sys.modules[function.__module__].__doc__,
            examples=examples,
            json_shape=json_shape,
            resumable=resumable,
        )(function)

    return decorate


def limit_option(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option ``--limit`` of commands that print a list."""
    kind = click.IntRange(min=0)
    meaning = "At most N rows of a list; 0 for all."
    return click.option(
        "--limit", type=kind, default=default, metavar="N", help=meaning, show_default=True
    )


def shared_options() -> list[click.Parameter]:
    """The options of every command. Each command gets new ones: click binds them to the command."""
    store = "The store: a file or a postgresql:// address.  [env: SESSION_MEMORY_STORE]"
    config = "The configuration file.  [env: SESSION_MEMORY_CONFIG]"
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    return [
        _shared("--store", metavar="PLACE", help=store),
        _shared("--config", type=file, metavar="FILE", help=config),
        _shared("--json", "as_json", is_flag=True, help="Print the answer as JSON."),
        _shared("--no-color", is_flag=True, help="Print without colours.  [env: NO_COLOR]"),
        _shared(
            "--quiet", "-q", is_flag=True, help="Print only the answer: no progress, no remarks."
        ),
    ]


class _SharedOption(click.Option):
    """An option of every command. The help lists these in a section of their own."""


def _takes_one_value(parameter: click.Parameter) -> bool:
    if not isinstance(parameter, click.Option):
        return False
    return not (parameter.multiple or parameter.is_flag or parameter.count)


def _shared(*names: str, **attributes: Any) -> click.Option:
    return _SharedOption(list(names), expose_value=False, callback=_remember, **attributes)


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    settings = settings_of(ctx)
    if value == "":
        raise click.BadParameter("the value is empty", ctx=ctx, param=parameter)
    if value not in (None, False):
        setattr(settings, str(parameter.name), value)
    if settings.no_color or os.environ.get("NO_COLOR"):
        ctx.color = False
    return value


def write_options(
    holder: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    for parameter in holder.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None and not isinstance(parameter, click.Argument):
            (shared if isinstance(parameter, _SharedOption) else own).append(record)
    with formatter.section("Options"):
        formatter.write_dl(own)
    if not ctx.meta.get(WITHOUT_SHARED):
        with formatter.section("Options of every command"):
            formatter.write_dl(shared)


def write_examples(examples: Examples, formatter: click.HelpFormatter) -> None:
    """Write examples as command lines; they are not wrapped, so that they can be copied."""
    size = max((len(line) for line, _ in examples if len(line) <= ALIGNED), default=0)
    with formatter.section("Examples"):
        for line, meaning in examples:
            formatter.write(f"  {PROGRAM} {line:<{size}}  # {meaning}\n")
