"""The exceptions about lessons:

    LessonError            a lesson could not be changed, applied or removed
    ├── UnknownLesson
    ├── BrokenLesson
    ├── TooLittleEvidence
    ├── BrokenMarkers
    └── NotApplied

Every other exception is in `session_memory.core.errors`.
"""

from collections.abc import Iterable

from session_memory.core.errors import SessionMemoryError, did_you_mean
from session_memory.core.text import short_repr


class LessonError(SessionMemoryError):
    """A lesson could not be changed, applied to a file or removed from it. Nothing was written."""


class UnknownLesson(LessonError):
    """The lessons folder has no lesson with this name."""

    hint = "List them with: session-memory lessons list"

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        super().__init__(f"no lesson {short_repr(name)}", did_you_mean(near))


class BrokenLesson(LessonError):
    """The file of a lesson has a value that is not valid."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", f"Correct {path}; its older versions are beside it.")


class TooLittleEvidence(LessonError):
    """Too few sessions show the pattern."""

    def __init__(self, name: str, *, found: int, needed: int, setting: str) -> None:
        seen = "1 session shows" if found == 1 else f"{found} sessions show"
        super().__init__(f"{seen} {short_repr(name)}, {needed} are needed")
        self.hint = f"Wait for more sessions, give --force, or lower [lessons] {setting}."


class BrokenMarkers(LessonError):
    """A file does not have exactly one pair of marker lines around its lessons."""

    def __init__(self, path: str, reason: str) -> None:
        hint = "Remove the surplus lines that contain 'session-memory lessons'."
        super().__init__(f"{path}: {reason}", hint)


class NotApplied(LessonError):
    """This file has no applied lessons to remove."""

    hint = "List the applied lessons with: session-memory lessons live"

    def __init__(self, path: str) -> None:
        super().__init__(f"nothing was applied to {path}")
