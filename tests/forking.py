"""Commands and scripts as processes, in forks of this one: Python and the package are loaded.

A new interpreter spends five times as long on its imports as on most commands. What a test must
see of a start from nothing it shows with `sys.executable`.
"""

import gc
import io
import json
import os
import signal
import stat
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from session_memory.cli import main


def start_command(
    *words: str, env: Mapping[str, str] | None = None, **popen: Any
) -> "subprocess.Popen[Any]":
    """Start ``session-memory`` with these words. ``popen`` are arguments of `subprocess.Popen`."""
    return start_fork(lambda: main(words, prog_name="session-memory"), words, env, **popen)


def start_script(
    code: str, *words: str, env: Mapping[str, str] | None = None, **popen: Any
) -> "subprocess.Popen[Any]":
    """Start ``code`` as a program."""
    compiled = compile(code, "<script>", "exec")
    return start_fork(lambda: exec(compiled, {"__name__": "__main__"}), words, env, **popen)


def start_fork(
    work: Callable[[], object],
    words: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    **popen: Any,
) -> "subprocess.Popen[Any]":
    """Start ``work`` in a fork. ``env`` is its whole environment, None means: that of the test."""
    environment = dict(os.environ if env is None else env)

    def become() -> None:
        _leave_the_parent(environment, words)
        _end(work)

    with warnings.catch_warnings():
        # Newer Pythons warn of a fork beside the threads of pytest-xdist.
        warnings.simplefilter("ignore", DeprecationWarning)
        # The fork does its work where a program would be started, and ends there. Like any Python
        # it ignores SIGPIPE and SIGXFSZ.
        return subprocess.Popen([sys.executable], preexec_fn=become, restore_signals=False, **popen)


class Done(NamedTuple):
    """What came of a command."""

    exit_code: int
    stdout: str
    stderr: str


_COMMANDS = """
import json, sys
from click.testing import CliRunner
from session_memory.cli import main
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, words, prog_name="session-memory")
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""


def run_in_new_python(*commands: str, **more: Any) -> list[Done]:
    """Run command lines one after the other in one new interpreter, with another package for
    example. ``more`` are arguments of `subprocess.run`."""
    words = json.dumps([command.split() for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS, words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )
    assert done.returncode == 0, done.stderr
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


def _leave_the_parent(environment: dict[str, str], words: tuple[str, ...]) -> None:
    """Be as a process that was just started."""
    # What the parent left to the garbage collector is not closed here: its files are the parent's.
    gc.freeze()
    _close_pipes()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = ["session-memory", *words]
    encoding, _, errors = environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding)  # noqa: SIM115
    sys.stdout = _writing(1, encoding, errors or "strict", is_eager=os.isatty(1))
    sys.stderr = _writing(2, encoding, "backslashreplace", is_eager=True)


def _writing(number: int, encoding: str, errors: str, *, is_eager: bool) -> io.TextIOWrapper:
    binary = open(number, "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(binary, encoding, errors, line_buffering=is_eager)


def _close_pipes() -> None:
    """Close the pipes to other processes, as the start of a program does.

    Otherwise a reader waits for the end of a pipe that this fork holds open.
    """
    for number in (int(entry.name) for entry in list(Path("/dev/fd").iterdir())):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
        except OSError:
            # The listing was open while it was read.
            continue
        if number > 2 and is_pipe and not os.get_inheritable(number):
            os.close(number)


def _end(work: Callable[[], object]) -> None:
    """Do the work and end, with the exit code that an interpreter would have."""
    code = 0
    try:
        work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    os._exit(code)
