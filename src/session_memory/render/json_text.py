"""Write JSON as text that is safe to print."""

import json
from typing import Any


def to_json(value: Any, indent: int | None = None) -> str:
    # Only ASCII, so that no text from a log can act on the terminal.
    return json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")
