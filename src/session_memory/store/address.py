"""The location of a store: a path, or a PostgreSQL address, displayed without its password."""

import re
from pathlib import Path
from urllib.parse import unquote

from session_memory.core.lazy_patterns import lazy_pattern

_SCHEME = lazy_pattern(r"postgres(?:ql)?://", re.IGNORECASE)


def is_postgres(where: str | Path) -> bool:
    """Whether ``where`` is the address of a PostgreSQL server. Blanks around it do not matter."""
    return isinstance(where, str) and _SCHEME.match(where.strip()) is not None


# Matches a mistyped address: another scheme, connection settings, quotes or signs in front of it.
_LOOKS_LIKE_ADDRESS = lazy_pattern(
    r"[a-z][a-z0-9+.-]+:/|.*\b(?:host|dbname|password)\s*=|.*(?:://|\bpostgres(?:ql)?:)",
    re.IGNORECASE | re.DOTALL,
)


def is_unknown_address(where: str | Path) -> bool:
    """Whether ``where`` looks like an address or connection settings that we do not support."""
    return not is_postgres(where) and _LOOKS_LIKE_ADDRESS.match(str(where).strip()) is not None


def _after_scheme(url: str) -> str:
    return _SCHEME.sub("", url.strip(), count=1)


def is_ambiguous(url: str) -> bool:
    """Whether an unescaped sign in a password or an option may hide where the host begins.

    Such signs must be escaped: ``@`` as %40, ``/`` as %2F, ``?`` as %3F, a blank as %20.
    """
    account, at, _ = _after_scheme(url).rpartition("@")
    return bool(at and re.search(r"[@/?\[]", account)) or bool(re.search(r"\s", url.strip()))


def has_password(url: str) -> bool:
    """Whether an address contains a password, or something that could be one."""
    account, _, place = _after_scheme(url).rpartition("@")
    options = unquote(place.partition("?")[2]).lower()
    named = re.search(r"(?:^|&)[^=&]*password[^=&]*=", options) is not None
    return ":" in account or named or is_ambiguous(url) or _place_shown(place) is None


def for_libpq(url: str) -> str:
    """The address with the scheme that libpq expects, without blanks around it."""
    return _SCHEME.sub("postgresql://", url.strip(), count=1)


# Matches a host with an optional port and database. Only digits count as a port: other text after
# a colon may be a password whose ``@host`` is missing.
_PLACE = lazy_pattern(r"(?:\[[0-9a-f:.]*\]|[^:/?#@\s]*)(?::\d*)?(?:/[^/?#@\s]*)?", re.IGNORECASE)


def _place_shown(place: str) -> str | None:
    """Return the hosts and the database without options. None if they may be part of a password."""
    plain = re.split(r"[?#]", place)[0]
    *others, last = plain.split(",")
    if not all("/" not in host and _PLACE.fullmatch(host) for host in others):
        return None
    return plain if _PLACE.fullmatch(last) else None


def shown(where: str | Path) -> str:
    """Return a location that may be displayed: an address without its password, or the path.

    Of an address, only the text before the first colon and after the last ``@`` is shown, without
    options. So no part of a password is shown, even if the address is malformed.
    """
    if is_unknown_address(where):
        return "an address that is not supported"
    if not is_postgres(where):
        return str(where)
    account, at, place = _after_scheme(str(where)).rpartition("@")
    user, plain = account.partition(":")[0], _place_shown(place)
    if plain is None or not re.fullmatch(r"[^/?#\s]*", user):
        return "postgresql://…"
    return f"postgresql://{user}{at}{plain}"


def expanded(where: str) -> str:
    """The location with ``~`` replaced by the home directory."""
    return where.strip() if is_postgres(where) else str(Path(where).expanduser())
