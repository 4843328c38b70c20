"""Files that a command writes outside the store, such as a service file.

Each file contains a mark: a sentence that names the command that wrote it. A file without the mark
is never replaced or removed, and no symbolic link is followed.
"""

from pathlib import Path

from session_memory.core.errors import UnsafePath
from session_memory.store.private_files import make_private, sweep_unfinished, whole_file


def write_own(path: Path, text: str, mark: str) -> None:
    """Write ``text`` to ``path``, as a whole. Raise if another file without the mark is there."""
    refuse_foreign(path, mark)
    replace_file(path, text.encode("utf-8", "surrogateescape"))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read. It is replaced as a whole or not at all."""
    make_private(path.parent)
    sweep_unfinished(path.parent)
    with whole_file(path, replace=True) as file:
        file.write(data)


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
