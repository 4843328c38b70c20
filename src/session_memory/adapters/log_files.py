"""Finding the log files of an agent: in its own directory, or loose ones by their first bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below, is_an_agents

SNIFFED = 65536

ToRef = Callable[[Path, str], SourceRef | None]
"""The source at a path and its place below the base (``a/b.jsonl``); None if it is no log."""


def logs(
    root: Path,
    base: Path | Unlisted | None,
    suffix: str,
    recognizes: Callable[[bytes], bool],
    to_ref: ToRef,
    to_loose_ref: ToRef | None = None,
) -> Iterator[SourceRef | Unlisted]:
    """Every log below the agent's own directory ``base``, or the loose ones below ``root`` if there
    is no such directory."""
    if isinstance(base, Unlisted):
        yield base
    elif base is not None:
        yield from _own_logs(base, suffix, to_ref)
    else:
        yield from _loose_logs(root, suffix, recognizes, to_loose_ref or to_ref)


def _own_logs(base: Path, suffix: str, to_ref: ToRef) -> Iterator[SourceRef | Unlisted]:
    """Every log below the agent's own directory ``base``."""
    for name, problem in files_below(str(base)):
        path = Path(name)
        if not path.name.endswith(suffix):
            continue
        if problem:
            yield Unlisted(path, problem)
        elif (ref := to_ref(path, path.relative_to(base).as_posix())) is not None:
            yield ref


def _loose_logs(
    root: Path, suffix: str, recognizes: Callable[[bytes], bool], to_ref: ToRef
) -> Iterator[SourceRef | Unlisted]:
    """Logs that somebody copied into another directory, or the one log that ``root`` is.

    Nothing is opened in the directory of an agent. Otherwise every adapter would open the logs of
    all others.
    """
    if is_an_agents(root):
        return
    if root.is_dir():
        files, base = files_below(str(root)), root
    elif root.is_file():
        files, base = iter([(str(root), "")]), root.parent
    else:
        return
    for name, problem in files:
        path = Path(name)
        if not path.name.endswith(suffix):
            continue
        try:
            if problem:
                yield Unlisted(path, problem)
                continue
            with path.open("rb") as file:
                is_ours = recognizes(file.read(SNIFFED))
        except OSError as error:
            yield Unlisted(path, error.strerror or str(error))
            continue
        if is_ours and (ref := to_ref(path, path.relative_to(base).as_posix())) is not None:
            yield ref


def directory_in(root: Path, *places: str) -> Path | Unlisted | None:
    """The first of the ``places`` below ``root`` that is a directory."""
    for place in places:
        directory = root / place
        try:
            if directory.is_dir():
                return directory
        except OSError as error:
            return Unlisted(directory, f"unreadable directory: {error.strerror}")
    return None
