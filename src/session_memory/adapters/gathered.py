"""List the files below a directory, and tell whether the directory belongs to an agent.

Somebody may have copied logs of several agents into one directory. There, an adapter opens each
file to see whether it is a log of its agent. In a directory that belongs to an agent, adapters do
not do that: each of them would open the logs of all other agents.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from session_memory.adapters.registry import own_directories


def is_an_agents(root: Path) -> bool:
    """Whether ``root`` is an agent's directory, lies directly in one, or directly contains one.

    An agent's directory is recognized by its name, such as ``.codex``. A directory that cannot be
    read counts too, because that agent's adapter reports the problem.
    """
    names = own_directories()
    if not names.isdisjoint((root.name, root.parent.name)):
        return True
    try:
        # Listing the directory takes one call. Looking for each name would take a call per name.
        with os.scandir(root) as entries:
            return any(entry.name in names and entry.is_dir() for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def files_below(directory: str) -> Iterator[tuple[str, str]]:
    """Yield ``(path, problem)`` for every file below a directory.

    ``problem`` is the reason why the path cannot be read as a file, "" for most paths. A directory
    that can be reached in several ways, through links, is entered once.
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
