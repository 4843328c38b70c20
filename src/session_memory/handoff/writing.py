"""Write the files of a new session where its agent looks for them, or let the agent import them."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from session_memory.core.errors import CannotHandOver
from session_memory.core.handing import NewFile
from session_memory.handoff.handing import Handoff

_SECONDS = 120


def write(handoff: Handoff, environ: Mapping[str, str] = os.environ) -> None:
    """Create the files of the session, or let the agent import it."""
    if handoff.import_argv:
        _imported(handoff, environ)
        return
    for file in handoff.files:
        try:
            _write(file)
        except FileExistsError:
            raise CannotHandOver(
                f"{file.path} exists already", "Nothing was overwritten. Try again."
            ) from None
        except OSError as error:
            raise CannotHandOver(
                f"{file.path} cannot be written: {error.strerror}",
                "Check the directory, or name another one for the session: --cwd DIR",
            ) from error


def _write(file: NewFile) -> None:
    """Write a file whole or not at all. Only a file that other sessions share is replaced."""
    file.path.parent.mkdir(parents=True, exist_ok=True)
    draft = file.path.with_name(f".{secrets.token_hex(8)}.handoff")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(file.content)
        if file.is_shared:
            draft.replace(file.path)
        else:
            os.link(draft, file.path)
    finally:
        draft.unlink(missing_ok=True)


def _found(program: str, environ: Mapping[str, str]) -> str:
    """Return the path of a program on the PATH of ``environ``; its name if it is not there."""
    return shutil.which(program, path=environ.get("PATH")) or program


def _imported(handoff: Handoff, environ: Mapping[str, str]) -> None:
    (file,) = handoff.files
    with tempfile.TemporaryDirectory(prefix="session-memory-") as directory:
        place = Path(directory) / file.path.name
        place.write_bytes(file.content)
        try:
            done = subprocess.run(
                [_found(handoff.import_argv[0], environ), *handoff.import_argv[1:], str(place)],
                cwd=handoff.cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotHandOver(
                f"{handoff.target} could not import the session: {error}",
                f"Is it installed here? {handoff.import_argv[0]} --version",
            ) from None
    if done.returncode:
        text = (done.stderr or done.stdout).strip()[-500:]
        raise CannotHandOver(
            f"{handoff.target} refused the session: {text}",
            "Print it as a text instead: --as text",
        )
