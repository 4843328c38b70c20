"""A long answer on a terminal goes through a pager, as it is made; anywhere else it is printed.

The pager is started with an argument list, and gets text in which nothing but our own colours is
an escape sequence.
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
    """Print as the lines come; whoever has seen enough ends it, and nothing more is made."""
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
    told = os.environ.get("PAGER")
    return DEFAULT if told is None else tuple(shlex.split(told))


def _started(command: tuple[str, ...]) -> "subprocess.Popen[bytes] | None":
    # F: what fits on one screen is simply printed. R: colours, and no other escapes. X: it stays.
    env = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=env)
    except OSError:
        # A machine without it, or with another in PAGER than it has, still shows the answer.
        return None


def _feed(process: "subprocess.Popen[bytes]", batches: Iterator[str]) -> None:
    try:
        assert process.stdin is not None
        for batch in batches:
            process.stdin.write(f"{batch}\n".encode("utf-8", "backslashreplace"))
            process.stdin.flush()
        process.stdin.close()
    except (BrokenPipeError, KeyboardInterrupt):
        # Left before the end; what was not made yet never is.
        pass
    while process.poll() is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            # The pager has its own use for it.
            continue


def _batches(lines: Iterable[str]) -> Iterator[str]:
    source, size = iter(lines), FIRST
    while batch := list(islice(source, size)):
        yield "\n".join(batch)
        size = NEXT
