"""Read and write files safely (no links, atomic replacement), and keep append-only journals."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import UnsafePath
from session_memory.core.lesson_errors import LessonError
from session_memory.store.operation_lock import lock_within_a_minute
from session_memory.store.private_files import make_private, sync_directory

_UNFINISHED = ".session-memory-new"


def sweep(path: Path) -> None:
    """Remove temporary files that a killed `replace_file` of ``path`` left."""
    for left in path.parent.glob(f".{escape(path.name)}.*{_UNFINISHED}"):
        left.unlink(missing_ok=True)


def sweep_below(directory: Path) -> None:
    """Remove all temporary files that killed `replace_file` calls left below a directory."""
    for left in directory.rglob(f".*{_UNFINISHED}"):
        left.unlink(missing_ok=True)


def read_file(path: Path, most: int) -> bytes | None:
    """Return the bytes of a file, or None if it does not exist.

    Raises `UnsafePath` for a link, for anything else that is no regular file, and for a file of
    more than ``most`` bytes; `LessonError` if the file cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePath(f"{path} is not a file", "Name a file.")
        if status.st_size > most:
            raise UnsafePath(f"{path} is larger than {most:,} bytes", "Name another file.")
        return file.read()


def _refusal(path: Path, error: OSError) -> Exception:
    if error.errno == errno.ELOOP:
        leads = os.path.realpath(path)
        return UnsafePath(f"{path} is a link", f"Name the file it points to: {leads}")
    hint = "Check the path and its permissions."
    return LessonError(f"cannot use {path}: {error.strerror}", hint)


def replace_file(
    path: Path, data: bytes, like: os.stat_result | None = None, mode: int = 0o600
) -> None:
    """Replace the file at ``path`` atomically: a reader sees the old content or the new one.

    The new file gets the mode and owner of ``like``, or ``mode`` within the umask. A link at
    ``path`` is replaced, not followed.
    """
    new = path.with_name(f".{path.name}.{os.getpid()}{_UNFINISHED}")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
        descriptor = os.open(new, flags, mode if like is None else 0o600)
    except OSError as error:
        raise _refusal(new, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            if like is not None:
                _make_like(file.fileno(), like)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def _make_like(descriptor: int, like: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError as error:
            hint = "Let its owner run the command."
            message = "the file belongs to another user or group"
            raise UnsafePath(message, hint) from error
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))


class Journal:
    """An append-only file of JSON lines. A line is on disk when `add` returns.

    Lock it with `held` around every change that it records, so that changes do not overlap.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> tuple[list[dict[str, Any]], int]:
        """Return the entries in order, and the number of lines that could not be read."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return [], 0
        found, bad = [], 0
        for line in data.split(b"\n"):
            if not line.strip(b"\0 \t\r"):
                continue
            try:
                found.append(msgspec.json.decode(line.lstrip(b"\0"), type=dict[str, Any]))
            except msgspec.DecodeError:
                bad += 1
        return found, bad

    @contextmanager
    def held(self) -> Iterator[None]:
        make_private(self.path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        try:
            descriptor = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise _refusal(self.path, error) from error
        try:
            lock_within_a_minute(descriptor, str(self.path))
            sync_directory(self.path.parent)
            yield
        finally:
            os.close(descriptor)

    def add(self, entry: dict[str, Any]) -> None:
        """Append an entry. Call this while the journal is locked with `held`."""
        line = msgspec.json.encode(entry) + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # A killed process left half a line. The new line must not be joined to it.
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
