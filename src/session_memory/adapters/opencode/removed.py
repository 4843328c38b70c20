"""Messages that opencode removed from its tables.

If a person takes prompts back, the next prompt removes them, their answers and the parts of both.
opencode also keeps an event for each change of a message, and these events stay.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from session_memory.adapters.json_records import mapping, name_in, string
from session_memory.adapters.opencode.units import (
    completed_at,
    created_at,
    data_of,
    message_unit,
    time_of,
)
from session_memory.adapters.row_journal import RowUnit

Rows = Callable[..., Iterator[dict[str, Any]]]

_REMOVED = """
    select data from event
    where aggregate_id = :id and type = 'message.removed.1' and seq > :after order by seq
"""
# A removed message may come back: then its events follow the one that removed it.
_CHANGED = """
    select type, data from event
    where aggregate_id = :id
        and type in ('message.updated.1', 'message.part.updated.1', 'message.part.removed.1')
    order by seq
"""
NEWEST_EVENT = "select max(seq) from event where aggregate_id = :id"
_COLUMNS = {"aggregate_id", "seq", "type", "data"}


def has_events(tables: dict[str, list[str]]) -> bool:
    """Whether a database with these tables and columns keeps an event for each change."""
    return set(tables.get("event", ())) >= _COLUMNS


def removed_units(rows: Rows, after: int, kept: Callable[[str], bool]) -> dict[str, RowUnit]:
    """Return the messages that were removed after the event ``after``, by their ids.

    ``rows`` runs a statement for the session. ``kept`` tells whether the message tables have a
    message.
    """
    gone = (name_in(data_of(row).get("messageID")) for row in rows(_REMOVED, after=after))
    names = {name for name in gone if name and not kept(name)}
    if not names:
        return {}
    infos: dict[str, dict[str, Any]] = {}
    parts: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    for row in rows(_CHANGED):
        data = data_of(row)
        info, part = mapping(data.get("info")), mapping(data.get("part"))
        if row["type"] == "message.updated.1":
            if (name := name_in(info.get("id"))) in names:
                infos[name] = info
        elif row["type"] == "message.part.updated.1":
            if (owner := name_in(part.get("messageID"))) in names:
                parts[owner][string(part.get("id"))] = {**part, "time_updated": data.get("time")}
        elif (owner := name_in(data.get("messageID"))) in names:
            parts[owner].pop(string(data.get("partID")), None)
    return {name: _unit(name, info, parts[name]) for name, info in infos.items()}


def _unit(name: str, info: dict[str, Any], parts: dict[str, dict[str, Any]]) -> RowUnit:
    """Return the unit of a removed message, with rows like those that its tables had."""
    part_rows = [_row(own, part) for own, part in sorted(parts.items())]
    at = max([created_at(info), completed_at(info), *(row["time_updated"] for row in part_rows)])
    row = {**_row(name, info), "time_created": created_at(info), "time_updated": at}
    return message_unit(row, part_rows, is_last=False)


def _row(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a message or part. The ids and times have columns of their own."""
    columns = ("id", "sessionID", "messageID", "time_updated")
    kept = {field: value for field, value in data.items() if field not in columns}
    row = {"id": name, "session_id": data.get("sessionID")}
    if "messageID" in data:
        row["message_id"] = data["messageID"]
    changed = time_of(data.get("time_updated"))
    return {**row, "time_updated": changed, "data": json.dumps(kept, ensure_ascii=False)}
