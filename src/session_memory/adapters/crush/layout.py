"""Find the sessions of Crush. Each project has a database of them.

~/.local/share/crush/projects.json      the projects, each with the directory of its data
<project>/.crush/crush.db               the sessions of a project
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.agent import lazy
from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.databases import MAGIC, sessions_in_database
from session_memory.adapters.gathered import files_below, is_an_agents

DATABASE = "crush.db"
# Imported lazily: a sync asks every agent for its roots, but most users have no database of Crush.
has_our_tables = lazy("session_memory.adapters.crush.tables:has_our_tables")
stamps_in = lazy("session_memory.adapters.crush.tables:stamps_in")
_PROJECTS = "projects.json"
_OWN = ".local/share/crush"
_MOST_PROJECTS = 10_000


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return ``$CRUSH_GLOBAL_DATA`` if it is set, else ``crush`` in ``$XDG_DATA_HOME`` or
    ``~/.local/share``."""
    if configured := environ.get("CRUSH_GLOBAL_DATA"):
        return [Path(configured).expanduser()]
    data = environ.get("XDG_DATA_HOME")
    return [Path(data).expanduser() / "crush" if data else home / _OWN]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield the sessions of all projects that Crush lists, of one project, or of databases that
    somebody copied to another directory."""
    if root.is_file():
        yield from _sessions(root, is_certain=root.name == DATABASE)
        return
    listed = [root / _PROJECTS, root / _OWN / _PROJECTS]
    projects = next((path for path in listed if path.is_file()), None)
    own = [path for path in (root / DATABASE, root / ".crush" / DATABASE) if path.is_file()]
    if projects is not None:
        try:
            own += _databases_of(projects)
        except (OSError, ValueError) as error:
            yield Unlisted(projects, f"the list of projects cannot be read: {error}")
    if projects is not None or own:
        for path in dict.fromkeys(own):
            yield from _sessions(path, is_certain=True)
    elif root.is_dir() and not is_an_agents(root):
        for name, problem in files_below(str(root)):
            if name.endswith(".db") and not problem:
                path = Path(name)
                yield from _sessions(path, is_certain=path.name == DATABASE)


def outside(root: Path) -> list[Path]:
    """Return the directories with the databases of the projects that Crush lists."""
    listed = [root / _PROJECTS, root / _OWN / _PROJECTS]
    projects = next((path for path in listed if path.is_file()), None)
    if projects is None:
        return []
    try:
        return [path.parent for path in dict.fromkeys(_databases_of(projects))]
    except (OSError, ValueError):
        # ``discover`` reports the list that cannot be read.
        return []


def recognizes(head: bytes) -> bool:
    """Whether a file is a SQLite database. Only its tables tell whether it is Crush's."""
    return head.startswith(MAGIC)


def _databases_of(projects: Path) -> list[Path]:
    listed = json.loads(projects.read_bytes())
    found = listed.get("projects") if isinstance(listed, dict) else None
    named = [one.get("data_dir") for one in found or () if isinstance(one, dict)][:_MOST_PROJECTS]
    paths = [Path(name) / DATABASE for name in named if isinstance(name, str) and "\0" not in name]
    # A project that was deleted, or where Crush was only started, has no database.
    return [path for path in paths if path.is_absolute() and path.is_file()]


def _sessions(path: Path, *, is_certain: bool) -> Iterator[SourceRef | Unlisted]:
    # The home path contains the project's path, so that databases of different projects differ.
    home_path = "/".join((".crush", *path.parent.parts[1:], path.name))
    return sessions_in_database(path, home_path, has_our_tables, stamps_in, is_certain=is_certain)
