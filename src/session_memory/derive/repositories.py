"""The repository that a session worked in, by what its log says about the place.

Everything here is a pure function of paths. Nothing looks at the files of this machine: the log may
come from another one, and the directory may be gone.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from session_memory.adapters.base import Record
from session_memory.adapters.registry import worktree_places

# Directories for git worktrees, in a repository or beside several of them.
_WORKTREES = frozenset({"worktrees", ".worktrees", "worktree", ".worktree", "wt", ".wt"})
# Directories in which people keep their repositories. They are no repositories themselves.
_SHELVES = frozenset(
    {
        *("code", "coding", "desktop", "dev", "devel", "developer", "development", "documents"),
        *("downloads", "git", "github", "gitlab", "go", "personal", "project", "projects"),
        *("repo", "repos", "repositories", "sites", "source", "sources", "src", "work"),
        *("workspace", "workspaces"),
    }
)
_HOME = re.compile(
    r"(?:/var)?/(?:home|Users)(?:/[^/]+)?|/root|/mnt/[a-z]/Users(?:/[^/]+)?|"
    r"[a-z]:(?:/Users(?:/[^/]+)?)?|/?"
)
_TEMPORARY = re.compile(
    r"(?:/private)?(?:/var)?/tmp|(?:/private)?/var/folders/[^/]+/[^/]+/T|"
    r"[a-z]:/Users/[^/]+/AppData/Local/Temp|[a-z]:/(?:Windows/)?Temp"
)
_DRIVE = re.compile(r"[A-Za-z]:(?=/|\Z)")
_ID = re.compile(r"[0-9a-f]{4,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A worktree beside its repository, ``app-wt-fix``, and a directory of them, ``app-worktrees``. A
# directory ``git-worktree-…`` is no worktree but the repository of a tool with that name.
_BESIDE = re.compile(r"(?P<repo>(?!git[-_.])[^/]+?)[-_.](?:wt|worktrees?)[-_.][^/]+")
_ALL_BESIDE = re.compile(r"(?P<repo>(?!git[-_.])[^/]+?)[-_.](?:wt|worktrees?)")
_SHARED = ("/conductor/workspaces/",)
_INSIDE = ("/.conductor/",)


class LoggedPlace(NamedTuple):
    """What a log says about where its session worked.

    - ``cwd``: the first working directory
    - ``name``: the repository's name in the URL of its remote
    - ``root``: the main checkout that the log names for a worktree
    - ``has_branch``: the log names a git branch, so the directory is in a repository
    """

    cwd: str | None = None
    name: str | None = None
    root: str | None = None
    has_branch: bool = False


def directory_of(place: LoggedPlace) -> str | None:
    """The directory of the repository, never of a worktree, as far as the logged path shows it."""
    path = place.root or place.cwd
    return checkout_of(path) if path else None


def repo_of(place: LoggedPlace) -> str | None:
    """The name of a repository by what one log says: its remote, else its directory."""
    if place.name:
        return place.name
    directory = directory_of(place)
    return name_of(directory) if directory is not None else None


def name_of(directory: str) -> str | None:
    """The name of a directory as a repository; None for a home directory and one for temporary
    files."""
    if is_home(directory) or _TEMPORARY.fullmatch(directory):
        return None
    return directory.rpartition("/")[2] or None


def is_home(directory: str) -> bool:
    return _HOME.fullmatch(directory) is not None


def is_shelf(directory: str) -> bool:
    """Whether a directory holds repositories and is not one itself: a home, ``~/Projects``,
    ``/tmp``."""
    while True:
        if is_home(directory) or _TEMPORARY.fullmatch(directory):
            return True
        directory, _, name = directory.rpartition("/")
        if name.lower() not in _SHELVES:
            return False


def normal(path: str) -> str:
    """A path with ``/`` between its parts, none at its end, and the drive in lower case."""
    path = path.replace("\\", "/").rstrip("/")
    drive = _DRIVE.match(path)
    return drive[0].lower() + path[drive.end() :] if drive else path


def checkout_of(path: str) -> str:
    """The directory of the main checkout, if ``path`` is in a worktree; otherwise ``path``, as
    `normal`."""
    return _checkout_of(path, worktree_places())


@lru_cache(maxsize=4096)
def _checkout_of(path: str, places: tuple[str, ...]) -> str:
    path = normal(path)
    for place in (*places, *_INSIDE):
        before, found, _ = path.partition(place)
        if found and not is_shelf(before):
            path = before
    for place in _SHARED:
        before, found, after = path.partition(place)
        if found:
            return before + found + after.partition("/")[0]
    parts = path.split("/")
    for index, part in enumerate(parts[1:-1], start=1):
        if part in _WORKTREES:
            parts = _without_worktree(parts, index)
            break
        if beside := _ALL_BESIDE.fullmatch(part):
            return "/".join((*parts[:index], beside["repo"]))
    beside = _BESIDE.fullmatch(parts[-1])
    return "/".join((*parts[:-1], beside["repo"] if beside else parts[-1]))


def _without_worktree(parts: list[str], index: int) -> list[str]:
    """The parts of the path of the repository whose worktrees are in ``parts[index]``."""
    holder, inside = parts[:index], parts[index + 1 :]
    while len(holder) > 1 and holder[-1].startswith("."):
        holder.pop()
    path = "/".join(holder)
    is_hidden = parts[index].startswith(".") and not is_home(path)
    if is_hidden or not is_shelf(path):
        return holder
    # One place for the worktrees of all repositories: ``<id>/<repository>`` as Codex has it, or
    # ``<repository>/<worktree>``.
    return (
        parts[: index + 3] if len(inside) > 1 and _ID.fullmatch(inside[0]) else parts[: index + 2]
    )


def names_in(records: Iterable[Record]) -> set[str | None]:
    """The names that a log gives its repository: the remote's and those of its directories."""
    names: set[str | None] = set()
    for record in records:
        facts = record.facts or {}
        names.add(facts.get("repository"))
        if record.cwd:
            place = LoggedPlace(record.cwd, root=facts.get("repository_root"))
            return {*names, repo_of(place), name_of(normal(record.cwd))}
    return names


def ancestors(directory: str) -> list[str]:
    """The directory itself and those above it, nearest first."""
    found = []
    while directory:
        found.append(directory)
        directory = directory.rpartition("/")[0]
    return found
