"""Find the log files of an agent: all in its own directory; elsewhere those whose first bytes
look like its logs."""

from collections.abc import Callable, Iterator
from pathlib import Path

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.gathered import files_below, is_an_agents

SNIFFED = 65536

ToRef = Callable[[Path, str], SourceRef | None]
"""A function that returns the source for a file, or None if the file is no log.

Its arguments are the path of the file, and the part of the path below the searched directory."""


def logs(
    root: Path,
    base: Path | Unlisted | None,
    suffix: str | tuple[str, ...],
    recognizes: Callable[[bytes], bool],
    to_ref: ToRef,
    to_loose_ref: ToRef | None = None,
) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for every log below the agent's own directory ``base``.

    If ``base`` is None, yield the logs that somebody copied to ``root`` instead. ``recognizes``
    tells from the first bytes of a file whether it is a log of this agent; ``to_loose_ref`` makes
    its source. The names of logs end with ``suffix``.
    """
    if isinstance(base, Unlisted):
        yield base
    elif base is not None:
        yield from _own_logs(base, suffix, to_ref)
    else:
        yield from _loose_logs(root, suffix, recognizes, to_loose_ref or to_ref)


def _own_logs(
    base: Path, suffix: str | tuple[str, ...], to_ref: ToRef
) -> Iterator[SourceRef | Unlisted]:
    """Yield a source for every log below the agent's own directory ``base``."""
    for name, problem in files_below(str(base)):
        path = Path(name)
        if not path.name.endswith(suffix):
            continue
        if problem:
            yield Unlisted(path, problem)
        elif (ref := to_ref(path, path.relative_to(base).as_posix())) is not None:
            yield ref


def _loose_logs(
    root: Path,
    suffix: str | tuple[str, ...],
    recognizes: Callable[[bytes], bool],
    to_ref: ToRef,
) -> Iterator[SourceRef | Unlisted]:
    """Yield sources for logs that somebody copied to the directory ``root``, or for ``root`` if it
    is a log itself.

    If ``root`` is the directory of an agent, no file is opened. Otherwise every adapter would open
    the logs of all other agents.
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


def own_directory(
    root: Path, home: str, below: str, logs: str, recognizes: Callable[[bytes], bool]
) -> Path | Unlisted | None:
    """Return the agent's directory of logs; None if there is none at ``root``.

    Its usual path is ``home/below`` in a user's home. ``root`` is a user's home, the agent's own
    directory (``home``), or the directory of logs itself. The agent's directory may have another
    name. Then a file that matches ``below/logs`` must look like a log of the agent.
    """
    own, directory = tuple(home.split("/")), (*home.split("/"), below)
    if root.parts[-len(directory) :] == directory:
        return root
    found = directory_in(root, f"{home}/{below}")
    if found is None and root.parts[-len(own) :] == own:
        found = directory_in(root, below)
    if found is None and not is_an_agents(root):
        some = next(root.glob(f"{below}/{logs}"), None)
        if some is not None and some.is_file() and recognizes(head_of(some)):
            found = root / below
    return found


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file; no bytes if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(SNIFFED)
    except OSError:
        return b""


def directory_in(root: Path, *places: str) -> Path | Unlisted | None:
    """Return the first of the paths ``places`` below ``root`` that is a directory, or None."""
    for place in places:
        directory = root / place
        try:
            if directory.is_dir():
                return directory
        except OSError as error:
            return Unlisted(directory, f"unreadable directory: {error.strerror}")
    return None
