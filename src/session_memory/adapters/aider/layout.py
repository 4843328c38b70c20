"""Find the histories of aider.

<repository>/.aider.chat.history.md     all sessions in this repository, the newest at the end

`--chat-history-file` or ``AIDER_CHAT_HISTORY_FILE`` gives the file another path.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.local_times import zone_here
from session_memory.adapters.log_files import logs

NAME = ".aider.chat.history.md"
_STARTED = re.compile(rb"(?:^|\n)# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_LONGEST_NAME = 60


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the path in ``$AIDER_CHAT_HISTORY_FILE``, if it is set, and the path of a history in
    the user's home.

    Histories in repositories are found through the directories of sessions in the store.
    """
    named = environ.get("AIDER_CHAT_HISTORY_FILE")
    return [*([home / Path(named).expanduser()] if named else []), home / NAME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield ``root`` if it is a history, else every history below it."""
    suffix = root.name if root.is_file() else ".aider.chat.history.md"
    return logs(root, None, suffix, recognizes, _ref)


def _ref(path: Path, below: str) -> SourceRef:
    """Return the source for a history. Its field ``agent`` holds this machine's time zone, which
    the local times in the file need."""
    home_path = below if "/" in below else _below_home(path)
    return SourceRef(path, home_path=home_path, session=_key(path), agent=zone_here())


def _below_home(path: Path) -> str:
    """Return the path of a history below the user's home, or the last two parts of its path if it
    is elsewhere."""
    home = Path.home()
    below = path.relative_to(home) if path.is_relative_to(home) else Path(*path.parts[-2:])
    return below.as_posix()


def _key(path: Path) -> str:
    """Return the name of the repository, with which the ids of its sessions begin.

    aider gives its sessions no ids. So an id is made of this name and the session's time of start.
    The rest of the path is left out, so that a repository can be moved and keeps its sessions.
    """
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", path.parent.name)[:_LONGEST_NAME].strip("-")
    return name or "repository"


def recognizes(head: bytes) -> bool:
    """Whether ``head`` contains a line with which aider begins a session."""
    return _STARTED.search(head) is not None
