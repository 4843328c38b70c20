"""Check the values that callers pass to live operations. A wrong one raises `InvalidRecord`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr

MOST = 2**63 - 1

Choice = TypeVar("Choice", bound=StrEnum)


def whole(value: Any, field: str, *, least: int = -MOST, most: int = MOST) -> int:
    """Return ``value`` if it is a whole number in the range; both databases can store it."""
    if not isinstance(value, int) or not least <= value <= most:
        limits = f" from {least} to {most}" if least != -MOST else ""
        raise InvalidRecord(
            f"{field} must be a whole number{limits}, not {short_repr(value)}", field=field
        )
    return value


def text(value: Any, field: str) -> str:
    """Return a text with the characters escaped that a database cannot store."""
    if not isinstance(value, str):
        raise InvalidRecord(f"{field} must be a text, not {short_repr(value)}", field=field)
    return escaped(value)


def mapping(value: Any, field: str) -> Mapping[str, Any]:
    """Return ``value`` if it is a dict or another mapping."""
    if not isinstance(value, Mapping):
        raise InvalidRecord(f"{field} must be a dict, not {short_repr(value)}", field=field)
    return value


def several(value: Any, field: str) -> Sequence[Any]:
    """Return ``value`` if it is a list or another sequence."""
    if not isinstance(value, Sequence):
        raise InvalidRecord(f"{field} must be a list, not {short_repr(value)}", field=field)
    return value


def choice(kind: type[Choice], value: Any, field: str) -> Choice:
    """Convert the value of an argument to a member of the enum ``kind``.

    Raise `InvalidRecord` with the allowed values if it is none of them.
    """
    try:
        return kind(value)
    except (ValueError, TypeError) as error:
        known = ", ".join(one.value for one in kind)
        message = f"{field} must be one of {known}, not {short_repr(value)}"
        raise InvalidRecord(message, field=field) from error
