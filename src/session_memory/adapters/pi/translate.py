"""Translate one line of a pi log into one record."""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import msgspec

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import text_of, word
from session_memory.adapters.json_records import name_in, new_record, object_in_line, string
from session_memory.adapters.pi.layout import session_named
from session_memory.adapters.pi.messages import (
    message_events,
    model_of_message,
    usage_of_entry,
    usage_of_message,
    usage_of_summary,
)
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none


class PiState(msgspec.Struct):
    """What the adapter remembers after a line, to translate the next one.

    ``model`` is the model of the last answer.

    ``lineage`` identifies the first entry of the log. The ids of entries are short and only unique
    in their file, but a fork copies the first entry with the others. So two entries are copies of
    each other if they have the same id and the same first entry.
    """

    session: str = ""
    lineage: str = ""
    lines: int = 0
    model: str = ""


def from_line(
    ref: SourceRef, state: PiState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, state.session or escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    record.ts = time_or_none(native.get("timestamp"))
    if native.get("type") == "session":
        record.bookkeeping = "session"
        if not state.lines:
            _header(native, record, state)
    else:
        _entry(native, record, state)
    state.lines += 1
    return record


def _header(native: dict[str, Any], record: Record, state: PiState) -> None:
    state.session = name_in(native.get("id")) or state.session
    if state.session:
        record.session, unfit = fit_native_id(state.session)
        record.unfit_name = state.session if unfit else None
    record.cwd = string(native.get("cwd")) or None
    origin = string(native.get("parentSession")) or string(native.get("branchedFrom"))
    if origin:
        # The origin is a path. On Windows, backslashes separate its parts.
        parent = session_named(origin.replace("\\", "/").rpartition("/")[2])
        record.parent_session, record.relation = fit_native_id(parent)[0], "fork"


def _entry(native: dict[str, Any], record: Record, state: PiState) -> None:
    _identify(native, record, state)
    kind = native.get("type")
    message = native.get("message")
    if kind == "message" and isinstance(message, Mapping):
        record.usage = usage_of_message(message, record)
        if message.get("role") == "assistant":
            state.model = model_of_message(message)
        record.events = message_events(message)
        return
    if kind in ("compaction", "branch_summary"):
        record.usage = usage_of_summary(native, state.model, record)
    if kind == "usage":
        record.usage = usage_of_entry(native, record)
    record.events.append(_other(word(kind), native, record))


def _identify(native: dict[str, Any], record: Record, state: PiState) -> None:
    own, parent = string(native.get("id")), string(native.get("parentId"))
    if not own:
        # Entries in logs of version 1 have no ids. Their file, place and content identify them.
        record.follows = True
        return
    if not state.lineage:
        first = f"{own} {native.get('timestamp')}"
        state.lineage = f"{crc32(escaped(first).encode()):08x}"
    record.native_id = _entry_id(state, own)
    record.parent_id = _entry_id(state, parent) if parent and parent != own else None


def _entry_id(state: PiState, own: str) -> str:
    return fit_native_id(f"pi@{state.lineage}@{own}")[0]


def _other(kind: str, native: dict[str, Any], record: Record) -> NativeEvent:
    """Return the event of an entry that is no message: a setting, a summary, or data of an
    extension."""
    body = ""
    match kind:
        case "compaction" | "branch_summary":
            summary = body = string(native.get("summary"))
        case "model_change":
            summary = string(native.get("modelId"))
        case "thinking_level_change":
            summary = string(native.get("thinkingLevel"))
        case "session_info":
            summary = string(native.get("name"))
            record.facts = {"custom_title": summary or None}
        case "custom_message":
            summary = body = escaped(text_of(native.get("content")))
        case "usage":
            summary = string(native.get("kind"))
        case "custom":
            summary = string(native.get("customType"))
        case _:
            summary = string(native.get("label"))
    return NativeEvent("lifecycle", "system", one_line(summary), kind, body=body)
