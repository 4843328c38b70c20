"""Failures as messages: ``error:`` and ``hint:`` lines, or one JSON object."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import click

from session_memory.render.text import safe

DEBUG = "SESSION_MEMORY_DEBUG"
FAILED, USAGE, PROBLEMS, INTERRUPTED = 1, 2, 3, 130
BUG = "bug"


class Failure(NamedTuple):
    kind: str
    message: str
    hint: str | None
    status: int


def guarded(
    run: Callable[[], int],
    *,
    as_json: bool,
    plain: bool,
    is_resumable: Callable[[], bool],
    find_damage: Callable[[], str | None] = lambda: None,
) -> int:
    """Call ``run`` and return its exit status. An exception becomes a message on stderr.

    ``is_resumable`` is asked after an interruption: whether the command, run again, continues.
    ``find_damage`` is asked after an unexpected exception: what is damaged in the store, or None.
    """
    _write_anything()
    try:
        status = run()
        sys.stdout.flush()
        return status
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except BrokenPipeError:
        # The reader closed the pipe, as in ``session-memory sessions | head``.
        _forget_stdout()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get(DEBUG):
            raise
        if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
            click.echo(error.format_message(), err=True)
            return USAGE
        failure = explained(error, resumable=is_resumable())
        if failure.kind == BUG and (damage := _damage(error, find_damage)):
            failure = damage
        with suppress(BrokenPipeError):
            report(failure, as_json=as_json, plain=plain)
        return failure.status


def explained(error: BaseException, *, resumable: bool = False) -> Failure:
    from session_memory.core.errors import SessionMemoryError

    match error:
        case click.exceptions.NoArgsIsHelpError():
            return Failure("usage", "no command given", "See: session-memory --help", USAGE)
        case click.UsageError():
            return _usage(error)
        case click.ClickException():
            return Failure("usage", error.format_message(), None, USAGE)
        case click.Abort() | KeyboardInterrupt():
            hint = "What was done so far is kept; run the command again to continue."
            return Failure("interrupted", "interrupted", hint if resumable else None, INTERRUPTED)
        case SessionMemoryError():
            return Failure(error.kind, str(error), error.hint, FAILED)
        case OSError():
            return _os_error(error)
        case MemoryError():
            hint = "End other programs, or raise the limit of this one (ulimit -v)."
            return Failure("out_of_memory", "there is not enough memory", hint, FAILED)
    message = f"unexpected {type(error).__name__}: {error}"
    hint = f"This is a bug. Run the command again with {DEBUG}=1 for a traceback."
    return Failure(BUG, message, hint, FAILED)


def _damage(error: BaseException, find_damage: Callable[[], str | None]) -> Failure | None:
    """Return a failure if a damaged store caused the unexpected exception; None if it is a bug."""
    from session_memory.core.errors import StoreDamaged
    from session_memory.store.damage import is_unreadable_value

    found = f"a stored value cannot be read: {error}" if is_unreadable_value(error) else None
    found = found or find_damage()
    return Failure(StoreDamaged.kind, found, StoreDamaged.hint, FAILED) if found else None


def _usage(error: click.UsageError) -> Failure:
    path = error.ctx.command_path if error.ctx else "session-memory"
    hint = f"See: {path} --help"
    message = error.format_message()
    # This is what click says of a wrong number; it adds "range" for an option with bounds.
    for words in ("a valid integer range", "a valid integer"):
        message = message.replace(f"is not {words}", "is not a whole number")
    near = getattr(error, "possibilities", None)
    if near:
        # click puts similar names into the message; we put them into the hint.
        message = error.message
        *others, last = near
        names = f"{', '.join(others)} or {last}" if others else last
        hint = f"Did you mean {names}? {hint}"
    return Failure("usage", message.rstrip("."), hint, USAGE)


def _os_error(error: OSError) -> Failure:
    place = f"{error.filename}: " if error.filename else ""
    message = f"{place}{error.strerror or error}"
    hint = "Check that the path exists and that you may use it."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Free some space and run the command again."
    return Failure("os_error", message, hint, FAILED)


def report(failure: Failure, *, as_json: bool, plain: bool) -> None:
    if as_json:
        from session_memory.render.json_text import to_json

        values = {"kind": failure.kind, "message": failure.message, "hint": failure.hint}
        click.echo(to_json({"error": values}), err=True)
        return
    message = failure.message
    if not message[1:2].isupper():
        # A sentence that begins with a name in capitals, such as a variable, keeps them.
        message = message[:1].lower() + message[1:]
    color = False if plain or os.environ.get("NO_COLOR") else None
    click.secho(f"error: {safe(message)}", fg="red", err=True, color=color)
    if failure.hint:
        from session_memory.cli.kit.calling import callable_text

        click.echo(f"hint: {safe(callable_text(failure.hint))}", err=True)


def _write_anything() -> None:
    """Print an escape for a character that the terminal cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Send the buffered output to /dev/null. Otherwise Python would fail to write it at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
