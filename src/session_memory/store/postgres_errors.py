"""Turn psycopg's exceptions into ours: a fact, and a hint with a command to run.

No message contains a password. libpq's message about an address that it cannot parse may quote a
part of the password, so that message is never shown.
"""

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from session_memory.core.errors import (
    SessionMemoryError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotFound,
)
from session_memory.store.address import shown

SHORTEST_MASKED = 4
# SQLSTATE codes by their meaning for us. See appendix A of the PostgreSQL documentation.
_FULL = {"53100", "53400"}
_BUSY = {"55P03", "40001", "40P01", "53300"}
_LOST = {"57P01", "57P02", "57P03", "25P03", "08000", "08003", "08006"}
_NOT_ALLOWED = {"42501"}
_READ_ONLY = {"25006"}
_DAMAGED = {"XX001", "XX002"}
_NO_SCHEMA = {"3F000"}


def bad_address(name: str) -> StoreError:
    hint = (
        "Write it as postgresql://user@host:5432/database; in a password, @ is %40, : is %3A,"
        " / is %2F, # is %23, ? is %3F, a blank is %20 and % is %25."
    )
    return StoreError(f"{name} is not the address of a PostgreSQL database", hint)


def to_store_error(
    error: psycopg.Error, url: str, options: dict[str, Any] | None = None
) -> SessionMemoryError:
    """Our exception for a psycopg error.

    ``options`` are the connection options, given only if the error happened while connecting.
    """
    name, state = shown(url), error.sqlstate or ""
    if state in _FULL:
        return StoreFull(name)
    if state in _BUSY:
        return StoreBusy(name)
    if state in _DAMAGED:
        return StoreDamaged(name, _message(error, url))
    if state in _NO_SCHEMA:
        hint = "Create the schema that is named in search_path: create schema …"
        return StoreError(f"{name} has no schema for the tables", hint)
    if state in _NOT_ALLOWED or state in _READ_ONLY:
        hint = "Let its owner run: grant all on schema … to …, and the same for all tables in it."
        return StoreError(f"{name} refuses: {_message(error, url)}", hint)
    if options is not None:
        return _no_connection(error, url, options)
    if state in _LOST or (isinstance(error, psycopg.OperationalError) and not state):
        hint = "The operation was rolled back. Check that the server runs, then try again."
        return StoreError(f"the connection to {name} was lost: {_message(error, url)}", hint)
    return StoreError(f"{name}: {_message(error, url)}")


def _no_connection(error: psycopg.Error, url: str, options: dict[str, Any]) -> StoreError:
    name, message = shown(url), _message(error, url)
    if "connection option" in message:
        return bad_address(name)
    if "does not exist" in message and "database" in message:
        missing = StoreNotFound(name)
        where = "".join(
            f" {flag} {options[key]}"
            for flag, key in (("-h", "host"), ("-p", "port"), ("-U", "user"))
            if options.get(key)
        )
        missing.hint = f"Create it with: createdb{where} {options.get('dbname', 'session_memory')}"
        return missing
    if "password" in message or "authentication" in message or "pg_hba" in message:
        hint = "Check the user and the password, in the address or in ~/.pgpass (mode 600)."
    elif "role" in message and "does not exist" in message:
        hint = f"Create the user with: createuser {options.get('user', 'NAME')}"
    elif "SSL" in message:
        hint = "sslmode does not fit the server: omit it, or set it to what the server supports."
    elif "translate host name" in message or "resolve" in message:
        hint = "Check the name of the host."
    else:
        hint = f"Check that the server runs: pg_isready -h {options.get('host', 'localhost')}"
        hint += f" -p {options.get('port', '5432')}"
    return StoreError(f"cannot connect to {name}: {message}", hint)


def _message(error: psycopg.Error, url: str) -> str:
    """The start of the server's message, with the password removed."""
    text = " ".join(str(error).split())[:500] or type(error).__name__
    try:
        password = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        return type(error).__name__
    if password and len(str(password)) < SHORTEST_MASKED:
        # Removing a very short password would make the message unreadable.
        return type(error).__name__
    return text.replace(str(password), "…") if password else text
