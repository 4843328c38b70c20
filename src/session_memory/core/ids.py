"""Ids: flavors, native ids, and the session uid made of both.

A native id is never a path: it has no path separator and no NUL, and is not ``.`` or ``..``. Only
a session id of a skill log may have slashes (`check_log_id`).
"""

import hashlib
import re

from session_memory.core.errors import InvalidId
from session_memory.core.text import short_repr

FLAVOR = re.compile(r"[a-z][a-z0-9_]*")
NATIVE_ID = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._:@+-]{1,200}")
LONGEST_LOG_ID = 200
_UID = re.compile(f"{FLAVOR.pattern}:{NATIVE_ID.pattern}")


def make_uid(flavor: str, native_session_id: str) -> str:
    """Return the session uid: ``claude`` and ``abc`` give ``claude:abc``. Raises if a part is not
    valid."""
    check_flavor("flavor", flavor)
    check_native_id("native_session_id", native_session_id)
    return f"{flavor}:{native_session_id}"


def split_uid(uid: str) -> tuple[str, str]:
    """Split ``uid`` into flavor and native id. Only the native id may contain colons."""
    flavor, _, native_session_id = check_uid("session_uid", uid).partition(":")
    return flavor, native_session_id


def is_uid(value: object) -> bool:
    return isinstance(value, str) and _UID.fullmatch(value) is not None


def fit_native_id(raw: str) -> tuple[str, bool]:
    """Return a valid native id for the name ``raw``, and whether it differs from ``raw``.

    A name that is not valid becomes ``x-<hash>``, the same on every machine. So no session is
    lost because of its name. The caller stores ``raw`` too.
    """
    if NATIVE_ID.fullmatch(raw):
        return raw, False
    digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()
    return f"x-{digest[:32]}", True


def check_flavor(field: str, value: object) -> str:
    if isinstance(value, str) and FLAVOR.fullmatch(value):
        return value
    raise InvalidId(
        f"{field} must be lower-case letters, digits and _, not {short_repr(value)}", field=field
    )


def check_native_id(field: str, value: object) -> str:
    if isinstance(value, str) and NATIVE_ID.fullmatch(value):
        return value
    raise InvalidId(
        f"{field} must be 1 to 200 of A-Z a-z 0-9 . _ : @ + - and no path, not {short_repr(value)}",
        field=field,
    )


def check_log_id(field: str, value: object) -> str:
    """Return ``value`` if it is a valid session id of a skill log; else raise `InvalidId`.

    A native id is valid. Older logs also have names with spaces, other letters and slashes, such as
    ``feat/x``. A part between slashes must not be empty, ``.`` or ``..``, so that no name leads out
    of its directory.
    """
    if isinstance(value, str) and is_log_id(value):
        return value
    raise InvalidId(
        f"{field} must be a name of 1 to {LONGEST_LOG_ID} bytes, not {short_repr(value)}",
        "Use printable characters and no backslash. Between slashes: no empty part, no . and no ..",
        field=field,
    )


def is_log_id(value: str) -> bool:
    if NATIVE_ID.fullmatch(value):
        return True
    # `isprintable` is false for control characters, NUL, surrogates, and characters that change
    # the writing direction.
    if not value.isprintable() or "\\" in value or len(value.encode()) > LONGEST_LOG_ID:
        return False
    return not any(part in ("", ".", "..") for part in value.split("/"))


def check_uid(field: str, value: object) -> str:
    if isinstance(value, str) and _UID.fullmatch(value):
        return value
    raise InvalidId(f"{field} must be <flavor>:<native id>, not {short_repr(value)}", field=field)
