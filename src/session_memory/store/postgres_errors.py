"""What psycopg raises as exceptions of ours: a fact, and a hint with the command to run.

No password gets into a message. What libpq says about an address that it cannot read may quote a
part of one, so that is never passed on.
"""

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from session_memory.core.errors import (
    SessionMemoryError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNotFound,
)
from session_memory.store.address import shown

# SQLSTATEs, by what they mean to us: docs of PostgreSQL, appendix A.
SHORTEST_MASKED = 4
_FULL = {"53100", "53400"}
_BUSY = {"55P03", "40001", "40P01", "53300"}
_LOST = {"57P01", "57P02", "57P03", "25P03", "08000", "08003", "08006"}
_NOT_ALLOWED = {"42501"}
_READ_ONLY = {"25006"}
_NO_SCHEMA = {"3F000"}


def bad_address(name: str) -> StoreError:
    hint = (
        "Write it as postgresql://user@host:5432/database; in a password, @ is %40, : is %3A,"
        " / is %2F, # is %23 and % is %25."
    )
    return StoreError(f"{name} is no address of a PostgreSQL database", hint)


def to_store_error(
    error: psycopg.Error, url: str, told: dict[str, Any] | None = None
) -> SessionMemoryError:
    """The driver's exception as ours. ``told`` is what the address said, when connecting."""
    name, state = shown(url), error.sqlstate or ""
    if state in _FULL:
        return StoreFull(name)
    if state in _BUSY:
        return StoreBusy(name)
    if state in _NO_SCHEMA:
        hint = "Create the schema that search_path names: create schema …"
        return StoreError(f"{name} has no schema to put tables in", hint)
    if state in _NOT_ALLOWED or state in _READ_ONLY:
        hint = "Its owner can allow it: grant all on schema … to …, and on all tables in it."
        return StoreError(f"{name} refuses: {_words(error, url)}", hint)
    if told is not None:
        return _no_connection(error, url, told)
    if state in _LOST or (isinstance(error, psycopg.OperationalError) and not state):
        hint = "What was not finished was not kept. See that the server runs, then try again."
        return StoreError(f"the connection to {name} was lost: {_words(error, url)}", hint)
    return StoreError(f"{name}: {_words(error, url)}")


def _no_connection(error: psycopg.Error, url: str, told: dict[str, Any]) -> StoreError:
    name, words = shown(url), _words(error, url)
    if "connection option" in words:
        return bad_address(name)
    if "does not exist" in words and "database" in words:
        missing = StoreNotFound(name)
        where = "".join(
            f" {flag} {told[key]}"
            for flag, key in (("-h", "host"), ("-p", "port"), ("-U", "user"))
            if told.get(key)
        )
        missing.hint = f"Create it with: createdb{where} {told.get('dbname', 'session_memory')}"
        return missing
    if "password" in words or "authentication" in words or "pg_hba" in words:
        hint = "Check the user and the password, in the address or in ~/.pgpass (mode 600)."
    elif "role" in words and "does not exist" in words:
        hint = f"Create the user with: createuser {told.get('user', 'NAME')}"
    elif "SSL" in words:
        hint = "The server and sslmode disagree: leave it out, or set it to what the server has."
    elif "translate host name" in words or "resolve" in words:
        hint = "Check the name of the host."
    else:
        hint = f"See that the server runs: pg_isready -h {told.get('host', 'localhost')}"
        hint += f" -p {told.get('port', '5432')}"
    return StoreError(f"cannot connect to {name}: {words}", hint)


def _words(error: psycopg.Error, url: str) -> str:
    """The first lines of what the server said, the password taken out wherever it stands."""
    text = " ".join(str(error).split())[:500] or type(error).__name__
    try:
        password = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        return type(error).__name__
    if password and len(str(password)) < SHORTEST_MASKED:
        # Taken out letter by letter, nothing would be left that one can read.
        return type(error).__name__
    return text.replace(str(password), "…") if password else text
