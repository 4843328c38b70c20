"""Store records of another library as live messages, and return them unchanged.

Role, content and calls become the message's own fields, so it is shown, searched and repaired like
any other. The rest of the record is in the message's ``meta`` under ``RECORD``. A message without
``RECORD`` was not made by the library: it is a repair, a note, or from another program.
"""

from typing import Any

RECORD = "record"


def is_shown(content: Any) -> bool:
    """Whether a live message can have this content: a text, or a list of blocks."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block, dict) for block in content)
    return isinstance(content, str)
