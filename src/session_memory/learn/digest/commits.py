"""Commits that an agent made through a shell."""

import re

from session_memory.derive.detecting import Program, programs
from session_memory.learn.digest import Statement
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.texts import Texts

MOST_COMMITS = 50
_COMMITTED = re.compile(r"\[[\w./@-]+(?: \([\w -]+\))? [0-9a-f]{7,40}\]")


class CommitList:
    """Commits that were made through a shell."""

    def __init__(self) -> None:
        self.made: list[Statement] = []

    def add(self, finished: FinishedCall, texts: Texts) -> bool:
        if finished.failed or not finished.is_shell or not _may_commit(finished):
            return False
        if not any(map(is_commit, programs(texts.words(finished.call)))):
            return False
        if len(self.made) < MOST_COMMITS:
            self.made.append(
                Statement(finished.call.event_uid, finished.result.ts, finished.result.summary)
            )
        return True


def _may_commit(finished: FinishedCall) -> bool:
    return (
        "commit" in finished.call.summary or _COMMITTED.search(finished.result.summary) is not None
    )


def is_commit(program: Program) -> bool:
    words = [word for word in program.arguments if not word.startswith("-")]
    return program.name == "git" and "commit" in words[:3] and "--dry-run" not in program.arguments
