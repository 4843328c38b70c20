"""The location of a store: a path, or a PostgreSQL address, displayed without its password."""

import re
from pathlib import Path

_SCHEME = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)


def is_postgres(where: str | Path) -> bool:
    return isinstance(where, str) and _SCHEME.match(where) is not None


# A mistyped address, such as another scheme or connection settings.
_LOOKS_LIKE_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]+:/|.*\b(?:host|dbname|password)\s*=", re.IGNORECASE
)


def is_unknown_address(where: str | Path) -> bool:
    """Whether it looks like an address or connection settings, but is not one that we support."""
    if not isinstance(where, str) or is_postgres(where):
        return False
    return _LOOKS_LIKE_ADDRESS.match(where) is not None


def has_bare_at(url: str) -> bool:
    """Whether the password contains an ``@`` not written as %40, so that the host is misread."""
    return "@" in _SCHEME.sub("", url, count=1).rpartition("@")[0]


def with_libpq_scheme(url: str) -> str:
    """The address with the scheme that libpq expects."""
    return _SCHEME.sub("postgresql://", url, count=1)


def shown(where: str | Path) -> str:
    """``postgresql://user@host:port/name``, or the path unchanged.

    Even for a malformed address, no part of a password is shown: only the text before the first
    colon and after the last ``@`` is, without options.
    """
    if not is_postgres(where):
        return str(where)
    rest = _SCHEME.sub("", str(where), count=1)
    account, at, place = rest.rpartition("@")
    user = account.partition(":")[0]
    if not re.fullmatch(r"[^/?#\s]*", user):
        return "postgresql://…"
    return f"postgresql://{user}{at}{re.split(r'[?#]', place)[0]}"


def expanded(where: str) -> str:
    """The location with ``~`` replaced by the home directory."""
    return where if is_postgres(where) else str(Path(where).expanduser())
