"""The words that the skill log's adapter and the questions to the store must agree on.

A status is kept as the word it was; only a question asks what it comes to.
"""

from session_memory.core.text import escaped, one_line

FLAVOR = "skill"
ATTEMPT = "attempt"
"""The native kind of the event of one try."""
RESULT = "result/"
"""What the native kind of the event of a call's end begins with; its final status follows."""
UNNAMED = "unnamed"
_LONGEST_NAME = 200

_VERDICTS = {
    "pass": "pass",
    "ok": "pass",
    "fail": "fail",
    "error": "fail",
    "skip": "skip",
    "skipped": "skip",
}


def verdict_of(status: str) -> str:
    """``pass``, ``fail``, ``skip``, or ``other`` for a word that is none of ours."""
    return _VERDICTS.get(status.strip().lower(), "other")


def label(name: str) -> str:
    """The name of a skill or a model as the store knows it: on one line, bounded, never empty."""
    return one_line(escaped(name), _LONGEST_NAME) or UNNAMED
