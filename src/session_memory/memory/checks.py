"""Check single arguments. Each function returns the value, or raises an error that names ``field``.

Python does not check types. Without these checks a wrong value would give an empty answer, or an
exception of a library far below.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from session_memory.core.errors import InvalidRecord
from session_memory.core.text import escaped, short_repr

F = TypeVar("F", bound=Callable[..., object])
# Larger numbers are no integers for the databases.
LARGEST = 2**53


def a_text(field: str, value: object) -> str:
    """Return a text as the databases store it."""
    if not isinstance(value, str):
        raise _wrong(field, "a text", value)
    return escaped(value)


def maybe_text(field: str, value: object) -> str | None:
    """Return a text as the databases store it; None stays None."""
    return None if value is None else a_text(field, value)


def names(field: str, given: object) -> tuple[str, ...]:
    """Return one text or several as a tuple. None gives an empty tuple."""
    return tuple(a_text(field, one) for one in _several(field, given, str, "a text or several"))


def a_flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field, "True or False", value)
    return value


def a_count(field: str, value: object, expected: str = "a number of 0 or more") -> int:
    """Return an integer that is not negative."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _wrong(field, expected, value)
    return min(value, LARGEST)


def maybe_count(field: str, value: object) -> int | None:
    return None if value is None else a_count(field, value)


def checked_limit(limit: object) -> int:
    """Return a limit for the number of answers; 0 means all."""
    return a_count("limit", limit, "a number of 1 or more, or 0 for all")


def seconds(field: str, value: object) -> float:
    """Return a number of seconds above 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < LARGEST:
        return float(value)
    raise _wrong(field, "a number of seconds above 0", value)


def a_function(field: str, value: F) -> F:
    if not callable(value):
        raise _wrong(field, "a function", value)
    return value


def a_path(field: str, value: object) -> Path:
    """Return a path; ``~`` becomes the home directory."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise _wrong(field, "a path", value)
    try:
        path = Path(value).expanduser()
        # A path that is too long would fail later, wherever it is used first.
        path.exists()
        return path
    except (RuntimeError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        hint = "Check the path and its permissions."
        raise InvalidRecord(f"{field}: {reason}", hint, field=field) from None


def paths(field: str, given: object) -> tuple[Path, ...]:
    """Return one path or several as a tuple; None gives an empty tuple."""
    several = _several(field, given, (str, Path), "a path or several")
    return tuple(a_path(field, one) for one in several)


def _several(
    field: str, given: object, one: type | tuple[type, ...], expected: str
) -> Iterable[object]:
    if given is None:
        return ()
    if isinstance(given, one):
        return (given,)
    # Iterating over bytes would give numbers.
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise _wrong(field, expected, given)
    return given


def _wrong(field: str, expected: str, value: object) -> InvalidRecord:
    return InvalidRecord(f"{field} is {short_repr(value)}", f"Give {expected}.", field=field)
