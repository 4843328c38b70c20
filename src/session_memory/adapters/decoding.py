"""Decode a line into a typed value: strictly if possible, else leniently.

The strict decoder is fast and reads nearly every line. The lenient decoder leaves out the fields
that have a wrong type. `decode_line` returns which of the two was used. The stored logs keep the
whole line in both cases.
"""

import json
import math
import re
from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

import msgspec

from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.token_counts import short_number
from session_memory.core.text import escaped

T = TypeVar("T")

# The exceptions of a strict decoder for a line that it does not accept.
REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
MOST_DROPPED = 40
LONG_LINE = 2 * 1024 * 1024
MOST_PARTS = 500_000
_PLACE = re.compile(r"at `\$([^`]*)`")
_COUNTS = ("tokens", "_requests")
_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+"|,')


def _unchanged(record: dict[str, Any]) -> None:
    """Change nothing: the default ``repair`` of `decode_line`."""


def decode_line(
    line: bytes,
    strict: Callable[[bytes], T],
    repair: Callable[[dict[str, Any]], None] = _unchanged,
) -> tuple[T, bool]:
    """Return the value of a line, and whether it had to be read leniently.

    ``repair`` changes a record in place before it is read leniently. Raises ``ValueError`` if the
    line is no record.
    """
    if len(line) > LONG_LINE:
        refuse_many_parts(line)
    try:
        return strict(line), False
    except REFUSED:
        return decode_leniently(line, strict, repair), True


def refuse_many_parts(line: bytes) -> None:
    """Raise ``ValueError`` for a long line of many tiny parts.

    A long line usually holds one long text. A line of many tiny parts takes thirty times its size
    in memory when it is decoded.
    """
    if len(line) > LONG_LINE and has_many_parts(line):
        raise ValueError(f"more than {MOST_PARTS:,} parts")


def has_many_parts(line: bytes) -> bool:
    """Whether a line has more than ``MOST_PARTS`` commas outside of texts."""
    if line.count(b",") <= MOST_PARTS:
        return False
    commas = (match for match in _TEXT_OR_COMMA.finditer(line) if match.end() - match.start() == 1)
    return next(islice(commas, MOST_PARTS, None), None) is not None


def decode_leniently(
    line: bytes,
    strict: Callable[[bytes], T],
    repair: Callable[[dict[str, Any]], None] = _unchanged,
) -> T:
    """Return the record of a line without the fields that have a wrong type."""
    record = decode_anything(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}, not an object")
    try:
        record = _representable(record)
        repair(record)
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
    """Remove the field at ``place``, and return whether there was one. For a place inside a list,
    remove the whole list."""
    rest = place.partition("[")[0].strip(".")
    owner: Any = record
    while isinstance(owner, dict):
        # A name may contain dots, as "x.ai/tool" does.
        fitting = [name for name in owner if rest == name or rest.startswith(f"{name}.")]
        if not fitting:
            break
        name = max(fitting, key=len)
        if rest == name:
            del owner[name]
            return True
        owner, rest = owner[name], rest[len(name) + 1 :]
    return False


def _representable(value: Any, name: str = "") -> Any:
    """Return the value of the field ``name`` without what strict JSON and the databases cannot
    hold. NaN, infinities and integers too large for 64 bits with a sign become None, or a text in a
    field with a count of tokens. Lone surrogates become escapes."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_representable(key): _representable(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_representable(item) for item in value]
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    is_huge = isinstance(value, int) and abs(value) >= 1 << 63
    if is_infinite or is_huge:
        # A token count is kept as text: `NativeUsage` rejects it and says what it was.
        return short_number(value) if name.lower().endswith(_COUNTS) else None
    return value
