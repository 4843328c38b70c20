"""Rows as every database can hold them."""

from typing import Any

import msgspec

from session_memory.core.text import escaped


def storable(row: msgspec.Struct) -> dict[str, Any]:
    """A row's values by column, its texts escaped."""
    return {
        name: escaped(value) if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(row).items()
    }
