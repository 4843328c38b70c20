"""Helpers for adapters that read each line of a log as a plain JSON object."""

from typing import Any
from zlib import crc32

from session_memory.adapters.base import Record
from session_memory.adapters.decoding import refuse_many_parts
from session_memory.adapters.jsonl import decode_anything
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import MAX_MS, MIN_MS, time_or_none

_DETAIL = 120
_LONGEST_NAME = 200
MOST_INTEGER = 1 << 31


def new_record(offset: int, length: int, session: str) -> Record:
    """Return an empty record of the session ``session``, which need not be a valid id."""
    fit, is_unfit = fit_native_id(session)
    return Record(offset, length, fit, unfit_name=session if is_unfit else None)


def object_in_line(record: Record, line: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object in a line. For anything else, set the problem of ``record`` and return
    None."""
    if line is None:
        record.problem = "line too long"
        return None
    try:
        refuse_many_parts(line)
        native = decode_anything(line)
        if not isinstance(native, dict):
            raise ValueError(f"a JSON {type(native).__name__}, not an object")
    except ValueError as error:
        record.problem, record.problem_detail = "malformed line", one_line(str(error), _DETAIL)
        return None
    record.check = crc32(line)
    return native


def string(value: Any) -> str:
    """Return the value if it is a text, else an empty text. Characters that a database refuses are
    escaped."""
    return escaped(value) if isinstance(value, str) else ""


def name_in(value: Any) -> str:
    """Return a name or an id that is short enough for a cursor: a long text becomes a hash."""
    text = string(value)
    return text if len(text) <= _LONGEST_NAME else fit_native_id(text)[0]


def parts_of(content: Any) -> list[dict[str, Any]]:
    """Return the parts of a message's content as objects.

    The content is a text, one part, or a list of texts and parts. A text becomes ``{"text": …}``.
    """
    listed = content if isinstance(content, list) else [content]
    return [{"text": one} if isinstance(one, str) else mapping(one) for one in listed]


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """Return the value if it is an integer between -2^31 and 2^31, such as an exit code; else
    None."""
    return value if type(value) is int and abs(value) < MOST_INTEGER else None


def moment(value: Any) -> int | None:
    """Return a logged time as milliseconds since the epoch. ``value`` is a number of milliseconds
    or a text; None for any other value and for a time outside of the years 1 to 9999."""
    if type(value) is int or isinstance(value, float):
        return int(value) if MIN_MS <= value <= MAX_MS else None
    return time_or_none(value)
