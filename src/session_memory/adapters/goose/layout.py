"""Find the sessions of goose.

sessions/sessions.db            all sessions
sessions/<session>.jsonl        a session of an old release
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.agent import lazy
from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.databases import MAGIC, sessions_in_database
from session_memory.adapters.gathered import files_below, is_an_agents

DATABASE = "sessions.db"
# Imported lazily: a sync asks every agent for its roots, but most users have no database of goose.
has_our_tables = lazy("session_memory.adapters.goose.tables:has_our_tables")
stamps_in = lazy("session_memory.adapters.goose.tables:stamps_in")
_OWN = ".local/share/goose"
_SNIFFED = 65536
_FIRST = re.compile(
    rb'\s*\{(?=[^\n]*"(?:working_dir|extension_data)")(?=[^\n]*"(?:description|message_count)")'
)


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$GOOSE_PATH_ROOT/data`` if the variable is set, else ``goose`` in ``$XDG_DATA_HOME``
    or ``~/.local/share``."""
    if configured := environ.get("GOOSE_PATH_ROOT"):
        return [Path(configured).expanduser() / "data"]
    data = environ.get("XDG_DATA_HOME")
    return [Path(data).expanduser() / "goose" if data else home / _OWN]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions at ``root``.

    ``root`` is a home directory, a directory of goose, or any other directory or file with
    sessions.
    """
    for base in (root / "sessions", root / _OWN / "sessions", root / "goose" / "sessions"):
        if (base / DATABASE).is_file() or (base.is_dir() and base.parent.name == "goose"):
            yield from _own(base)
            return
    if root.is_file():
        yield from _loose(root, root.parent)
    elif root.is_dir() and not is_an_agents(root):
        for name, problem in files_below(str(root)):
            if not problem:
                yield from _loose(Path(name), root)


def recognizes(head: bytes) -> bool:
    """Whether a file is a log of an old release, or a SQLite database. Only the tables of the
    database tell whether it is goose's."""
    return head.startswith(MAGIC) or _FIRST.match(head) is not None


def _own(base: Path) -> Iterator[SourceRef | Unlisted]:
    known: set[str] = set()
    if (base / DATABASE).is_file():
        for found in _sessions(base / DATABASE, DATABASE, is_certain=True):
            known.add(getattr(found, "session", ""))
            yield found
    for path in sorted(base.glob("*.jsonl")):
        # The first release with a database copied all sessions into it, and left the files.
        if path.stem not in known:
            yield SourceRef(path, home_path=f"{_OWN}/sessions/{path.name}", session=path.stem)


def _loose(path: Path, root: Path) -> Iterator[SourceRef | Unlisted]:
    below = path.relative_to(root).as_posix()
    if path.suffix == ".db":
        yield from _sessions(path, below, is_certain=path.name == DATABASE)
    elif path.suffix == ".jsonl":
        try:
            with path.open("rb") as file:
                is_ours = _FIRST.match(file.read(_SNIFFED)) is not None
        except OSError as error:
            yield Unlisted(path, error.strerror or str(error))
            return
        if is_ours:
            yield SourceRef(path, home_path=f"{_OWN}/sessions/{below}", session=path.stem)


def _sessions(path: Path, below: str, *, is_certain: bool) -> Iterator[SourceRef | Unlisted]:
    place = f"{_OWN}/sessions/{below}"
    return sessions_in_database(path, place, has_our_tables, stamps_in, is_certain=is_certain)
