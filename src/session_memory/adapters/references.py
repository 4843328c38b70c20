"""Check the sources and paths that an adapter discovers, before they are read or stored."""

from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.core.roles import FILE_ROLES
from session_memory.core.text import escaped, short_repr


def checked_reference(ref: Any) -> SourceRef:
    """Return the same source with paths as ``Path``. Raises TypeError or ValueError if it is
    wrong."""
    if not isinstance(ref, SourceRef):
        raise TypeError(f"{short_repr(ref)} is not a SourceRef")
    if ref.role not in FILE_ROLES:
        raise ValueError(f"role is {short_repr(ref.role)}, not one of {', '.join(FILE_ROLES)}")
    for name in ("home_path", "session", "agent"):
        value = getattr(ref, name)
        if not isinstance(value, str):
            raise TypeError(f"{name} is {short_repr(value)}, not a text")
    if not isinstance(ref.companions, (tuple, list)):
        raise TypeError(f"companions is {short_repr(ref.companions)}, not a tuple")
    path = absolute_path("path", ref.path)
    at = None if ref.at is None else absolute_path("at", ref.at)
    companions = tuple(checked_reference(companion) for companion in ref.companions)
    if path is ref.path and at is ref.at and companions == ref.companions:
        return ref
    return msgspec.structs.replace(ref, path=path, at=at, companions=companions)


def checked_unlisted(found: Unlisted) -> Unlisted:
    """Return the same path and reason. Characters of the reason that a database refuses are
    escaped."""
    return Unlisted(absolute_path("path", found.path), escaped(str(found.reason)))


def absolute_path(name: str, path: Any) -> Path:
    """Return ``path`` as a ``Path``. Raises TypeError or ValueError if it is no absolute path.

    ``name`` is the field that the error names.
    """
    found = checked_path(name, path)
    if not found.is_absolute():
        raise ValueError(f"{name} is {short_repr(str(path))}, not an absolute path")
    return found


def checked_path(name: str, path: Any) -> Path:
    """Return ``path``, a text or a ``Path``, as a ``Path``. Raises TypeError or ValueError if it is
    none. ``name`` is the field that the error names."""
    if not isinstance(path, (str, Path)):
        raise TypeError(f"{name} is {short_repr(path)}, not a path")
    if "\0" in str(path):
        raise ValueError(f"{name} is {short_repr(str(path))}, which has a NUL")
    # There may be many thousands of paths, and to parse each of them again would be slow.
    return path if isinstance(path, Path) else Path(path)
