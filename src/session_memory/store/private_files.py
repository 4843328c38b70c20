"""Create files and directories that only their owner can read, and that survive a power cut."""

import errno
import os
from pathlib import Path

from session_memory.core.errors import StoreError, UnsafePath


def create_private(path: Path, *, exclusive: bool = True) -> None:
    """Create an empty file with mode 0600, and missing directories with mode 0700."""
    flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | (os.O_EXCL if exclusive else 0)
    try:
        make_private(path.parent)
        os.close(os.open(path, flags, 0o600))
        sync_directory(path.parent)
    except OSError as error:
        if exclusive and path.exists():
            hint = "Choose a name that does not exist yet."
            raise UnsafePath(f"{path} exists already", hint) from None
        hint = "Check the path, its links and the permissions of its directory."
        raise StoreError(f"cannot create {path}: {error.strerror}", hint) from error


def make_private(directory: Path) -> None:
    """Create a directory and its missing parents with mode 0700, durably."""
    if directory.is_dir():
        return
    # `Path.mkdir(parents=True)` would create the parents with the permissions of the umask.
    for place in reversed((directory, *directory.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
            sync_directory(place.parent)


def sync_directory(directory: Path) -> None:
    """Write the names in a directory to disk. Otherwise a power cut may lose new files."""
    try:
        opened = os.open(directory, os.O_RDONLY)
    except PermissionError:
        # A directory may allow adding files but not reading, and syncing needs to read it.
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
        # Some file systems cannot sync a directory and do not need it.
    finally:
        os.close(opened)
