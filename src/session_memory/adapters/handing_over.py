"""Build the lines and times of a session that is handed over to another agent.

The ``handoff`` modules of the agents use these functions. Each line that they write begins with
``MARK``, which marks it as a copy (`session_memory.adapters.handed_copies`).
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
        # A damaged log may contain half a character (a lone surrogate). It cannot be written in
        # UTF-8, and some agents refuse its escape.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.encode()


def as_object(call: HandedCall) -> dict[str, Any]:
    """Return the arguments of a call as an object, for agents whose tools take only objects."""
    given = call.arguments
    return given if isinstance(given, dict) else {"input": given}


def named(**values: Any) -> dict[str, Any]:
    """Return the arguments that are not None as a dictionary."""
    return {name: value for name, value in values.items() if value is not None}


class LineClock:
    """Gives each line of a session its time. The times are a millisecond apart, up to about
    ``session.at``."""

    def __init__(self, session: HandedSession) -> None:
        calls = sum(1 + 3 * len(getattr(step, "calls", ())) for step in session.steps)
        self.ms = session.at - 2 * calls - len(session.steps)

    def tick(self) -> str:
        self.ms += 1
        return format_time(self.ms)


def dashes(cwd: str) -> str:
    """Return the name of a directory of logs for ``cwd``: every character except letters and
    digits becomes a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)
