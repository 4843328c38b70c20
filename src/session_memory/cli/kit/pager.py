"""Show a long answer in a pager while it is made, or print it if there is no terminal.

The pager is started without a shell. The only escape sequences in the text are our colours.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

import click

from session_memory.cli.kit.settings import Settings

FIRST, NEXT = 40, 400
DEFAULT = ("less", "-R")


def print_paged(settings: Settings, lines: Iterable[str], *, paged: bool = True) -> None:
    """Print lines as they are made. When the user quits the pager, no further lines are made."""
    command = _pager() if paged and not settings.quiet else ()
    process = _started(command) if command else None
    if process is None:
        for batch in _batches(lines):
            click.echo(batch)
        return
    is_plain = settings.no_color or bool(os.environ.get("NO_COLOR"))
    _feed(process, (click.unstyle(one) for one in _batches(lines)) if is_plain else _batches(lines))


def _pager() -> tuple[str, ...]:
    if not sys.stdout.isatty() or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        return ()
    pager = os.environ.get("PAGER")
    return DEFAULT if pager is None else tuple(shlex.split(pager))


def _started(command: tuple[str, ...]) -> "subprocess.Popen[bytes] | None":
    # F: print what fits on one screen. R: obey colours only. X: leave the text on the screen.
    env = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=env)
    except OSError:
        # Without a pager the answer is still shown.
        return None


def _feed(process: "subprocess.Popen[bytes]", batches: Iterator[str]) -> None:
    try:
        assert process.stdin is not None
        for batch in batches:
            process.stdin.write(f"{batch}\n".encode("utf-8", "backslashreplace"))
            process.stdin.flush()
        process.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):
        # The user quit before the end; the other lines are not made.
        pass
    while process.poll() is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            # Ctrl-C is for the pager.
            continue


def _batches(lines: Iterable[str]) -> Iterator[str]:
    source, size = iter(lines), FIRST
    while batch := list(islice(source, size)):
        yield "\n".join(batch)
        size = NEXT
