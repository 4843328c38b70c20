"""What the writers of handed-over sessions share: lines and times.

Every line begins with the mark of a copy; `handed_copies` says what that means.
"""

__all__ = ["MARK", "TITLE", "LineClock", "as_object", "dashes", "json_lines", "json_text", "named"]


import json
import re
from collections.abc import Iterable
from typing import Any

from session_memory.adapters.handed_copies import MARK
from session_memory.core.handing import HandedCall, HandedSession
from session_memory.core.time import format_time

TITLE = "Run a command"


def json_lines(lines: Iterable[Any]) -> bytes:
    return b"".join(json_text(line) + b"\n" for line in lines)


def json_text(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half a character of a damaged log has no UTF-8, and as an escape some agents refuse it.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.encode()


def as_object(call: HandedCall) -> dict[str, Any]:
    """The arguments of a call, for agents whose tools are all given objects."""
    given = call.arguments
    return given if isinstance(given, dict) else {"input": given}


def named(**values: Any) -> dict[str, Any]:
    """The values that are there, by their names."""
    return {name: value for name, value in values.items() if value is not None}


class LineClock:
    """Times for the lines of a session, a millisecond apart, the last ones about now."""

    def __init__(self, session: HandedSession) -> None:
        calls = sum(1 + 3 * len(getattr(step, "calls", ())) for step in session.steps)
        self.ms = session.at - 2 * calls - len(session.steps)

    def tick(self) -> str:
        self.ms += 1
        return format_time(self.ms)


def dashes(cwd: str) -> str:
    """A directory as a name: a dash for every character that is no letter and no digit."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)
