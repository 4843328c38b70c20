"""Reading a line that a strict, typed decoder refused: what offends is dropped, the rest is kept.

The raw keeps the line whole either way. ``ValueError`` is for what is no record at all.
"""

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from session_memory.adapters.jsonl import decode_anything
from session_memory.core.text import escaped

T = TypeVar("T")

MOST_DROPPED = 40
_PLACE = re.compile(r"at `\$([^`]*)`")


def decode_leniently(line: bytes, strict: Callable[[bytes], T]) -> T:
    """The record without the fields that have another type than they should."""
    record = decode_anything(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}, not an object")
    try:
        record = _representable(record)
        for _ in range(MOST_DROPPED):
            try:
                return strict(json.dumps(record).encode())
            except msgspec.ValidationError as error:
                place = _PLACE.search(str(error))
                if place is None or not _drop(record, place[1]):
                    raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    raise ValueError("too many fields of an unexpected type")


def _drop(record: dict[str, Any], place: str) -> bool:
    """Remove the field that ``place`` points to; a place inside a list or a map of any keys
    removes that as a whole."""
    rest = place.partition("[")[0].strip(".")
    owner: Any = record
    while isinstance(owner, dict):
        # A name may hold dots itself, as "x.ai/tool" does.
        found = [name for name in owner if rest == name or rest.startswith(f"{name}.")]
        if not found:
            break
        name = max(found, key=len)
        if rest == name:
            del owner[name]
            return True
        owner, rest = owner[name], rest[len(name) + 1 :]
    return False


def _representable(value: Any) -> Any:
    """The same value without NaN, infinities, huge integers and lone surrogates."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_representable(key): _representable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_representable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return None
    return value
