"""Find edits that did not last (they were undone or abandoned), and the tokens they cost."""

from collections import deque

from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest import Undone
from session_memory.learn.digest.deliveries import is_commit
from session_memory.learn.digest.steps import FinishedCall, TokenSums, first_few
from session_memory.learn.digest.texts import Texts
from session_memory.store.brief_events import BriefEvent

MOST_EDITS = 10_000
_COMPARED = 4


class UndoneEdits:
    """Finds edits on abandoned branches, edits undone by later edits, and edits undone by git."""

    def __init__(self) -> None:
        self._abandoned: list[tuple[BriefEvent, str]] = []
        self._kept: list[FinishedCall] = []
        self._latest: dict[str, deque[FinishedCall]] = {}
        self._reverted: list[tuple[str, list[FinishedCall], FinishedCall]] = []

    def add(self, finished: FinishedCall, texts: Texts) -> None:
        if finished.failed:
            return
        if "edit" in finished.kinds:
            if finished.call.branch is not None:
                self._abandoned.append((finished.call, finished.call.path or ""))
            elif len(self._kept) < MOST_EDITS:
                self._edit(finished, texts)
        elif finished.is_shell and "git" in finished.call.summary:
            self._git(finished)

    def _edit(self, finished: FinishedCall, texts: Texts) -> None:
        self._kept.append(finished)
        latest = self._latest.setdefault(finished.call.path or "", deque(maxlen=_COMPARED))
        # Unpacking is slow. A file's first edit has nothing to be compared with, so it is not read.
        change = texts.replaced(finished.call) if latest else None
        undone = [edit for edit in latest if change and texts.replaced(edit.call) == change[::-1]]
        if undone:
            self._revert("edit", undone[-1:], finished)
        latest.append(finished)

    def _revert(self, kind: str, lost: list[FinishedCall], by: FinishedCall) -> None:
        self._reverted.append((kind, lost, by))
        reverted = set(map(id, lost))
        self._kept = [edit for edit in self._kept if id(edit) not in reverted]

    def _git(self, finished: FinishedCall) -> None:
        started = list(programs(finished.call.summary))
        if any(map(is_commit, started)):
            self._kept.clear()
            return
        for program in started:
            if (named := _reverted_paths(program)) is None:
                continue
            lost = [edit for edit in self._kept if not named or _is_named(edit.call.path, named)]
            if lost:
                self._revert("git", lost, finished)

    def result(self, tokens: TokenSums) -> tuple[Undone, ...]:
        undone = []
        if self._abandoned:
            paths = first_few([path for _, path in self._abandoned if path], 10)
            spent = sum(tokens.between(event.seq, event.seq) for event, _ in self._abandoned)
            uids = first_few([event.event_uid for event, _ in self._abandoned])
            undone.append(Undone("rewind", len(self._abandoned), spent, paths, uids))
        for kind, lost, finished in self._reverted[:20]:
            paths = first_few([edit.call.path or "" for edit in lost if edit.call.path], 10)
            spent = tokens.between(lost[0].call.seq, finished.call.seq)
            if kind == "edit":
                # Other work between the two edits was not undone, so its tokens do not count.
                parts = (*lost, finished)
                spent = sum(tokens.between(p.call.seq, p.result.seq) for p in parts)
            uids = (finished.call.event_uid, *first_few([edit.call.event_uid for edit in lost], 4))
            undone.append(Undone(kind, len(lost), spent, paths, uids))
        return tuple(undone)


def _reverted_paths(program: Program) -> list[str] | None:
    """Return the paths that a git command reverts: [] means all, None that it reverts nothing."""
    if program.name != "git" or not program.arguments:
        return None
    verb, *rest = program.arguments
    paths = [word for word in rest if not word.startswith("-") and word != "."]
    if verb == "restore" and "--staged" not in rest:
        return paths
    if verb == "checkout" and ("--" in rest or "." in rest):
        return paths
    # A stash is no revert, because stashed changes mostly come back.
    return [] if verb == "reset" and "--hard" in rest else None


def _is_named(path: str | None, named: list[str]) -> bool:
    return any(
        (path or "").endswith(name.rstrip("/")) or f"/{name.strip('./')}/" in f"/{path}"
        for name in named
    )
