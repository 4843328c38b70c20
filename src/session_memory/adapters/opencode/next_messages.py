"""Messages of opencode's next interface, in the form of the messages that `messages` reads.

Sessions that a client started with `/api/session` have their messages in the table
`session_message`: one row for each message, with all its content.
"""

from typing import Any

from session_memory.adapters.json_records import items, mapping, string
from session_memory.adapters.opencode.messages import ABORTED, message_blocks
from session_memory.adapters.opencode.units import (
    data_of,
    is_unfinished,
    lineage_of,
    time_of,
)
from session_memory.adapters.row_journal import RowUnit

ROLES = ("user", "assistant")
_STOPPED = "Provider turn interrupted"
Message = tuple[dict[str, Any], list[dict[str, Any]]]


def next_message(row: dict[str, Any]) -> Message | None:
    """Return the message in a row with its parts; None for a row of another type, such as a change
    of the model."""
    role, data = row.get("type"), data_of(row)
    if role not in ROLES:
        return None
    info: dict[str, Any] = {"id": row.get("id"), "role": role, "time": data.get("time")}
    if role == "user":
        return info, list(_prompt(data))
    model = mapping(data.get("model"))
    info |= {"modelID": model.get("id"), "providerID": model.get("providerID")}
    info |= {name: data[name] for name in ("finish", "tokens", "cost") if name in data}
    if error := mapping(data.get("error")):
        text = string(error.get("message"))
        name = ABORTED if text == _STOPPED else string(error.get("type"))
        info["error"] = {"name": name, "data": {"message": text}}
    content = enumerate(map(mapping, items(data.get("content"))))
    return info, [_part(number, part) for number, part in content]


def _prompt(data: dict[str, Any]) -> list[dict[str, Any]]:
    files = (mapping(one) for one in items(data.get("files")))
    named = [
        {"type": "file", "filename": one.get("name"), "mime": one.get("mime")} for one in files
    ]
    parts = [{"type": "text", "text": data.get("text")}, *named]
    return [{**part, "id": f"part-{number}"} for number, part in enumerate(parts)]


def _part(number: int, part: dict[str, Any]) -> dict[str, Any]:
    times = mapping(part.get("time"))
    ended = {"end": times["completed"]} if "completed" in times else {}
    if part.get("type") != "tool":
        return {**part, "id": f"part-{number}", "time": ended}
    state = mapping(part.get("state"))
    text = (string(mapping(one).get("text")) for one in items(state.get("content")))
    told = {
        "status": state.get("status"),
        "input": state.get("input"),
        "output": "\n".join(filter(None, text)),
        "error": mapping(state.get("error")).get("message"),
        "metadata": state.get("structured"),
        "time": {"start": times.get("ran"), **ended},
    }
    name = {"tool": part.get("name"), "callID": part.get("id")}
    return {"type": "tool", "id": f"part-{number}", **name, "state": told}


def next_unit(row: dict[str, Any], *, is_last: bool) -> RowUnit:
    """Return the unit of a row. Its key comes after those of all other messages."""
    at = time_of(row.get("time_updated"))
    unit = RowUnit(
        f"zz-{time_of(row.get('seq')):012}", at, {"table": "session_message", "row": row}
    )
    message = next_message(row)
    if is_last and message is not None and is_unfinished(message[0]):
        unit.is_open = True
        unit.blocks = tuple(name for name, _ in message_blocks(*message, is_open=True))
    return unit


def next_lineage(row: dict[str, Any]) -> str:
    """Return the text that identifies the first message of a session."""
    message = next_message(row)
    return lineage_of(*message) if message is not None else ""
