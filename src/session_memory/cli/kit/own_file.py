"""A file that a command has written outside its store: private, marked as ours, ours alone.

Nothing that lacks the mark is ever replaced or removed, and no link is followed.
"""

import os
from pathlib import Path

from session_memory.core.errors import UnsafePath


def write_own(path: Path, text: str, mark: str) -> None:
    """Create the file, or put it in the place of an earlier one of ours, whole or not at all."""
    refuse_foreign(path, mark)
    for directory in reversed((path.parent, *path.parent.parents)):
        directory.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def remove_own(path: Path, mark: str) -> None:
    refuse_foreign(path, mark)
    path.unlink()


def refuse_foreign(path: Path, mark: str) -> None:
    """Raise unless there is nothing at ``path``, or a file of ours."""
    if path.is_symlink():
        raise UnsafePath(f"{path} is a link", "Look where it leads, and remove it yourself.")
    if path.exists() and mark not in path.read_text("utf-8", errors="replace"):
        hint = "Look at it, and move it out of the way yourself."
        raise UnsafePath(f"{path} was not written by session-memory", hint)
