"""Names and statuses that the skill log's adapter and the queries over skills share.

The store keeps a status as it was written. Only queries map it to a verdict.
"""

import json

from session_memory.core.errors import InvalidRecord
from session_memory.core.schema import Entry
from session_memory.core.text import escaped, one_line

FLAVOR = "skill"
OURS, FOLDER = ".session-memory", "skills"
"""The logs are below ``~/.session-memory/skills`` unless the configuration says otherwise."""
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
    """Map a stored status to ``pass``, ``fail``, ``skip``, or ``other`` if it is unknown."""
    return _VERDICTS.get(status.strip().lower(), "other")


def entry_of(line: bytes, session_id: str) -> Entry:
    """Parse one line of a session's skill log.

    ``session_id`` fills in an id that older logs omit.
    """
    try:
        # A power cut may leave zero bytes before a line.
        values = json.loads(line.lstrip(b"\0"))
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(f"Entry is not JSON: {error}", field="Entry") from None
    if isinstance(values, dict) and not values.get("session_id"):
        values["session_id"] = session_id
    return Entry.from_dict(values)


def label(name: str) -> str:
    """Return the name of a skill or model as it is stored: one line, limited length, never
    empty."""
    return one_line(escaped(name), _LONGEST_NAME) or UNNAMED
