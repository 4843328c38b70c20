"""Read the settings and the current round of each session in a database of power-loop.

An import as live sessions needs them. A sync does not read them: settings may contain credentials,
which must never become part of a collected log.
"""

import json
from pathlib import Path
from typing import Any

import apsw

from session_memory.adapters.power_loop.tables import columns, prefixes
from session_memory.core.ids import fit_native_id

# The table's name in release 0.2, and in release 8.
_STATES = ("session_state", "session_runtime_state")


def settings(database: Path) -> dict[str, dict[str, Any]]:
    """Return ``config`` and ``round_index`` of each session by its id.

    ``database`` is the path of a copy.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        db = apsw.Connection(str(database))
        try:
            db.execute("pragma trusted_schema = off")
            for prefix in prefixes(db):
                _add_configs(db, prefix, found)
                _add_rounds(db, prefix, found)
        finally:
            db.close()
    except apsw.Error as error:
        raise OSError(f"{database.name} cannot be read: {error}") from error
    return found


def _add_configs(db: apsw.Connection, prefix: str, found: dict[str, dict[str, Any]]) -> None:
    if "config_json" not in columns(db, f"{prefix}sessions"):
        return
    for name, text in db.execute(f'select session_id, config_json from "{prefix}sessions"'):
        config = _object(text)
        if config:
            found.setdefault(_native(name), {})["config"] = config


def _add_rounds(db: apsw.Connection, prefix: str, found: dict[str, dict[str, Any]]) -> None:
    for table in (f"{prefix}{name}" for name in _STATES):
        if "round_index" not in columns(db, table):
            continue
        for name, number in db.execute(f'select session_id, round_index from "{table}"'):
            if isinstance(number, int):
                found.setdefault(_native(name), {})["round_index"] = number


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _native(name: Any) -> str:
    return fit_native_id(str(name))[0]
