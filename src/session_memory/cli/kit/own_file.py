"""Files that a command writes outside the store, such as a service file.

Each file has a mark. A file without the mark is never replaced or removed, and no link is followed.
"""

import os
from pathlib import Path

from session_memory.core.errors import UnsafePath


def write_own(path: Path, text: str, mark: str) -> None:
    """Create the file, or replace an earlier one with the mark, as a whole."""
    refuse_foreign(path, mark)
    replace_file(path, text.encode("utf-8", "surrogateescape"))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read; it appears as a whole or not at all."""
    for directory in reversed((path.parent, *path.parent.parents)):
        directory.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
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
    """Raise if there is a link or a file without the mark at ``path``."""
    if path.is_symlink():
        raise UnsafePath(f"{path} is a link", "Check where it points, and remove it yourself.")
    if path.exists() and mark not in path.read_text("utf-8", errors="replace"):
        hint = "Check the file, and move it away yourself."
        raise UnsafePath(f"{path} was not written by session-memory", hint)
