"""Find the sessions of opencode, and of programs that came from it.

opencode.db, opencode-<channel>.db            since 1.2: a database of sessions
storage/session/<project>/ses_<id>.json       before 1.2: a session
storage/message/ses_<id>/msg_<id>.json        before 1.2: a message of the session
storage/part/msg_<id>/prt_<id>.json           before 1.2: a part of the message
<anything>.json                               in any directory: an exported session
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.agent import lazy
from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.databases import MAGIC, part_of_database, sessions_in_database
from session_memory.adapters.gathered import files_below, is_an_agents
from session_memory.adapters.opencode.tree import SESSIONS, stamp_of
from session_memory.core.roles import REWRITTEN

DATA = ".local/share"
NAME = "opencode"
HOME = f"{DATA}/{NAME}"
# Programs that came from opencode and keep the same tables, each with an adapter of its own.
_FORKS = ("kilo",)
_SNIFFED = 4096
# Imported lazily: a sync asks every agent for its roots, but most users have no files of opencode.
is_export = lazy("session_memory.adapters.opencode.exports:is_export")
has_our_tables = lazy("session_memory.adapters.opencode.tables:has_our_tables")
stamps_in = lazy("session_memory.adapters.opencode.tables:stamps_in")


def data_roots(environ: Mapping[str, str], home: Path, program: str) -> list[Path]:
    """Return the directory of ``program`` in ``$XDG_DATA_HOME`` if it is set, else in
    ``~/.local/share``."""
    configured = environ.get("XDG_DATA_HOME")
    return [Path(configured).expanduser() / program if configured else home / DATA / program]


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return data_roots(environ, home, NAME)


def own_base(root: Path, program: str) -> Path | None:
    """Return the directory with a program's sessions: ``root`` or the program's directory below
    ``root``. None if neither has sessions."""
    bases = (root, root / DATA / program, root / program)
    found = (one for one in bases if (one / SESSIONS).is_dir() or any(databases(one, program)))
    return next(found, None)


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions at ``root``.

    ``root`` is a home directory, a directory of opencode, a database or export of opencode, or
    another directory with such files.
    """
    base = own_base(root, NAME)
    if base is not None:
        yield from own_sessions(base, NAME)
    elif root.is_file():
        yield from _loose(root, root.parent)
    elif root.is_dir() and not is_an_agents(root):
        for name, problem in files_below(str(root)):
            if not problem:
                yield from _loose(Path(name), root)


def recognizes(head: bytes) -> bool:
    """Whether a file is an export of opencode, or a SQLite database. Only the tables of the
    database tell whether it is opencode's."""
    return head.startswith(MAGIC) or bool(is_export(head))


def _loose(path: Path, root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions in a database that somebody copied, or in an export."""
    if path.suffix == ".db":
        if not path.name.startswith(_FORKS):
            yield from sessions_of(path, NAME, set(), root)
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


def databases(base: Path, program: str) -> list[Path]:
    """Return the databases of a program in its directory, one for each channel of releases."""
    try:
        return sorted(base.glob(f"{program}*.db"))
    except OSError:
        return []


def own_sessions(base: Path, program: str) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions in a program's own directory."""
    known: set[str] = set()
    for path in databases(base, program):
        yield from sessions_of(path, program, known)
    for path in sorted((base / SESSIONS).glob("*/ses_*.json")):
        # The first release with a database copied all sessions into it, and left the files.
        if path.stem not in known:
            yield from _from_tree(path, base, program)


def sessions_of(
    path: Path, program: str, known: set[str], root: Path | None = None
) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions of a database, and add their ids to ``known``.

    ``root``: the searched directory to which somebody copied the database; None if the database is
    in the program's own directory.
    """
    below = path.name if root is None else path.relative_to(root).as_posix()
    place = f"{DATA}/{program}/{below}"
    certain = root is None
    for found in sessions_in_database(path, place, has_our_tables, stamps_in, is_certain=certain):
        known.add(getattr(found, "session", ""))
        yield found


def _from_tree(path: Path, base: Path, program: str) -> Iterator[SourceRef | Unlisted]:
    below = path.relative_to(base).as_posix()
    try:
        yield part_of_database(path, path.stem, stamp_of(path), f"{DATA}/{program}/{below}")
    except OSError as error:
        yield Unlisted(path, error.strerror or str(error))
