"""Values of rows in a form that both databases can store."""

from collections.abc import Collection
from typing import Any

import msgspec

from session_memory.core.text import escaped


def storable(row: msgspec.Struct) -> dict[str, Any]:
    """The values of a row by column, with texts escaped."""
    return {
        name: escaped(value) if isinstance(value, str) else value
        for name, value in msgspec.structs.asdict(row).items()
    }


def named_list(values: Collection[str]) -> tuple[str, dict[str, str]]:
    """The inside of ``in (…)`` as named parameters, and those parameters.

    PostgreSQL refuses an empty list, so there is always one value that nothing equals.
    """
    params = {f"listed_{number}": value for number, value in enumerate(sorted(values))}
    return ", ".join(["''", *(f":{name}" for name in params)]), params


def containing(part: str) -> str:
    """The pattern ``%part%`` for ``like … escape '!'``, with the wildcards in ``part`` escaped."""
    escaped_part = part.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped_part}%"
