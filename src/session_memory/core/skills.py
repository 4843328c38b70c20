"""Names and statuses that the skill log's adapter and the queries over skills share.

The store keeps a status as it was written. Only queries map it to a verdict.
"""

from session_memory.core.text import escaped, one_line

FLAVOR = "skill"
ATTEMPT = "attempt"
"""The native kind of the event for one attempt."""
RESULT = "result/"
"""The start of the native kind of the event that ends a call. The final status follows it."""
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
    """``pass``, ``fail``, ``skip``, or ``other`` for an unknown status."""
    return _VERDICTS.get(status.strip().lower(), "other")


def label(name: str) -> str:
    """The stored name of a skill or model: on one line, of limited length, never empty."""
    return one_line(escaped(name), _LONGEST_NAME) or UNNAMED
