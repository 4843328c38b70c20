"""Whether only our parts went from a file of settings that the agent itself had changed as well."""

import json
import tomllib
from pathlib import PurePath
from typing import Any

OURS = "session-memory"


def not_only_ours(name: str, used: bytes, after: bytes) -> str | None:
    """What is wrong with a file after `uninstall`; None if it only lacks our parts."""
    if OURS.encode() in after:
        return "our parts are still there"
    read = {".toml": tomllib.loads, ".json": json.loads}.get(PurePath(name).suffix)
    if read is None:
        return None
    try:
        expected, found = _without_ours(read(used.decode())), _without_ours(read(after.decode()))
    except ValueError as error:
        return f"it cannot be read: {error}"
    return None if expected == found else "more than our parts went"


def _without_ours(value: Any) -> Any:
    """A value without our keys and entries, and without lists and tables that are empty then."""
    if isinstance(value, dict):
        kept = {key: _without_ours(inner) for key, inner in value.items() if key != OURS}
        return {key: inner for key, inner in kept.items() if inner not in ({}, [])}
    if isinstance(value, list):
        return [_without_ours(one) for one in value if OURS not in json.dumps(one, default=str)]
    return value
