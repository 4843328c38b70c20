"""Ask a PostgreSQL server through libpq itself, for a hook that an agent waits for.

Loading psycopg takes longer than a hook may take; loading its libpq does not. Only what hooks need
is supported: texts, numbers, booleans and bytes, one statement at a time.
"""

import ctypes
import os
import re
from functools import lru_cache
from importlib.util import find_spec

TYPE_CHECKING = False  # Type checkers treat this name as true. Importing `typing` takes time.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Row = tuple[Any, ...]

_MARKS = re.compile(r"'(?:[^']|'')*'|::|:([a-z_]\w*)")
_SYSTEM = ("libpq.so.5", "libpq.5.dylib")
_CONNECTED = 0
_DONE, _HAS_ROWS = 1, 2
_INTEGER, _BYTES = 20, 17
_BOOLEAN = 16
# How values of these types are read. They come as texts, which end at a NUL.
_READERS: "dict[int, Callable[[bytes], Any]]" = {
    **dict.fromkeys((20, 21, 23, 26), int),
    **dict.fromkeys((700, 701, 1700), float),
    _BOOLEAN: lambda text: text == b"t",
    _BYTES: lambda text: bytes.fromhex(text[2:].decode()),
}


class ServerError(Exception):
    """The server refused or did not answer. Its message is left out: it may quote a password."""


@lru_cache(maxsize=1)
def library() -> "ctypes.CDLL | None":
    """The libpq of psycopg, else that of the system; None if there is neither."""
    for path in (*_bundled(), *_SYSTEM):
        try:
            found = ctypes.CDLL(path)
        except OSError:
            continue
        for name in ("PQconnectdbParams", "PQexecParams", "PQexec"):
            getattr(found, name).restype = ctypes.c_void_p
        found.PQgetvalue.restype = ctypes.c_char_p
        found.PQftype.restype = ctypes.c_uint
        return found
    return None


def _bundled() -> list[str]:
    spec = find_spec("psycopg_binary")
    if spec is None or spec.origin is None:
        return []
    package = os.path.dirname(spec.origin)
    found = []
    for place in (f"{package}.libs", os.path.join(package, ".dylibs")):
        if os.path.isdir(place):
            found += [os.path.join(place, one) for one in os.listdir(place)]
    return sorted(path for path in found if os.path.basename(path).startswith("libpq"))


class LibpqRows:
    """A connection. Call it with a statement with ``:named`` parameters to get its rows."""

    def __init__(self, libpq: ctypes.CDLL, url: str, seconds: int, settings: str) -> None:
        self._libpq = libpq
        given = {
            "dbname": url,
            "connect_timeout": str(seconds),
            "client_encoding": "UTF8",
            "fallback_application_name": "session-memory",
        }
        self._connection = ctypes.c_void_p(
            libpq.PQconnectdbParams(_texts([*given]), _texts([*given.values()]), 1)
        )
        try:
            if libpq.PQstatus(self._connection) != _CONNECTED:
                raise ServerError("no connection")
            # The server may be set to give bytes in another form.
            statements = f"{settings}; set bytea_output = hex"
            self._rows(libpq.PQexec(self._connection, statements.encode()))
        except ServerError:
            self.close()
            raise

    def __call__(self, sql: str, params: "dict[str, Any]") -> "list[Row]":
        text, names = _numbered(sql)
        values = [params[name] for name in names]
        count = len(values)
        sent = [_sent(value) for value in values]
        result = self._libpq.PQexecParams(
            self._connection,
            text,
            count,
            (ctypes.c_uint * count)(*map(_type_of, values)),
            (ctypes.c_char_p * count)(*sent),
            (ctypes.c_int * count)(*(len(one or b"") for one in sent)),
            (ctypes.c_int * count)(*(isinstance(value, bytes) for value in values)),
            0,
        )
        return self._rows(result)

    def _rows(self, address: int | None) -> "list[Row]":
        libpq, result = self._libpq, ctypes.c_void_p(address)
        try:
            if libpq.PQresultStatus(result) not in (_DONE, _HAS_ROWS):
                raise ServerError("the statement failed")
            columns = [
                (column, _READERS.get(libpq.PQftype(result, column), bytes.decode))
                for column in range(libpq.PQnfields(result))
            ]
            # A prompt may be compared with 20,000 rows. So each value is read by one call, without
            # functions of our own between.
            value, is_null = libpq.PQgetvalue, libpq.PQgetisnull
            return [
                tuple(
                    read(text)
                    if (text := value(result, row, column)) or not is_null(result, row, column)
                    else None
                    for column, read in columns
                )
                for row in range(libpq.PQntuples(result))
            ]
        finally:
            libpq.PQclear(result)

    def close(self) -> None:
        self._libpq.PQfinish(self._connection)
        self._connection = ctypes.c_void_p()


@lru_cache(maxsize=64)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with ``$1`` for the first name, and the names in that order."""
    names: dict[str, int] = {}

    def number(match: "re.Match[str]") -> str:
        name = match[1]
        return f"${names.setdefault(name, len(names) + 1)}" if name else match[0]

    return _MARKS.sub(number, sql).encode(), tuple(names)


def _texts(values: list[str]) -> "ctypes.Array[ctypes.c_char_p]":
    """Texts as C has them, with an end mark."""
    return (ctypes.c_char_p * (len(values) + 1))(*(one.encode() for one in values), None)


def _sent(value: "Any") -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    # The server takes a text up to its first NUL. No stored text has one.
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace")


def _type_of(value: "Any") -> int:
    """The type of a parameter. For a text it is 0: the server infers the type."""
    if isinstance(value, bool):
        return _BOOLEAN
    return _INTEGER if isinstance(value, int) else _BYTES if isinstance(value, bytes) else 0
