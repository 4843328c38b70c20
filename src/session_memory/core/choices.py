"""Check that a value is one of a few names."""

from collections.abc import Iterable

from session_memory.core.errors import InvalidRecord, did_you_mean
from session_memory.core.text import short_repr


def one_of(field: str, value: object, known: Iterable[str]) -> str:
    """Return ``value`` if it is among ``known``; else raise an error that lists ``known``."""
    choices = tuple(known)
    if isinstance(value, str) and value in choices:
        return value
    raise no_such(field, value, choices)


def no_such(field: str, value: object, known: Iterable[str]) -> InvalidRecord:
    """Return the error for a name that does not exist. Its hint lists the ``known`` names."""
    choices = list(known)
    hint = f"Choose one of: {', '.join(choices)}."
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    if meant := did_you_mean(near):
        hint = f"{hint} {meant}"
    return InvalidRecord(f"unknown {field} {short_repr(value)}", hint, field=field)
