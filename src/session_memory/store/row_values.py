"""Values of rows in a form that both databases can store."""

from typing import Any

import msgspec

from session_memory.core.text import escaped


def storable(row: msgspec.Struct) -> dict[str, Any]:
    """The values of a row by column, with texts escaped."""
    return {
        name: escaped(value) if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(row).items()
    }
