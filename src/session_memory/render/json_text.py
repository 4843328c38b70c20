"""JSON as text that is safe to print."""

import json
from typing import Any


def to_json(value: Any, indent: int | None = None) -> str:
    # ASCII alone: no text of a log reaches a terminal as anything but plain characters.
    return json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")
