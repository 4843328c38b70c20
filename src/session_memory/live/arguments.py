"""Checks of what callers pass to live operations. A wrong value raises `InvalidRecord`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr

MOST = 2**63 - 1

Choice = TypeVar("Choice", bound=StrEnum)


def whole(value: Any, field: str, *, least: int = -MOST, most: int = MOST) -> int:
    """A whole number that both databases can store, in the given range."""
    if not isinstance(value, int) or not least <= value <= most:
        limits = f" from {least} to {most}" if least != -MOST else ""
        raise InvalidRecord(
            f"{field} must be a whole number{limits}, not {short_repr(value)}", field=field
        )
    return value


def text(value: Any, field: str) -> str:
    """A text, with characters that a database cannot store escaped."""
    if not isinstance(value, str):
        raise InvalidRecord(f"{field} must be a text, not {short_repr(value)}", field=field)
    return escaped(value)


def mapping(value: Any, field: str) -> Mapping[str, Any]:
    """A dict, or something like it."""
    if not isinstance(value, Mapping):
        raise InvalidRecord(f"{field} must be a dict, not {short_repr(value)}", field=field)
    return value


def several(value: Any, field: str) -> Sequence[Any]:
    """A list, or something like it."""
    if not isinstance(value, Sequence):
        raise InvalidRecord(f"{field} must be a list, not {short_repr(value)}", field=field)
    return value


def choice(kind: type[Choice], value: Any, field: str) -> Choice:
    """One of the values of an enumeration."""
    try:
        return kind(value)
    except (ValueError, TypeError) as error:
        known = ", ".join(one.value for one in kind)
        message = f"{field} must be one of {known}, not {short_repr(value)}"
        raise InvalidRecord(message, field=field) from error
