"""Find the histories of aider.

<repository>/.aider.chat.history.md     all sessions in this repository, the newest at the end

`--chat-history-file` or ``AIDER_CHAT_HISTORY_FILE`` gives it another name.
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
    """Return ``$AIDER_CHAT_HISTORY_FILE`` and the history in the user's home.

    Histories in repositories are found through the directories of sessions in the store.
    """
    named = environ.get("AIDER_CHAT_HISTORY_FILE")
    return [*([home / Path(named).expanduser()] if named else []), home / NAME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield ``root`` if it is a history, else every history below it."""
    suffix = root.name if root.is_file() else ".aider.chat.history.md"
    return logs(root, None, suffix, recognizes, _ref)


def _ref(path: Path, below: str) -> SourceRef:
    """Return the source for a history. Its field ``agent`` holds the time zone of the file."""
    home_path = below if "/" in below else _below_home(path)
    return SourceRef(path, home_path=home_path, session=_key(path), agent=zone_here())


def _below_home(path: Path) -> str:
    """Return the home path of a history that the user named, or that is directly in the searched
    directory."""
    home = Path.home()
    below = path.relative_to(home) if path.is_relative_to(home) else Path(*path.parts[-2:])
    return below.as_posix()


def _key(path: Path) -> str:
    """Return the name of the repository, with which the ids of its sessions begin.

    aider's sessions have no ids, so their ids are made of this name and their time of start. The
    path is no part of it: a repository that is moved keeps its sessions.
    """
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", path.parent.name)[:_LONGEST_NAME].strip("-")
    return name or "repository"


def recognizes(head: bytes) -> bool:
    """Whether ``head`` has the first line of a session of aider."""
    return _STARTED.search(head) is not None
