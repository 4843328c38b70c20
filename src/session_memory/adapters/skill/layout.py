"""Find skill logs: ``~/.session-memory/skills/<session>.jsonl``, and logs in a directory that the
user names.

In a directory that the user names, the first bytes of a file tell whether it is a skill log.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import is_an_agents
from session_memory.core.skills import FOLDER, OURS

ENDING = ".jsonl"
_SNIFFED = 65536
_ALWAYS = (b'"session_id"', b'"timestamp"', b'"skill"')
_MOSTLY = (b'"phase"', b'"attempts"', b'"final_status"')


def roots(environ: Mapping[str, str], home: Path) -> list[Path]:
    return [home / OURS / FOLDER]


def discover(root: Path) -> Iterator[SourceRef | Unlisted]:
    """Yield every skill log below ``root``: the usual directory, a user's home, or any other
    directory or file that the user names."""
    usual = _usual(root)
    if usual is not None:
        yield from _below(usual, usual, is_usual=True)
    elif root.is_file():
        yield from _log(root, root.parent, is_usual=False)
    elif root.is_dir() and not is_an_agents(root):
        yield from _below(root, root, is_usual=False)


def _usual(root: Path) -> Path | None:
    if root.name == FOLDER and root.parent.name == OURS:
        return root
    inside = root / FOLDER if root.name == OURS else root / OURS / FOLDER
    try:
        return inside if inside.is_dir() else None
    except OSError:
        return None


def _below(top: Path, directory: Path, *, is_usual: bool) -> Iterator[SourceRef | Unlisted]:
    seen: set[tuple[int, int]] = set()
    waiting = [directory]
    while waiting:
        place = waiting.pop()
        below: list[Path] = []
        try:
            status = place.stat()
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError as error:
            yield Unlisted(place / f"*{ENDING}", f"unreadable directory: {error.strerror}")
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for entry in entries:
            path = Path(entry.path)
            if path.is_dir():
                below.append(path)
            elif entry.name.endswith(ENDING):
                yield from _log(path, top, is_usual=is_usual)
        waiting += reversed(below)


def _log(path: Path, top: Path, *, is_usual: bool) -> Iterator[SourceRef | Unlisted]:
    try:
        if not path.is_file():
            yield Unlisted(path, "a link that leads nowhere" if path.is_symlink() else "no file")
            return
        if not is_usual and not recognizes(_head(path)):
            return
    except OSError as error:
        yield Unlisted(path, error.strerror or str(error))
        return
    # The log of a session whose id has slashes, such as feat/x, is in a subdirectory.
    name = path.relative_to(top).as_posix()
    yield SourceRef(path, home_path=f"{OURS}/{FOLDER}/{name}", session=name.removesuffix(ENDING))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_SNIFFED)


def recognizes(head: bytes) -> bool:
    """Whether ``head`` looks like a skill log: a line names the session, the time and the skill,
    and the phase, the attempts or the result."""
    is_told = all(field in head for field in _ALWAYS)
    return is_told and any(field in head for field in _MOSTLY)
