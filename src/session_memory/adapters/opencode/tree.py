"""Read the sessions of opencode before 1.2: a file for each session, message and part."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from session_memory.adapters.opencode.units import lineage, message_unit
from session_memory.adapters.row_journal import JournalState, RowUnit

SESSIONS = "storage/session"
LONGEST = 64 * 1024 * 1024


def stamp_of(path: Path) -> int:
    """Return the stamp of a session: a number that changes with every turn of the session.

    It is made from the times of two paths: in each turn, opencode writes the session's own file
    again, and adds a file for each message to a directory.
    """
    status = path.stat()
    messages = _messages(path)
    counted = messages.stat().st_mtime_ns if messages.is_dir() else 0
    return (status.st_mtime_ns + counted % 1_000_000_007) % (1 << 62)


def changed_units(path: Path, state: JournalState) -> Iterator[RowUnit]:
    """Yield the units of a session that may need a line in the journal: the session, then messages
    in the order of their ids."""
    session = _row(path)
    files = sorted(_messages(path).glob("msg_*.json"))
    stays = state.stays
    found = []
    for number, file in enumerate(files):
        message = {**_row(file), "session_id": path.stem}
        parts = [_row(one) for one in sorted(_parts(path, file.stem).glob("prt_*.json"))]
        found.append(message_unit(message, parts, is_last=number == len(files) - 1))
    if not any(unit.rows["parts"] for unit in found):
        return
    rows = {"table": "session", "row": {**session, "project_id": path.parent.name}}
    rows["first"] = lineage(found[0].rows["row"], found[0].rows["parts"])
    yield RowUnit("", session["time_updated"], rows)
    for unit in found:
        if unit.at >= state.looked_from or unit.key in state.open or unit.key == stays:
            yield unit


def _row(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        changed = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
        text = file.read(LONGEST).decode("utf-8", "backslashreplace")
    return {"id": path.stem, "time_updated": changed, "data": text}


def _storage(path: Path) -> Path:
    return path.parent.parent.parent


def _messages(path: Path) -> Path:
    return _storage(path) / "message" / path.stem


def _parts(path: Path, message: str) -> Path:
    return _storage(path) / "part" / message
