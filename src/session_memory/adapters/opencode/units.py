"""Make the rows of a message and its parts one unit of the journal, and read the data in rows."""

from typing import Any
from zlib import crc32

import msgspec

from session_memory.adapters.json_records import mapping
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.opencode.messages import message_blocks
from session_memory.adapters.row_journal import RowUnit

_decode = msgspec.json.Decoder().decode


def message_unit(message: dict[str, Any], parts: list[dict[str, Any]], *, is_last: bool) -> RowUnit:
    """Return the unit of a message. Only the last message of a session can still be written."""
    info = data_of(message)
    # opencode writes the parts of a prompt after the prompt itself.
    is_open = is_last and (is_unfinished(info) or (info.get("role") == "user" and not parts))
    rows = {"table": "message", "row": message, "parts": parts}
    at = max(time_of(row.get("time_updated")) for row in (message, *parts))
    unit = RowUnit(str(message["id"]), at, rows, is_open=is_open)
    if is_open:
        blocks = message_blocks(info, parts_of(parts), is_open=True)
        unit.blocks = tuple(name for name, _ in blocks)
    return unit


def is_unfinished(info: dict[str, Any]) -> bool:
    """Whether a message is an answer that opencode is still writing."""
    is_answer = info.get("role") == "assistant"
    return is_answer and not completed_at(info) and not info.get("error")


def completed_at(info: dict[str, Any]) -> int:
    """Return the time at which an answer was complete; 0 if it is not complete."""
    return time_of(mapping(info.get("time")).get("completed"))


def created_at(info: dict[str, Any]) -> int:
    return time_of(mapping(info.get("time")).get("created"))


def data_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the object in the column ``data`` of a row; an empty object if there is none."""
    data = row.get("data")
    if not isinstance(data, str):
        return mapping(data)
    try:
        return mapping(_decode(data))
    except (ValueError, RecursionError):
        # The text is not strict JSON, or no JSON.
        return _decoded(data)


def _decoded(data: str) -> dict[str, Any]:
    try:
        return mapping(decode_anything(data.encode("utf-8", "surrogatepass")))
    except ValueError:
        return {}


def parts_of(rows: list[Any]) -> list[dict[str, Any]]:
    """Return the parts of a message from their rows, each with its id."""
    return [{**data_of(row), "id": row.get("id")} for row in map(mapping, rows)]


def lineage(message: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """Return `lineage_of` the first message of a session, given the rows of the message."""
    return lineage_of(data_of(message), parts_of(parts))


def lineage_of(info: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    """Return a text that identifies the first message of a session: its time and a checksum of its
    text. A fork's copy of the message gives the same text."""
    texts = [str(part.get("text")) for part in parts if part.get("type") == "text"]
    words = "\n".join(texts).encode("utf-8", "surrogatepass")
    return f"{created_at(info)}.{crc32(words):08x}"


def time_of(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 1 << 43 else 0
