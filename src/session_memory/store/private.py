"""Files that only their owner may read."""

import os
from pathlib import Path

from session_memory.core.errors import StoreError, UnsafePath


def create_private(path: Path, *, exclusive: bool = True) -> None:
    """An empty file that only its owner may read, in a directory that only its owner may enter."""
    flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | (os.O_EXCL if exclusive else 0)
    try:
        # Path.mkdir would give the directories between the permissions of the umask.
        for directory in reversed((path.parent, *path.parent.parents)):
            directory.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        if exclusive and path.exists():
            hint = "Choose a name that does not exist yet."
            raise UnsafePath(f"{path} exists already", hint) from None
        hint = "Check the path, its links and the permissions of its directory."
        raise StoreError(f"cannot create {path}: {error.strerror}", hint) from error
