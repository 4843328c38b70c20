"""The skill log: one JSONL file for each session, one line for each call of a skill.

An entry is appended with one ``write`` and is on disk when `SkillLog.append` returns. A line that a
crash or a full disk cut short stays in the file; only that entry is lost.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from session_memory.core.errors import (
    InvalidRecord,
    SessionMemoryError,
    StoreError,
    StoreFull,
    UnsafePath,
)
from session_memory.core.ids import check_log_id, is_log_id
from session_memory.core.schema import Entry
from session_memory.core.skills import entry_of
from session_memory.core.text import short_repr
from session_memory.core.time import now
from session_memory.store.operation_lock import lock_within_a_minute
from session_memory.store.private_files import make_private, sync_directory

ENDING = ".jsonl"
# One ``write`` call accepts at most 2 GiB.
LONGEST_LINE = 1 << 30
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class BadLine(NamedTuple):
    """A line that cannot be read as an entry, with its place in the file and the reason."""

    offset: int
    length: int
    reason: str


class LogFile(NamedTuple):
    """The log of one session, as it is on disk."""

    session_id: str
    path: str
    size: int
    inode: int


class Entries(list[Entry]):
    """The entries of a log in order. ``problems`` lists the lines that could not be read."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[BadLine] = []


class SkillLog:
    """The logs in one directory. Many processes and threads may append at once."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory).expanduser()

    def path_of(self, session_id: str) -> Path:
        """The path of a session's log. Raises if the id is not valid."""
        return self.directory / f"{check_log_id('session_id', session_id)}{ENDING}"

    def append(self, entry: Entry | Mapping[str, Any], session_id: str | None = None) -> None:
        """Add an entry to the log of its session. It is on disk when this returns.

        A mapping may lack the timestamp. It may lack its session if ``session_id`` names that.
        """
        record = entry if isinstance(entry, Entry) else _new_entry(entry, session_id)
        if session_id not in (None, record.session_id):
            message = f"an entry of session {short_repr(record.session_id)}"
            hint = "Leave out one of the two session ids, or give the same one."
            raise InvalidRecord(
                f"{message}, not {short_repr(session_id)}", hint, field="session_id"
            )
        line = _line_of(record)
        path = self.path_of(record.session_id)
        with _explained(path, "write"):
            self._refuse_linked_folders(path)
            make_private(path.parent)
            with closing(_Tail(path)) as tail:
                tail.add(line)

    def read(self, session_id: str, *, offset: int = 0) -> Entries:
        """Return the entries of a session, and its lines that are no entries as problems.

        Without a log there are none. ``offset``: read only the lines from this byte on. This does
        not wait for writers.
        """
        found = Entries()
        path = self.path_of(session_id)
        with _explained(path, "read"):
            self._refuse_linked_folders(path)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:
                return found
            with open(descriptor, "rb") as file:  # noqa: PTH123
                _refuse_other_than_file(path, descriptor)
                file.seek(offset)
                for place, length, line in _lines(file, offset):
                    _read_line(found, session_id, place, length, line)
        return found

    def sessions(self) -> list[str]:
        """The ids of the sessions that have a log, sorted."""
        with _explained(self.directory, "read"):
            found = _logs_in(os.fspath(self.directory))
            return sorted(name for name, _ in found if is_log_id(name))

    def files(self) -> list[LogFile]:
        """The logs with their path, size and inode. This is quick for thousands of logs."""
        top = os.path.abspath(self.directory)  # noqa: PTH100
        with _explained(self.directory, "read"):
            found = [_log_file(name, entry) for name, entry in _logs_in(top) if is_log_id(name)]
        return [file for file in found if file is not None]

    def _refuse_linked_folders(self, path: Path) -> None:
        """Raise `UnsafePath` if a folder on the way to a log is a symbolic link.

        An id such as ``feat/x`` has a folder, ``feat``. A link in its place could lead out of the
        directory of logs.
        """
        for folder in path.parents[: len(path.relative_to(self.directory).parts) - 1]:
            if folder.is_symlink():
                raise UnsafePath(f"{folder} is a link", "Check where it points, and remove it.")


