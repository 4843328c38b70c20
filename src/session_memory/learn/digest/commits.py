"""List the commits that an agent made: short hash and subject, as ``git log --oneline`` shows."""

from session_memory.derive.detecting import given_subjects, logged_commits
from session_memory.learn.digest import Statement
from session_memory.learn.digest.deliveries import COMMIT, Delivery
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask

MOST_COMMITS = 50
LONGEST = 200


class CommitList:
    """Collects the commits of a session from its finished calls."""

    def __init__(self) -> None:
        self.made: list[Statement] = []

    def add(self, finished: FinishedCall, delivered: list[Delivery], texts: Texts) -> None:
        if not any(one.kind == COMMIT and one.arrived for one in delivered):
            return
        logged = logged_commits(texts.output(finished.result))
        commits = [f"{number} {subject}" for number, subject in logged]
        if not commits:
            commits = list(given_subjects(texts.lines(finished.call)))
        for commit in commits or [finished.call.summary]:
            if len(self.made) < MOST_COMMITS:
                # Masked before it is cut: half a secret would not be recognized.
                words = mask(commit[: 4 * LONGEST])[:LONGEST]
                self.made.append(Statement(finished.call.event_uid, finished.result.ts, words))
