"""Where a store is: a path, or the address of a PostgreSQL database, shown without its password."""

import re
from pathlib import Path

_SCHEME = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)


def is_postgres(where: str | Path) -> bool:
    return isinstance(where, str) and _SCHEME.match(where) is not None


# What somebody meant for a server and wrote in a way that is none of ours.
_MEANT = re.compile(r"[a-z][a-z0-9+.-]+:/|.*\b(?:host|dbname|password)\s*=", re.IGNORECASE)


def is_no_path(where: str | Path) -> bool:
    """Whether it looks like an address, or like the settings of a connection, and is no ours."""
    return isinstance(where, str) and not is_postgres(where) and bool(_MEANT.match(where))


def has_bare_at(url: str) -> bool:
    """A password with an ``@`` that is not written as %40 moves the host to a wrong place."""
    return "@" in _SCHEME.sub("", url, count=1).rpartition("@")[0]


def spelled(url: str) -> str:
    """The scheme as libpq knows it."""
    return _SCHEME.sub("postgresql://", url, count=1)


def shown(where: str | Path) -> str:
    """``postgresql://user@host:port/name``, or the path as it is.

    Whatever is wrong with the address, no part of a password is left in it: only what stands
    before the first colon and behind the last ``@`` is, and no options.
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
    """``~`` of a path as the home directory."""
    return where if is_postgres(where) else str(Path(where).expanduser())
