"""The repository of the working directory, and what git says about its files.

Git only reads inside this repository, and each call is stopped after `GIT_SECONDS`.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from session_memory.derive.repositories import LoggedPlace, checkout_of, name_of, repo_of
from session_memory.views.checkout import main_checkout, remote_of, root_of
from session_memory.views.quiet_git import quiet_git

GIT_SECONDS = 0.25
MOST_FILES = 20
MOST_OUTPUT = 1 << 20


class FileThen(NamedTuple):
    """A file as a session left it at ``moment``, in milliseconds."""

    path: str
    moment: int


class CurrentRepository:
    """The repository that ``directory`` is in. ``root`` is None outside of one. A caller sets
    ``stored_name`` to the name that the store has for it."""

    def __init__(self, directory: Path | str) -> None:
        root = root_of(str(directory))
        self.root = None if root is None else Path(root)
        self.stored_name: str | None = None

    @cached_property
    def names(self) -> list[str]:
        """The names that sessions in this repository may have for it, the best one first."""
        if self.root is None:
            return []
        main = Path(main_checkout(str(self.root)))
        remote = remote_of(str(main))
        stated = repo_of(LoggedPlace(str(self.root), remote, str(main)))
        own = [stated, repo_of(LoggedPlace(str(self.root))), name_of(str(main)), main.name]
        return list(dict.fromkeys(name for name in own if name))

    def changes_since(self, asked: Iterable[FileThen]) -> dict[FileThen, str]:
        """Say what happened to files since a moment: ``unchanged since``, ``2 commits since``,
        ``no commit since`` or ``gone now``. Files outside of this repository are left out, and all
        after the first 20. If git gives no answer, files that were written since are left out."""
        if self.root is None:
            return {}
        known = {one: inside for one in asked if (inside := self._inside(one.path)) is not None}
        known = dict(list(known.items())[:MOST_FILES])
        written = {one: self._written(inside) for one, inside in known.items()}
        # A file that was not written since has no new commit, so git is not asked about it.
        newer = {one: known[one] for one, ms in written.items() if ms and ms > one.moment}
        found = {one: "unchanged since" if ms else "gone now" for one, ms in written.items()}
        if not newer:
            return found
        commits = self._commits(sorted(set(newer.values())), min(one.moment for one in newer))
        for one, inside in newer.items():
            if commits is None:
                del found[one]
                continue
            number = sum(moment > one.moment for moment in commits[inside])
            words = f"{number} commit{'s' * (number > 1)} since" if number else "no commit since"
            found[one] = words
        return found

    def _written(self, inside: str) -> int | None:
        """When a file was written, in milliseconds; None if it is not there."""
        assert self.root is not None
        try:
            found = (self.root / inside).stat()
        except OSError:
            return None
        return found.st_mtime_ns // 1_000_000 if S_ISREG(found.st_mode) else None

    def _inside(self, path: str) -> str | None:
        """Return a logged path relative to the root, also if the log is from another checkout.

        None if the path is outside of this repository, or if git would print it in quotes.
        """
        assert self.root is not None
        # Git prints a name with such characters in quotes, and it would not be recognized there.
        if not path.isprintable() or '"' in path or "\\" in path or len(path) > 1_000:
            return None
        if path.startswith("/"):
            for base in (str(self.root), checkout_of(str(self.root))):
                if path.startswith(f"{base}/"):
                    path = path[len(base) + 1 :]
                    break
            else:
                name = Path(main_checkout(str(self.root))).name
                _, found, path = path.partition(f"/{name}/")
                if not found:
                    return None
        parts = path.split("/")
        return path if path and ".." not in parts and ".git" not in parts else None

    def _commits(self, paths: list[str], oldest: int) -> dict[str, list[int]] | None:
        """Return for each file the times of the commits since ``oldest`` that changed it.

        At most 100 commits are read. None if git gives no answer.
        """
        since = f"--since=@{oldest // 1000}"
        words = ("log", since, "--max-count=100", "--format=%x01%ct", "--name-only", "--no-renames")
        output = self._git(*words, "--", *paths)
        if output is None:
            return None
        found: dict[str, list[int]] = defaultdict(list)
        moment = 0
        for line in output.splitlines():
            if line.startswith("\x01"):
                moment = int(line[1:]) * 1000
            elif line:
                found[line].append(moment)
        return found

    def _git(self, *words: str) -> str | None:
        assert self.root is not None
        return quiet_git(self.root, words, seconds=GIT_SECONDS, most=MOST_OUTPUT)
