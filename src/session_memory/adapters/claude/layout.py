"""Where Claude Code keeps its sessions, and what each file there is.

projects/<slug>/<session>.jsonl                                 a session
projects/<slug>/agent-<id>.jsonl                                a subagent (2.0.x)
projects/<slug>/<session>/subagents/**/agent-<id>.jsonl         a subagent, with .meta.json
projects/<slug>/<session>/tool-results/*                        spilled tool output
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below, is_an_agents
from session_memory.core.roles import DOCUMENT, SPILL

_SNIFFED = 65536
KEEPS_DAYS = 30


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the directories in ``$CLAUDE_CONFIG_DIR`` if it is set, else the two directories that
    versions of Claude Code have used."""
    if configured := environ.get("CLAUDE_CONFIG_DIR"):
        return [Path(part).expanduser() for part in configured.split(",") if part]
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return [home / ".claude", config / "claude"]


def directory_fits(name: str, pattern: str) -> bool:
    """Whether a directory below ``projects`` belongs to a repository whose name fits ``pattern``.

    Claude Code names the directory after the path of the repository, with a dash for every
    character except letters and digits.
    """
    return fnmatchcase(name, f"*-{pattern}") or fnmatchcase(name, pattern)


def keeps_days(root: Path) -> int:
    """Return after how many days Claude Code deletes a log that it has not written to."""
    for directory in (root, root / ".claude"):
        try:
            days = json.loads((directory / "settings.json").read_bytes()).get("cleanupPeriodDays")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(days, int) and days > 0:
            return days
    return KEEPS_DAYS


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield every source below ``root``: Claude Code's directory, a user's home, a ``projects``
    directory, or any other directory or file with logs."""
    for base, prefix in (
        (root / "projects", ".claude/projects"),
        (root / ".claude" / "projects", ".claude/projects"),
    ):
        try:
            is_there = base.is_dir()
        except OSError as error:
            yield Unlisted(base / "*.jsonl", f"unreadable directory: {error.strerror}")
            return
        if is_there:
            yield from _sources(base, prefix)
            return
    if root.name == "projects" and root.parent.name in (".claude", "claude"):
        yield from _sources(root, ".claude/projects")
    elif not is_an_agents(root):
        yield from _loose(root)


def _sources(base: Path, prefix: str) -> Iterator[SourceRef | Unlisted]:
    files = {path.replace(os.sep, "/"): problem for path, problem in files_below(str(base))}
    for path, problem in files.items():
        name = path.rpartition("/")[2]
        parts = path[len(str(base)) + 1 :].split("/")
        if problem:
            if name.endswith((".jsonl", ".meta.json")) or _above("tool-results", parts):
                yield Unlisted(Path(path), problem)
            continue
        home_path = "/".join((prefix, *parts))
        if session := _above("tool-results", parts) or _journal_of(parts):
            yield SourceRef(Path(path), SPILL, home_path, session=session)
        elif name.endswith(".jsonl") and name != "journal.jsonl":
            yield _log(path, home_path, parts, files)


def _log(path: str, home_path: str, parts: list[str], files: Mapping[str, object]) -> SourceRef:
    stem = parts[-1][: -len(".jsonl")]
    below = _above("subagents", parts)
    if not stem.startswith("agent-"):
        return SourceRef(Path(path), home_path=home_path, session=below or stem)
    agent = stem[len("agent-") :]
    meta = path[: -len(".jsonl")] + ".meta.json"
    companions: tuple[SourceRef, ...] = ()
    if below and files.get(meta) == "":
        meta_home = home_path[: -len(".jsonl")] + ".meta.json"
        companions = (SourceRef(Path(meta), DOCUMENT, meta_home, session=below, agent=agent),)
    return SourceRef(
        Path(path), home_path=home_path, session=below, agent=agent, companions=companions
    )


def _above(directory: str, parts: list[str]) -> str:
    """Return the name before ``directory`` in the ``parts`` of a path: the name of a session. ""
    if ``directory`` is not in the path."""
    place = parts.index(directory) if directory in parts[1:-1] else 0
    return parts[place - 1] if place else ""


def _journal_of(parts: list[str]) -> str:
    return _above("subagents", parts) if parts[-1] == "journal.jsonl" else ""


def _loose(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield logs that somebody copied to another directory. Their first bytes tell that they are
    Claude Code's."""
    base = root if root.is_dir() else root.parent
    alone = [(str(root), "" if root.is_file() else "no file")]
    listed: Iterable[tuple[str, str]] = files_below(str(root)) if root.is_dir() else alone
    files = {path.replace(os.sep, "/"): problem for path, problem in listed}
    for path, problem in files.items():
        if not path.endswith(".jsonl"):
            continue
        if problem:
            yield Unlisted(Path(path), problem)
            continue
        parts = path[len(str(base)) + 1 :].split("/")
        ref = _log(path, "/".join((".claude/projects", *parts)), parts, files)
        try:
            with ref.path.open("rb") as file:
                head = file.read(_SNIFFED)
        except OSError as error:
            yield Unlisted(Path(path), error.strerror or str(error))
            continue
        if recognizes(head):
            yield ref


_KNOWN_FIELDS = (b'"sessionId"', b'"parentUuid"', b'"leafUuid"')
_KNOWN_TYPES = (
    *(b'"type":"%b"' % kind for kind in (b"user", b"assistant", b"system", b"summary")),
    *(b'"type":"%b"' % kind for kind in (b"attachment", b"progress", b"queue-operation")),
    *(b'"type":"%b"' % kind for kind in (b"permission-mode", b"file-history-snapshot", b"mode")),
)


# Some agents have very similar lines. These are the fields that only their lines have.
_OTHERS = (b'"projectHash":', b'"provenance":', b'"sessionUpdate":', b'"producer":"copilot')
_EXAMINED_LINES = 3


def recognizes(head: bytes) -> bool:
    """Whether the first bytes of a file look like a log of Claude Code: they have a field for the
    session or for the line before, and a known type. The first lines have no field of a similar
    agent."""
    compact = head.replace(b'": "', b'":"')
    first = compact.split(b"\n", _EXAMINED_LINES)[:_EXAMINED_LINES]
    return (
        any(field in compact for field in _KNOWN_FIELDS)
        and any(kind in compact for kind in _KNOWN_TYPES)
        and not any(other in line for line in first for other in _OTHERS)
    )
