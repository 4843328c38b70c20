"""Where opencode keeps its sessions.

opencode.db, opencode-<channel>.db                              since 1.2: a database
storage/session/<project>/ses_<id>.json                         before: a session,
storage/message/ses_<id>/msg_<id>.json                          its messages
storage/part/msg_<id>/prt_<id>.json                             and their parts
<anything>.json                                                 anywhere: an exported session
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.databases import MAGIC, part_of_database, sessions_in_database
from session_memory.adapters.gathered import files_below, is_an_agents
from session_memory.adapters.opencode.exports import is_export
from session_memory.adapters.opencode.tables import has_our_tables, stamps_in
from session_memory.adapters.opencode.tree import SESSIONS, stamp_of
from session_memory.core.roles import REWRITTEN

HOME = ".local/share/opencode"
_DATABASES = "opencode*.db"
_SNIFFED = 4096


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """``$XDG_DATA_HOME/opencode`` when set, else ``~/.local/share/opencode``."""
    configured = environ.get("XDG_DATA_HOME")
    return [Path(configured).expanduser() / "opencode" if configured else home / HOME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """The sessions of a home or a directory of opencode, or of databases somewhere else."""
    for base in (root, root / HOME, root / "opencode"):
        if (base / SESSIONS).is_dir() or any(_databases(base)):
            yield from _own(base)
            return
    if root.is_file():
        yield from _loose(root, root.parent)
    elif root.is_dir() and not is_an_agents(root):
        for name, problem in files_below(str(root)):
            if not problem:
                yield from _loose(Path(name), root)


def recognizes(head: bytes) -> bool:
    """Whether it is an export, or a SQLite database. Its tables show whether it is opencode's."""
    return head.startswith(MAGIC) or is_export(head)


def _loose(path: Path, root: Path) -> Iterator[SourceRef | Unlisted]:
    """The sessions in a file that somebody copied or exported."""
    if path.suffix == ".db":
        yield from _named(path, set(), root)
    elif path.suffix == ".json":
        try:
            with path.open("rb") as file:
                is_ours = is_export(file.read(_SNIFFED))
        except OSError as error:
            yield Unlisted(path, error.strerror or str(error))
            return
        if is_ours:
            below = path.relative_to(root).as_posix()
            yield SourceRef(path, REWRITTEN, f"{HOME}/exported/{below}", path.stem)


def _databases(base: Path) -> list[Path]:
    try:
        return sorted(base.glob(_DATABASES))
    except OSError:
        return []


def _own(base: Path) -> Iterator[SourceRef | Unlisted]:
    known: set[str] = set()
    for path in _databases(base):
        yield from _named(path, known)
    for path in sorted((base / SESSIONS).glob("*/ses_*.json")):
        # The first release with a database copied all sessions into it, and left the files.
        if path.stem not in known:
            yield from _from_tree(path, base)


def _named(path: Path, known: set[str], root: Path | None = None) -> Iterator[SourceRef | Unlisted]:
    """The sessions of a database. Adds their ids to ``known``."""
    below = path.name if root is None else path.relative_to(root).as_posix()
    for found in sessions_in_database(
        path, f"{HOME}/{below}", has_our_tables, stamps_in, is_certain=root is None
    ):
        known.add(getattr(found, "session", ""))
        yield found


def _from_tree(path: Path, base: Path) -> Iterator[SourceRef | Unlisted]:
    below = path.relative_to(base).as_posix()
    try:
        yield part_of_database(path, path.stem, stamp_of(path), f"{HOME}/{below}")
    except OSError as error:
        yield Unlisted(path, error.strerror or str(error))
