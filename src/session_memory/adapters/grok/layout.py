"""Where Grok keeps its sessions, and what each file there is.

sessions/<encoded cwd>/<session>/updates.jsonl            the log
sessions/<encoded cwd>/<session>/events.jsonl             its timeline: permissions, outcomes
sessions/<encoded cwd>/<session>/summary.json             titles and parents
sessions/<encoded cwd>/<session>/subagents/<child>/meta.json   what is known of a subagent
sessions/<encoded cwd>/<session>/**                       everything else, kept as it is
"""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import is_an_agents
from session_memory.core.roles import DOCUMENT, SPILL, TIMELINE

LOG_NAME = "updates.jsonl"
PREFIX = ".grok/sessions"
_SNIFFED = 65536
_DEEPEST = 6
_MOST_FILES = 10_000
# Locks, sockets and temporary files hold no history. Databases are derived from the other files.
_NOT_KEPT = (".lock", ".sock", ".pid", ".tmp", ".sqlite", ".db", "-wal", "-shm", "-journal")


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$GROK_HOME`` if it is set, else ``~/.grok``."""
    configured = environ.get("GROK_HOME")
    return [Path(configured).expanduser() if configured else home / ".grok"]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory below ``sessions`` belongs to a repository whose name fits ``pattern``.

    The name of the directory is the percent-encoded path of the repository.
    """
    return fnmatchcase(unquote(name).rpartition("/")[2], pattern)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield every session below ``root``: Grok's directory, a user's home, a ``sessions``
    directory, or any other directory or file with logs."""
    for base in (root / "sessions", root / ".grok" / "sessions"):
        try:
            is_there = base.is_dir()
        except OSError as error:
            yield Unlisted(base / LOG_NAME, f"unreadable directory: {error.strerror}")
            return
        if is_there:
            yield from _sessions(base)
            return
    if root.name == "sessions" and root.parent.name == ".grok":
        yield from _sessions(root)
    elif not is_an_agents(root):
        yield from _loose(root)


def _sessions(base: Path) -> Iterator[SourceRef | Unlisted]:
    for workspace, problem in _below(base):
        if problem:
            yield Unlisted(workspace / LOG_NAME, problem)
            continue
        for directory, problem in _below(workspace):
            if problem:
                yield Unlisted(directory / LOG_NAME, problem)
            else:
                yield from _session(directory, f"{PREFIX}/{workspace.name}/{directory.name}")


def _below(directory: Path) -> Iterator[tuple[Path, str]]:
    """Yield the directories in ``directory``, each with "" or the reason why it cannot be read."""
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        yield directory / "*", f"unreadable directory: {error.strerror}"
        return
    for entry in entries:
        try:
            if entry.is_dir():
                yield Path(entry.path), ""
        except OSError as error:
            yield Path(entry.path), error.strerror or str(error)


def _session(directory: Path, home_path: str) -> Iterator[SourceRef | Unlisted]:
    """Yield the source of a session: its log with all files beside it. A directory without a log is
    no session yet."""
    log = directory / LOG_NAME
    try:
        if not log.is_file():
            if log.is_symlink() or log.exists():
                yield Unlisted(log, "a link that leads nowhere" if log.is_symlink() else "no file")
            return
    except OSError as error:
        yield Unlisted(log, error.strerror or str(error))
        return
    beside, problems = _beside(directory, home_path)
    yield SourceRef(
        log,
        home_path=f"{home_path}/{LOG_NAME}",
        session=directory.name,
        companions=tuple(beside),
    )
    yield from problems


def _beside(directory: Path, home_path: str) -> tuple[list[SourceRef], list[Unlisted]]:
    found: list[SourceRef] = []
    problems: list[Unlisted] = []
    waiting = [(str(directory), ())]
    while waiting and len(found) < _MOST_FILES:
        path, above = waiting.pop()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Unlisted(Path(path, "*"), f"unreadable directory: {error.strerror}"))
            continue
        for entry in entries:
            parts: tuple[str, ...] = (*above, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(parts) < _DEEPEST:
                    waiting.append((entry.path, parts))  # type: ignore[arg-type]
            elif entry.is_file(follow_symlinks=False) and _is_kept(parts):
                found.append(_companion(entry.path, parts, directory.name, home_path))
    found.sort(key=lambda ref: ref.home_path)
    return found, problems


def _is_kept(parts: tuple[str, ...]) -> bool:
    name = parts[-1]
    return parts != (LOG_NAME,) and not name.endswith(_NOT_KEPT) and not name.startswith(".tmp")


def _companion(path: str, parts: tuple[str, ...], session: str, home_path: str) -> SourceRef:
    role, child = SPILL, ""
    match parts:
        case ("events.jsonl",):
            role = TIMELINE
        case ("summary.json",):
            role = DOCUMENT
        case ("subagents", child, "meta.json"):
            role = DOCUMENT
    agent = child if role == DOCUMENT else ""
    return SourceRef(Path(path), role, "/".join((home_path, *parts)), session, agent)


def _loose(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield logs that somebody copied to another directory. Their first bytes tell that they are
    Grok's."""
    if not root.is_dir():
        if root.suffix == ".jsonl" and root.is_file():
            yield from _loose_log(root, root.parent)
        return
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    while waiting:
        directory = waiting.pop()
        below, logs = [], []
        try:
            status = directory.stat()
            for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
                if entry.is_dir():
                    below.append(Path(entry.path))
                elif entry.name.endswith(".jsonl") and entry.is_file():
                    logs.append(Path(entry.path))
        except OSError as error:
            yield Unlisted(directory / "*.jsonl", f"unreadable directory: {error.strerror}")
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for log in logs:
            yield from _loose_log(log, root)
        waiting += reversed(below)


def _loose_log(log: Path, root: Path) -> Iterator[SourceRef | Unlisted]:
    try:
        with log.open("rb") as file:
            head = file.read(_SNIFFED)
    except OSError as error:
        yield Unlisted(log, error.strerror or str(error))
        return
    if not recognizes(head):
        return
    place = "/".join((PREFIX, *log.relative_to(root).parts))
    if log.name == LOG_NAME and log.parent != root:
        yield from _session(log.parent, place.rpartition("/")[0])
    else:
        yield SourceRef(
            log, home_path=place, session=log.parent.name if log.stem == "updates" else log.stem
        )


_METHODS = (b'"session/update"', b'"_x.ai/session/update"')


def recognizes(head: bytes) -> bool:
    """Whether ``head`` begins like a log of Grok: with a JSON-RPC notification, or in early
    versions with the parameters of one."""
    if b'"sessionUpdate"' not in head:
        return False
    return any(method in head for method in _METHODS) or b'"sessionId"' in head
