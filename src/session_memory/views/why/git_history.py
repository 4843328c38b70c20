"""Ask git about lines: who committed them, when, and under which name of the file."""

from collections import defaultdict
from pathlib import Path

import msgspec

from session_memory.views.quiet_git import StartedGit, quiet_git

_SECONDS = 10.0
_MOST = 64 << 20
_NOT_COMMITTED = "0" * 40
_BLAME = ("blame", "--porcelain", "-w")
_MOST_AT_ONCE = 6


class Commit(msgspec.Struct, frozen=True):
    """A commit. Its two times are in milliseconds; they differ if it was amended or rebased."""

    sha: str
    subject: str
    author: str
    authored_at: int
    committed_at: int


class BlamedLine(msgspec.Struct, frozen=True):
    """A line of a file, and the commit that put it there; None if it is not committed.

    ``path_then`` is the name of the file in that commit, ``number_then`` the number of the line
    there. ``origin`` is the commit that the line was moved or copied from; without one, ``commit``.
    For common lines, such as ``return None``, git finds wrong origins.
    """

    number: int
    text: str
    commit: Commit | None
    path_then: str
    origin: Commit | None
    number_then: int = 0


class StartedBlame:
    """A running ``git blame`` of a part of a file. `lines` waits for its result."""

    def __init__(self, root: Path, path: str, part: str) -> None:
        self._root, self._path, self._part = root, path, part
        self._plain = StartedGit(root, [*_BLAME, part, "--", path])

    def lines(self, wanted: range | None = None) -> list[BlamedLine]:
        """Return all lines of the file. Origins are looked up for ``wanted`` lines only.

        Call it only once.
        """
        lines = _parsed(self._plain.output(seconds=_SECONDS, most=_MOST) or "", self._path)
        return self._with_others(self._with_origins(lines, wanted))

    def _with_origins(self, lines: list[BlamedLine], wanted: range | None) -> list[BlamedLine]:
        places = defaultdict(list)
        for line in lines:
            if line.commit is not None and (wanted is None or line.number in wanted):
                places[line.commit.sha, line.path_then].append(line.number_then)
        if len(places) > _MOST_AT_ONCE:
            moves = [*_BLAME, "-M", "-C", self._part, "--", self._path]
            output = quiet_git(self._root, moves, seconds=_SECONDS, most=_MOST)
            found = _parsed(output or "", self._path)
            origins = {one.number: one.origin for one in found}
            return [_from(line, origins.get(line.number)) for line in lines]
        # Was a line moved or copied to this place? Git only has to look at the commit that added
        # it. That is quicker than looking for moves in the whole history.
        started = {
            (sha, path): StartedGit(
                self._root,
                [*_BLAME, "-M", "-C", *(f"-L{n},{n}" for n in numbers), sha, "--", path],
            )
            for (sha, path), numbers in places.items()
        }
        moved = {
            (*place, one.number): one.origin
            for place, git in started.items()
            for one in _parsed(git.output(seconds=_SECONDS, most=_MOST) or "", place[1])
        }
        return [
            _from(line, moved.get((line.commit.sha, line.path_then, line.number_then)))
            if line.commit
            else line
            for line in lines
        ]

    def _with_others(self, lines: list[BlamedLine]) -> list[BlamedLine]:
        """Return ``lines`` with all other lines of the file before and after them."""
        try:
            text = (self._root / self._path).read_text("utf-8", "replace")
        except OSError:
            return lines
        known = {line.number: line for line in lines}
        return [
            known.get(number) or BlamedLine(number, each, None, self._path, None)
            for number, each in enumerate(text.split("\n")[: len(text.splitlines())], 1)
        ]


class GitHistory:
    """The history of the files of one repository."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def blamed(self, path: str, first: int = 1, last: int | None = None) -> "StartedBlame":
        """Start ``git blame`` for the lines ``first`` to ``last`` of a file as it is now.

        Changes of white space are ignored. Lines of a file that is new to git have no commit.
        """
        return StartedBlame(self._root, path, f"-L{first},{'' if last is None else last}")

    def is_gone(self, path: str) -> bool:
        """Whether the checkout has no such file now."""
        return not (self._root / path).exists()

    def before(self, path: str, moment: int) -> list[str] | None:
        """Return the lines of a file in the last commit before a moment; None if it was not there
        or git does not answer."""
        # To find the last commit that changed this file would take git far longer.
        sha = self._git("rev-list", "-1", f"--before=@{moment // 1000}", "HEAD", "--")
        text = self._git("cat-file", "blob", f"{sha.strip()}:{path}") if sha else None
        return None if text is None else text.splitlines()

    def commit(self, name: str) -> Commit | None:
        """Return the commit with this name, such as a hash, a branch or ``HEAD~2``."""
        form = "--format=%H%x00%s%x00%an%x00%at%x00%ct"
        output = self._git("log", "-1", "--no-show-signature", form, "--end-of-options", name, "--")
        if not output:
            return None
        sha, subject, author, authored, committed = output.strip("\n").split("\0")
        return Commit(sha, subject, author, int(authored) * 1000, int(committed) * 1000)

    def files_of(self, commit: Commit) -> list[str]:
        """Return the files that a commit added or changed."""
        words = ("diff-tree", "--root", "-r", "-M", "--no-commit-id", "--name-only")
        output = self._git(*words, "--diff-filter=d", "-z", commit.sha)
        return [name for name in (output or "").split("\0") if name]

    def added_in(self, commit: Commit, path: str) -> list[str] | None:
        """Return the lines that a commit added to a file; None if git does not answer."""
        words = ("diff-tree", "--root", "-p", "-w", "-M", "-U0", "--no-commit-id", "--no-color")
        output = self._git(*words, commit.sha, "--", path)
        if output is None:
            return None
        body = output.partition("\n@@")[2]
        return [line[1:] for line in body.splitlines() if line.startswith("+")]

    def _git(self, *words: str) -> str | None:
        return quiet_git(self._root, words, seconds=_SECONDS, most=_MOST)


def _from(line: BlamedLine, origin: Commit | None) -> BlamedLine:
    return line if origin is None else msgspec.structs.replace(line, origin=origin)


def _parsed(output: str, path: str) -> list[BlamedLine]:
    """Parse the output of ``git blame --porcelain``, which describes each commit only once."""
    facts: dict[str, dict[str, str]] = {}
    found: list[BlamedLine] = []
    current: dict[str, str] = {}
    sha, number, then = "", 0, 0
    for line in output.split("\n"):
        if line.startswith("\t"):
            commit = None if sha == _NOT_COMMITTED else _commit(sha, facts[sha])
            named = current.get("filename") or facts[sha].get("filename") or path
            text = line[1:].removesuffix("\r")
            found.append(BlamedLine(number, text, commit, named, commit, then))
            current = {}
            continue
        name, _, value = line.partition(" ")
        if len(name) == 40 and value[:1].isdigit():
            sha, (then, number) = name, map(int, value.split()[:2])
            facts.setdefault(sha, {})
        elif name:
            facts.setdefault(sha, {})[name] = value
            current[name] = value
    return found


def _commit(sha: str, facts: dict[str, str]) -> Commit:
    return Commit(
        sha,
        facts.get("summary", ""),
        facts.get("author", ""),
        int(facts.get("author-time", "0")) * 1000,
        int(facts.get("committer-time", "0")) * 1000,
    )
