"""Records of another library as live messages, given back exactly as they came.

What a message has words for (role, content, calls) goes into the message, where it is shown,
searched and repaired like any other; the rest lies in its ``meta`` under ``RECORD``. A message
without one came from elsewhere: a repair, a note, another program.
"""

from typing import Any

RECORD = "record"


def is_shown(content: Any) -> bool:
    """Whether a message can hold this as its content."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block, dict) for block in content)
    return isinstance(content, str)
