"""What adapters share that read the lines of a log as plain JSON objects."""

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
    """A record of the session with this name, whatever the name is."""
    fit, is_unfit = fit_native_id(session)
    return Record(offset, length, fit, unfit_name=session if is_unfit else None)


def object_in_line(record: Record, line: bytes | None) -> dict[str, Any] | None:
    """The object in a line. None for anything else, which becomes a problem of the record."""
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
    """The value if it is a text, in a form that every database can hold; else an empty one."""
    return escaped(value) if isinstance(value, str) else ""


def name_in(value: Any) -> str:
    """A name or an id that a cursor can hold: one that is too long becomes its hash."""
    text = string(value)
    return text if len(text) <= _LONGEST_NAME else fit_native_id(text)[0]


def parts_of(content: Any) -> list[dict[str, Any]]:
    """The parts of a content, which is a text, one part, or a list of texts and parts."""
    listed = content if isinstance(content, list) else [content]
    return [{"text": one} if isinstance(one, str) else mapping(one) for one in listed]


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """The value if it is a small integer, such as an exit code."""
    return value if type(value) is int and abs(value) < MOST_INTEGER else None


def moment(value: Any) -> int | None:
    """A logged time: milliseconds since the epoch, or a text. None for anything else."""
    if type(value) is int or isinstance(value, float):
        return int(value) if MIN_MS <= value <= MAX_MS else None
    return time_or_none(value)
