"""Recognize edits that cannot have resolved an error: of notes, of documents, of other tests."""

from session_memory.core.lazy_patterns import lazy_pattern
from session_memory.learn.digest.actions import Action
from session_memory.learn.digest.error_lines import ErrorLine
from session_memory.learn.digest.failed_calls import FailedCall

_NOTES = ("/plans/", "/memory/", "/memories/", "/.claude/projects/")
_DOCUMENT = lazy_pattern(r"(?i)\.(?:md|mdx|rst|adoc)$")
_TEST_FILE = lazy_pattern(
    r"(?i)(?:^|[/\\])(?:__tests__|tests?|specs?|e2e)[/\\]|[._-](?:test|spec)s?\.\w+$|test_\w+\.py$"
)
_OF_TEXT = lazy_pattern(
    r"(?i)\b(?:docs?|document\w*|readme|changelog|markdown|text|guide|spec\w*|skill|prompt|report)\b"
    r"|文档|文書"
)
_OF_TESTS = lazy_pattern(
    r"(?i)\b(?:tests?|specs?|e2e|ci|coverage|pytest|vitest|jest)\b|テスト|测试"
)


def is_unrelated(failure: FailedCall, action: Action) -> bool:
    """Whether an edit is only of notes, of scripts of the agent, or of documents that have nothing
    to do with the error."""
    return (
        is_scratch(action)
        or _is_aside(failure, action)
        or (
            bool(action.paths) and all(_is_other_text(failure.error, path) for path in action.paths)
        )
    )


def is_beside(error: ErrorLine, action: Action) -> bool:
    """Whether an edit is only of documents and tests, and the error is not about them."""
    is_of_tests = _OF_TESTS.search(error.whole) is not None
    return bool(action.paths) and all(
        _is_other_text(error, path)
        or (
            not is_of_tests
            and _TEST_FILE.search(path)
            and path.replace("\\", "/").rpartition("/")[2] not in error.whole
        )
        for path in action.paths
    )


def is_scratch(action: Action) -> bool:
    """Whether an edit changes only a plan or a note of the agent, and not the project."""
    path = action.call.path or ""
    return path.endswith(".md") and any(name in path for name in _NOTES)


def _is_aside(failure: FailedCall, action: Action) -> bool:
    """Whether an edit is of a script that the agent wrote for itself, not of what has failed."""
    path = action.call.path or ""
    name = path.rpartition("/")[2]
    return "/scratchpad/" in path and name not in failure.error.whole and name not in failure.files


def _is_other_text(error: ErrorLine, path: str) -> bool:
    """Whether a file is a document that the error does not name."""
    name = path.replace("\\", "/").rpartition("/")[2]
    is_text = _DOCUMENT.search(path) is not None and name not in error.whole
    return is_text and _OF_TEXT.search(error.text) is None
