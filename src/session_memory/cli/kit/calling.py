"""Print commands so that the user can copy them: with this program's full path where necessary."""

import re
import shlex
import sys
from pathlib import Path

from session_memory.cli.kit.command import PROGRAM

PACKAGE = Path(__file__).parents[2]
_CALL = re.compile(rf"(?<![\w./\[-]){PROGRAM} (?=[a-z-])")


def how_to_call() -> str:
    """Return ``session-memory`` if the PATH finds this program by that name, else its full path."""
    script = _script()
    if script is None:
        return PROGRAM
    from shutil import which

    on_path = which(PROGRAM)
    if on_path is not None and Path(on_path).resolve() == script.resolve():
        return PROGRAM
    return shlex.quote(str(script))


def _script() -> Path | None:
    """Return the path of the script ``session-memory`` that was started.

    For ``python -m session_memory`` it is the script beside the Python interpreter. None if
    another program was started that uses this package.
    """
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and PACKAGE in started.parents:
        started = Path(sys.executable).with_name(PROGRAM)
    is_ours = started.name == PROGRAM and started.is_file()
    return started.absolute() if is_ours else None


def callable_text(text: str) -> str:
    """Replace the name in every ``session-memory COMMAND`` in ``text`` by `how_to_call`."""
    call = how_to_call()
    return text if call == PROGRAM else _CALL.sub(lambda _: f"{call} ", text)
