"""The files of aider, and where they are.

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
    """``$AIDER_CHAT_HISTORY_FILE``, and the file of sessions that were started at home. Those in
    repositories are found by the directories that other sessions worked in."""
    named = environ.get("AIDER_CHAT_HISTORY_FILE")
    return [*([home / Path(named).expanduser()] if named else []), home / NAME]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """The history that ``root`` is, or those below it."""
    suffix = root.name if root.is_file() else ".aider.chat.history.md"
    return logs(root, None, suffix, recognizes, _ref)


def _ref(path: Path, below: str) -> SourceRef:
    """``agent`` is the zone of the times in the file."""
    home_path = below if "/" in below else _below_home(path)
    return SourceRef(path, home_path=home_path, session=_key(path), agent=zone_here())


def _below_home(path: Path) -> str:
    """The place of a history that was named itself, or that lies in the searched directory."""
    home = Path.home()
    below = path.relative_to(home) if path.is_relative_to(home) else Path(*path.parts[-2:])
    return below.as_posix()


def _key(path: Path) -> str:
    """Sessions have no ids. They are named by their repository, and by their start in it. So a
    repository that is moved keeps its sessions."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "-", path.parent.name)[:_LONGEST_NAME].strip("-")
    return name or "repository"


def recognizes(head: bytes) -> bool:
    """Whether ``head`` has the first line of a session of aider."""
    return _STARTED.search(head) is not None
