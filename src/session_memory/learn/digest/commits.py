"""Commits that an agent made: each by its short hash and its subject, as ``git log`` shows them."""

import re
from collections.abc import Iterator

from session_memory.derive.detecting import Program
from session_memory.learn.digest import Statement
from session_memory.learn.digest.deliveries import COMMIT, MADE, Delivery
from session_memory.learn.digest.steps import FinishedCall
from session_memory.learn.digest.texts import Texts
from session_memory.redact import mask

MOST_COMMITS = 50
HASH = 7
LONGEST = 200
# The parser of commands leaves out here-documents, and many agents write messages in them.
_HEREDOC = re.compile(r"\bcommit\b[^\n]*<<-?\s*['\"]?\w+['\"]?[^\n]*\n\s*(?P<subject>[^\n]+)")
_MESSAGE = re.compile(r"-[a-zA-Z]*m|--message")


class CommitList:
    """Commits that were made."""

    def __init__(self) -> None:
        self.made: list[Statement] = []

    def add(self, finished: FinishedCall, delivered: list[Delivery], texts: Texts) -> None:
        done = [one for one in delivered if one.kind == COMMIT and one.arrived]
        if not done:
            return
        subjects = list(_logged(texts.output(finished.result)))
        if not subjects:
            subjects = list(_given(texts.lines(finished.call), done))
        for subject in subjects or [finished.call.summary]:
            if len(self.made) < MOST_COMMITS:
                # Masked before it is cut: half a secret would not be recognized.
                words = mask(subject[: 4 * LONGEST])[:LONGEST]
                self.made.append(Statement(finished.call.event_uid, finished.result.ts, words))


def _logged(output: str) -> Iterator[str]:
    """``1a2b3c4 subject`` of each commit that git reported."""
    for found in MADE.finditer(output):
        yield f"{found['hash'][:HASH]} {found['subject'].strip()}"


def _given(command: str, done: list[Delivery]) -> Iterator[str]:
    """The subjects that the command itself gives."""
    written = _HEREDOC.finditer(command)
    for program in (one.program for one in done if one.program is not None):
        message = _message(program)
        if message.startswith("$("):
            message = found["subject"] if (found := next(written, None)) else ""
        if lines := message.strip().splitlines():
            yield lines[0].strip()


def _message(program: Program) -> str:
    words = program.arguments
    for place, word in enumerate(words):
        name, is_given, value = word.partition("=")
        if name == "--message" and is_given:
            return value
        if _MESSAGE.fullmatch(word) and place + 1 < len(words):
            return words[place + 1]
    return ""
