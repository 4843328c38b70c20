"""Translate one line of mycode's ``messages.jsonl`` into one record."""

from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage, Record, SourceRef
from session_memory.adapters.conversation import (
    ConversationMessage,
    events_of,
    text_of,
    usage_of,
    word,
)
from session_memory.adapters.json_records import new_record, object_in_line
from session_memory.adapters.mycode.visible import Visible
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none

# After a compaction, releases up to 0.4 showed two messages: the summary and an answer to it.
STANDS_FOR_SUMMARY = 2


def from_line(
    ref: SourceRef, visible: Visible, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``visible``, the list of visible messages."""
    record = new_record(offset, length, ref.session)
    visible.lines += 1
    # mycode skips a line that is no object, so such a line is not in its list.
    native = object_in_line(record, line)
    if native is None:
        return record
    meta = native.get("meta")
    _translate(native, meta if isinstance(meta, dict) else {}, record, visible)
    return record


def _translate(
    native: dict[str, Any], meta: dict[str, Any], record: Record, visible: Visible
) -> None:
    record.ts = time_or_none(meta.get("created_at"))
    role = native.get("role")
    if role == "rewind":
        _rewind(meta, record, visible)
        return
    before, number = visible.last, visible.lines - 1
    record.native_id, record.ordinal = line_id(record.session, number), number
    record.parent_id = None if before is None else line_id(record.session, before)
    if role == "compact":
        _compact(native, meta, record, visible, number)
        return
    visible.add(number)
    record.usage = usage_in(meta, record.native_id)
    message = ConversationMessage(
        role=role if isinstance(role, str) else "untyped",
        content=native.get("content"),
        model=_text(meta, "model"),
        response_id=None if record.usage is None else record.usage.usage_id,
        is_injected=bool(meta.get("synthetic") or meta.get("skill_snapshot") or meta.get("job")),
    )
    record.events = events_of(message)


def _compact(
    native: dict[str, Any], meta: dict[str, Any], record: Record, visible: Visible, number: int
) -> None:
    """Add the summary of a compaction. In logs of old releases (with ``compacted_count``), the
    summary replaces all visible messages. A later rewind counts the visible messages."""
    if "compacted_count" in meta:
        visible.runs = [(number, number)] * STANDS_FOR_SUMMARY
    else:
        visible.add(number)
    record.usage = usage_in(meta, record.native_id)
    text = escaped(text_of(native.get("content")))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), "compact", body=text))


def _rewind(meta: dict[str, Any], record: Record, visible: Visible) -> None:
    to = meta.get("rewind_to", 0)
    if isinstance(to, bool) or not isinstance(to, int):
        event = NativeEvent("lifecycle", "user", f"to {one_line(escaped(str(to)), 40)}", "rewind")
        record.events.append(event)
        return
    visible.cut(to)
    last = visible.last
    record.follows = True
    record.stands_at = "" if last is None else line_id(record.session, last)
    event = NativeEvent("human_intervention", "user", f"back to message {to}", "rewind")
    record.events.append(event)


def usage_in(meta: dict[str, Any], native_id: str | None) -> NativeUsage | None:
    """Return the usage in the metadata of a line, or None."""
    used = meta.get("usage")
    if not isinstance(used, dict) or not used:
        return None
    usage_id = _text(meta, "provider_message_id") or f"mycode@{native_id}"
    return usage_of(usage_id, _text(meta, "model"), used)


def line_id(session: str, number: int) -> str:
    return f"mycode@{session}@{number}"


def _text(native: dict[str, Any], name: str) -> str | None:
    value = native.get(name)
    return word(value) if isinstance(value, str) and value else None
