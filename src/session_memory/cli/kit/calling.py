"""How this program is called, so that a command that we print works as it is typed."""

import re
import shlex
import sys
from pathlib import Path

from session_memory.cli.kit.command import PROGRAM

PACKAGE = Path(__file__).parents[2]
_CALL = re.compile(rf"(?<![\w./\[-]){PROGRAM} (?=[a-z-])")


def how_to_call() -> str:
    """``session-memory`` where the PATH leads to this program, else its full path."""
    script = _script()
    if script is None:
        return PROGRAM
    from shutil import which

    on_path = which(PROGRAM)
    if on_path is not None and Path(on_path).resolve() == script.resolve():
        return PROGRAM
    return shlex.quote(str(script))


def _script() -> Path | None:
    """The script that was started; for ``python -m session_memory`` the one in Python's directory.

    None where something else was started, such as a program that uses the package.
    """
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and PACKAGE in started.parents:
        started = Path(sys.executable).with_name(PROGRAM)
    is_ours = started.name == PROGRAM and started.is_file()
    return started.absolute() if is_ours else None


def callable_text(text: str) -> str:
    """``text`` with every ``session-memory COMMAND`` in it as it has to be typed here."""
    call = how_to_call()
    return text if call == PROGRAM else _CALL.sub(lambda _: f"{call} ", text)