def _logs_in(directory: str, inside: str = "") -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """The logs below a directory with their ids. An id with slashes has folders."""
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _logs_in(entry.path, f"{inside}{entry.name}/")
        elif entry.name.endswith(ENDING) and entry.is_file(follow_symlinks=False):
            yield inside + entry.name.removesuffix(ENDING), entry


def _log_file(session_id: str, entry: "os.DirEntry[str]") -> LogFile | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        # It was deleted a moment ago.
        return None
    return LogFile(session_id, entry.path, status.st_size, status.st_ino)


def _new_entry(values: Any, session_id: str | None) -> Entry:
    if isinstance(values, Mapping):
        session = values.get("session_id") or session_id
        moment = values.get("timestamp") or now()
        values = {**values, "session_id": session, "timestamp": moment}
    return Entry.from_dict(values)


_LEFT_OUT = ("phase", "project_root", "attempts", "output_summary", "runner_output")


def _line_of(entry: Entry) -> bytes:
    # Fields keep their order, so that the session id is at the beginning of the line.
    values = _without_empty(entry.to_dict())
    if "attempts" in values:
        values["attempts"] = list(map(_without_empty, values["attempts"]))
    line = json.dumps(values, allow_nan=False).encode("ascii") + b"\n"
    if len(line) >= LONGEST_LINE:
        message = f"the entry has {len(line):,} bytes, the limit is {LONGEST_LINE:,}"
        raise InvalidRecord(message, "Shorten its texts.", field="Entry")
    return line


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Remove optional fields that are empty. An empty ``input`` stays; None is removed."""
    for name in _LEFT_OUT:
        if not values.get(name, True):
            del values[name]
    if values.get("input", ...) is None:
        del values["input"]
    return values


class _Tail:
    """The end of a log, locked so that two writers cannot mix their lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _locked(path)

    def add(self, line: bytes) -> None:
        status = os.fstat(self._file)
        if not status.st_size:
            # Sync the directory before the first byte, so that a file with data has its name on
            # disk.
            sync_directory(self._path.parent)
        elif os.pread(self._file, 1, status.st_size - 1) != b"\n":
            line = b"\n" + line
        written = os.write(self._file, line)
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _locked(path: Path) -> int:
    """Open the file at ``path`` and lock it. Returns the descriptor."""
    while True:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        try:
            _refuse_other_than_file(path, descriptor)
            lock_within_a_minute(descriptor, str(path))
            if _still_names(path, descriptor):
                _keep_private(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _still_names(path: Path, descriptor: int) -> bool:
    """Whether ``path`` is still this file: it may have been moved while we waited for the lock."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _keep_private(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if status.st_mode & 0o077 and status.st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)


def _lines(file: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Offset, length and bytes of every line that is not blank; bytes are None if too long."""
    while line := file.readline(LONGEST_LINE):
        length = len(line)
        if length == LONGEST_LINE and not line.endswith(b"\n"):
            while piece := file.readline(1 << 20):
                length += len(piece)
                if piece.endswith(b"\n"):
                    break
            yield offset, length, None
        elif not line.isspace():
            yield offset, length, line
        offset += length


def _read_line(
    found: Entries, session_id: str, offset: int, length: int, line: bytes | None
) -> None:
    reason = "line too long"
    if line is not None:
        try:
            entry = entry_of(line, session_id)
        except InvalidRecord as error:
            reason = str(error) if line.endswith(b"\n") else "unfinished last line"
        else:
            if entry.session_id == session_id:
                found.append(entry)
                return
            reason = f"an entry of session {short_repr(entry.session_id)}"
    found.problems.append(BadLine(offset, length, reason))


def _refuse_other_than_file(path: Path, descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise UnsafePath(f"{path} is not a file", "Move it away, or use another directory.")


@contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """Turn errors of the operating system into errors with the path and a hint."""
    try:
        yield
    except SessionMemoryError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull(str(path)) from error
        if error.errno == errno.ELOOP:
            hint = "Check where the link points, and remove it."
            raise UnsafePath(f"{path} is a link", hint) from error
        hint = "Check the directory, its links and its permissions."
        raise StoreError(f"cannot {what} {path}: {error.strerror}", hint) from error
