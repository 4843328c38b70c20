"""Create files and directories that only their owner can read, and that survive a power cut.

A file outside the store is written here under a temporary name and gets its own name when it is
complete and on disk. So a file with its final name is always whole. The writer holds a lock on the
temporary file. A temporary file without a lock is left from a killed process, and the next command
that writes into the directory removes it.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import BinaryIO

from session_memory.core.errors import StoreError, StoreFull, UnsafePath

UNFINISHED = ".session-memory.part"
# A longer name would not fit into the 255 bytes of a name together with our additions.
LONGEST_NAME = 200
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

_numbers = count(1)


def create_private(path: Path, *, exclusive: bool = True) -> None:
    """Create an empty file with mode 0600, and missing directories with mode 0700."""
    flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | (os.O_EXCL if exclusive else 0)
    try:
        make_private(path.parent)
        os.close(os.open(path, flags, 0o600))
        sync_directory(path.parent)
    except OSError as error:
        if exclusive and path.exists():
            raise _exists(path) from None
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


# ---------------------------------------------------------------- whole or not at all


@contextmanager
def whole_file(
    path: Path,
    *,
    replace: bool = False,
    mtime_ns: int | None = None,
) -> Iterator[BinaryIO]:
    """A file to write to. It becomes ``path`` when the block ends, whole and on disk.

    If the block fails, nothing is left. Without ``replace`` an existing file raises `UnsafePath`.
    """
    if not replace:
        refuse_existing(path)
    partial, descriptor = _created(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mtime_ns is not None:
                os.utime(partial, ns=(mtime_ns, mtime_ns))
            _name(partial, path, replace=replace)
    finally:
        partial.unlink(missing_ok=True)
    sync_directory(path.parent)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill. It becomes ``path`` when the block ends, whole and on disk.

    If the block fails, nothing is left. ``path`` may be an empty directory.
    """
    with _staging(path) as partial:
        yield partial
        for place, _, files in os.walk(partial):
            for name in files:
                _sync_file(Path(place, name))
            sync_directory(Path(place))
        partial.rename(path)
    sync_directory(path.parent)


@contextmanager
def whole_database(path: Path) -> Iterator[Path]:
    """A path for a new SQLite file. The file becomes ``path`` when the block ends.

    The files that SQLite keeps beside it are in the same temporary directory. If the block fails,
    nothing is left. An existing file raises `UnsafePath`.
    """
    refuse_existing(path)
    try:
        make_private(path.parent)
        with _whole_database(path) as made:
            yield made
        sync_directory(path.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(str(path)) from error
        hint = "Check the path, its links and the permissions of its directory."
        raise StoreError(f"cannot create {path}: {error.strerror}", hint) from error


@contextmanager
def _whole_database(path: Path) -> Iterator[Path]:
    with _staging(path) as directory:
        made = directory / path.name
        yield made
        if any(Path(f"{made}{end}").exists() for end in ("-wal", "-journal")):
            # Closing it could not move everything into the file, for example on a full disk.
            raise StoreFull(str(path))
        _sync_file(made)
        _name(made, path, replace=False)


def refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise _exists(path)


def sweep_unfinished(directory: Path) -> None:
    """Remove what killed writers left in a directory. Files that are being written stay."""
    try:
        names = [entry.name for entry in os.scandir(directory)]
    except OSError:
        # The directory does not exist yet, or we may not list it. So there is nothing to remove.
        return
    for name in names:
        if is_unfinished(name):
            _remove_if_left(directory / name)


def is_unfinished(name: str) -> bool:
    """Whether a name is that of a temporary file or directory, which is not complete yet."""
    return name.startswith(".") and name.endswith(UNFINISHED)


def _exists(path: Path) -> UnsafePath:
    return UnsafePath(f"{path} exists already", "Choose a name that does not exist yet.")


def _partial(path: Path) -> Path:
    name = path.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = sha256(os.fsencode(name)).hexdigest()[:32]
    return path.with_name(f".{name}.{os.getpid()}-{next(_numbers)}{UNFINISHED}")


def _created(path: Path) -> tuple[Path, int]:
    """A new temporary file beside ``path``, and its locked descriptor."""
    while True:
        partial = _partial(path)
        try:
            descriptor = os.open(partial, _NEW, 0o600)
        except FileExistsError:
            # The name contains the number of this process. An earlier process with this number was
            # killed and left the file.
            continue
        _lock(descriptor)
        if _is_there(partial, descriptor):
            return partial, descriptor
        # Another process removed it in the instant before it was locked.
        os.close(descriptor)


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A new, locked temporary directory beside ``path``, removed at the end."""
    while True:
        partial = _partial(path)
        try:
            partial.mkdir(mode=0o700)
            descriptor = os.open(partial, _LOOK)
        except (FileExistsError, FileNotFoundError):
            if not path.parent.is_dir():
                raise
            continue
        _lock(descriptor)
        if _is_there(partial, descriptor):
            break
        os.close(descriptor)
    try:
        yield partial
    finally:
        _remove_tree(partial)
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a temporary file. False if another process has locked it, or locks do not work here."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_there(partial: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(partial), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _name(partial: Path, path: Path, *, replace: bool) -> None:
    if replace:
        partial.replace(path)
        return
    try:
        # A link, unlike a rename, fails if the file was created in the meantime.
        os.link(partial, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        refuse_existing(path)
        partial.rename(path)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_if_left(path: Path) -> None:
    try:
        descriptor = os.open(path, _LOOK)
    except OSError:
        # A link, a file of another user, or it is gone already.
        return
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or not _lock(descriptor):
            return
        if stat.S_ISDIR(found.st_mode):
            _remove_tree(path)
        elif stat.S_ISREG(found.st_mode):
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _remove_tree(path: Path) -> None:
    # `shutil` loads all libraries for compressed files, and a command that only reads needs none.
    from shutil import rmtree  # noqa: PLC0415

    rmtree(path, ignore_errors=True)
