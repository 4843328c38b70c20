"""Where mycode keeps its sessions, and what each file there is.

sessions/<session>/messages.jsonl   the log
sessions/<session>/meta.json        title, directory and times; up to 0.4 model and provider too
sessions/<session>/tool-output/*    long output of a tool; stored as it is, gives no events
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import is_an_agents
from session_memory.core.roles import DOCUMENT, SPILL

LOG_NAME = "messages.jsonl"
META_NAME = "meta.json"
OUTPUT = "tool-output"
HOME = ".mycode"
PREFIX = f"{HOME}/sessions"
_SNIFFED = 65536
_MOST_FILES = 10_000
_ROLES = (b'{"role": "user"', b'{"role": "assistant"', b'{"role": "compact"', b'{"role": "rewind"')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$MYCODE_HOME`` if it is set, else ``~/.mycode``."""
    configured = environ.get("MYCODE_HOME")
    return [Path(configured).expanduser() if configured else home / HOME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield every session below ``root``: mycode's directory, a user's home, a directory
    ``sessions``, or any other directory with sessions."""
    own = _sessions_of(root)
    if own is not None:
        for directory in _directories(own):
            if isinstance(directory, Unlisted):
                yield directory
            else:
                yield from _session(directory, f"{PREFIX}/{directory.name}", is_ours=True)
    elif not is_an_agents(root) and root.name != HOME:
        yield from _gathered(root)


def log_at(path: Path) -> SourceRef | None:
    """Return the log of a session that a user names by the session's directory or its log; None if
    there is no log."""
    log = path / LOG_NAME if path.is_dir() else path
    if log.name != LOG_NAME or not log.is_file():
        return None
    name = log.parent.name
    beside = tuple(_beside(log.parent, f"{PREFIX}/{name}"))
    return SourceRef(log, home_path=f"{PREFIX}/{name}/{LOG_NAME}", session=name, companions=beside)


def _sessions_of(root: Path) -> Path | None:
    places = [root / HOME / "sessions"]
    if root.name == HOME:
        places = [root / "sessions"]
    elif root.name == "sessions" and root.parent.name == HOME:
        places = [root]
    try:
        return next((place for place in places if place.is_dir()), None)
    except OSError:
        return None


def _directories(base: Path) -> Iterator[Path | Unlisted]:
    try:
        entries = sorted(os.scandir(base), key=lambda entry: entry.name)
    except OSError as error:
        yield Unlisted(base / LOG_NAME, f"unreadable directory: {error.strerror}")
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield Path(entry.path)


def _session(directory: Path, home_path: str, *, is_ours: bool) -> Iterator[SourceRef | Unlisted]:
    """Yield the source of a session: its log with the files beside it. A directory without a log is
    no session yet."""
    log = directory / LOG_NAME
    try:
        if not log.is_file():
            if log.is_symlink() or log.exists():
                yield Unlisted(log, "a link that leads nowhere" if log.is_symlink() else "no file")
            return
        if not is_ours and not recognizes(_head(log)):
            return
        beside = tuple(_beside(directory, home_path))
    except OSError as error:
        yield Unlisted(log, error.strerror or str(error))
        return
    yield SourceRef(
        log, home_path=f"{home_path}/{LOG_NAME}", session=directory.name, companions=beside
    )


def _beside(directory: Path, home_path: str) -> Iterator[SourceRef]:
    name = directory.name
    if (directory / META_NAME).is_file():
        meta = directory / META_NAME
        yield SourceRef(meta, DOCUMENT, f"{home_path}/{META_NAME}", name)
    output = directory / OUTPUT
    if not output.is_dir() or output.is_symlink():
        return
    for entry in sorted(os.scandir(output), key=lambda entry: entry.name)[:_MOST_FILES]:
        if entry.is_file(follow_symlinks=False):
            place = f"{home_path}/{OUTPUT}/{entry.name}"
            yield SourceRef(Path(entry.path), SPILL, place, name)


def _gathered(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield sessions that somebody copied to another directory. The first bytes of their logs tell
    that they are mycode's."""
    if root.is_file():
        if root.name == LOG_NAME:
            yield from _session(root.parent, f"{PREFIX}/{root.parent.name}", is_ours=False)
        return
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        try:
            status = directory.stat()
            below = [path for path in _directories(directory) if isinstance(path, Path)]
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        parts = directory.relative_to(root).parts or (directory.name,)
        # A directory of mycode with another name has its sessions in `sessions/`, too. `sessions`
        # is left out, so that the home path does not depend on the name of the directory.
        parts = parts[1:] if parts[0] == "sessions" and len(parts) > 1 else parts
        yield from _session(directory, "/".join((PREFIX, *parts)), is_ours=False)
        waiting += reversed(below)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SNIFFED)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a mycode log: an object whose first field is a known role."""
    return head.startswith(_ROLES) and (b'"content": [' in head or b'"rewind_to"' in head)
