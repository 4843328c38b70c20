"""Files that only their owner may read."""

import errno
import os
from pathlib import Path

from session_memory.core.errors import StoreError, UnsafePath


def create_private(path: Path, *, exclusive: bool = True) -> None:
    """An empty file that only its owner may read, in a directory that only its owner may enter."""
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
    """The directory, with those above it, unless they are there; each stays after a power cut."""
    if directory.is_dir():
        return
    # Path.mkdir would give the directories between the permissions of the umask.
    for place in reversed((directory, *directory.parents)):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
            sync_directory(place.parent)


def sync_directory(directory: Path) -> None:
    """What is synced in a file is lost with its name: a power cut may take names not synced."""
    try:
        opened = os.open(directory, os.O_RDONLY)
    except PermissionError:
        # We may add names here without being allowed to list them, and syncing takes listing.
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
        # A file system that cannot sync a directory keeps its names by itself.
    finally:
        os.close(opened)
