"""List the files below a directory, and tell whether the directory belongs to an agent.

Somebody may have copied logs of several agents into one directory. An adapter opens files to see
whether they are its own logs only in such a directory. In a home directory, every adapter would
open the logs of all other agents.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from session_memory.adapters.registry import own_directories


def is_an_agents(root: Path) -> bool:
    """Whether ``root`` is a home with agents in it, an agent's directory, or a part of one.

    A directory that may not be opened counts as an agent's: its own adapter reports it.
    """
    names = own_directories()
    if not names.isdisjoint((root.name, root.parent.name)):
        return True
    try:
        # Listing the directory takes one call; asking for each name would take one per name.
        with os.scandir(root) as entries:
            return any(entry.name in names and entry.is_dir() for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def files_below(directory: str) -> Iterator[tuple[str, str]]:
    """Yield ``(path, problem)`` for every file below a directory; ``problem`` is mostly empty.

    A directory that links lead to several times is entered once.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [directory]
    while waiting:
        below: list[str] = []
        yield from _entries(waiting.pop(), seen, below)
        waiting += reversed(below)


def _entries(
    directory: str, seen: set[tuple[int, int]], below: list[str]
) -> Iterator[tuple[str, str]]:
    try:
        status = Path(directory).stat()
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"{directory}{os.sep}*.jsonl", f"unreadable directory: {error.strerror}"
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        try:
            is_directory = entry.is_dir()
            if not is_directory and not entry.is_file():
                yield entry.path, "a link that leads nowhere" if entry.is_symlink() else "no file"
                continue
        except OSError as error:
            yield entry.path, error.strerror or str(error)
            continue
        if not is_directory:
            yield entry.path, ""
            continue
        if entry.name.endswith(".jsonl"):
            yield entry.path, "a directory, not a log"
        below.append(entry.path)
