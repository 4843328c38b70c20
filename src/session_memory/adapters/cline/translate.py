"""Translate the messages of a Cline document into records."""

from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.cline.messages import events_of_message, mode_in, usage_of_message
from session_memory.adapters.documents import DocumentReader
from session_memory.adapters.json_records import mapping, moment, name_in, string
from session_memory.adapters.written_messages import WrittenMessages
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped


def _session(ref: SourceRef, state: WrittenMessages) -> str:
    return state.session or escaped(ref.session)


def _around(
    ref: SourceRef, state: WrittenMessages, record: Record, members: dict[str, Any]
) -> None:
    """Fill in the record of the fields before the messages: session, parent, version. The fields
    after the messages only repeat the system prompt."""
    if "sessionId" not in members:
        return
    origin = mapping(members.get("origin"))
    state.session = name_in(members["sessionId"]) or state.session
    state.parent = name_in(origin.get("parentThreadId"))
    if state.session:
        record.session, is_unfit = fit_native_id(state.session)
        record.unfit_name = state.session if is_unfit else None
    record.agent_version = string(origin.get("version")) or None
    if state.parent:
        record.parent_session = fit_native_id(state.parent)[0]


def _message(
    ref: SourceRef, state: WrittenMessages, record: Record, message: dict[str, Any]
) -> None:
    record.ts = moment(message.get("ts"))
    record.usage = usage_of_message(message)
    events = events_of_message(message)
    mode = mode_in(message)
    for event in events:
        if mode and event.is_prompt and state.mode not in ("", mode):
            event.kind, event.marks = "decision", ("user_msg",)
    state.mode = mode or state.mode
    state.add(record, name_in(message.get("id")), events)


def _back(
    ref: SourceRef, state: WrittenMessages, record: Record, message: dict[str, Any] | None
) -> None:
    state.go_back(record, "" if message is None else name_in(message.get("id")))


def _copy(ref: SourceRef, state: WrittenMessages, record: Record, message: object) -> None:
    """Make the record bookkeeping. The document holds what the model gets after a compaction: a
    summary and copies of the session's messages."""
    record.events, record.bookkeeping = [], "history"


def _own_name(ref: SourceRef, state: WrittenMessages) -> str:
    return escaped(ref.session)


READER: DocumentReader[WrittenMessages] = DocumentReader(_session, _message, _around, _back)
COPY_READER: DocumentReader[WrittenMessages] = DocumentReader(
    _own_name, _copy, lambda ref, state, record, members: None, _copy
)
