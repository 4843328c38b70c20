"""Translate one line of a Codex log into one record. The tables list all known kinds of lines."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from session_memory.adapters.base import Record
from session_memory.adapters.codex import messages, threads, tools, turns
from session_memory.adapters.codex.kinds import ENDED, TOOL_ITEMS
from session_memory.adapters.codex.lines import (
    Applied,
    Call,
    CodexMessage,
    Completed,
    Ended,
    EventText,
    LineKind,
    Output,
    Reasoning,
    SessionMeta,
    ThreadSettings,
    TokenCount,
    TurnRecord,
    UsageRecord,
    decode_as,
    decode_kind,
    decoder,
)
from session_memory.adapters.codex.reading import LogReading, Translate
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none

_DETAIL = 120

CALLS = (
    *("function_call", "custom_tool_call", "local_shell_call"),
    *("web_search_call", "tool_search_call", "image_generation_call"),
)
OUTPUTS = (
    *("function_call_output", "custom_tool_call_output", "local_shell_call_output"),
    "tool_search_output",
)

Entry = tuple[Translate, type[Any]]

_RESPONSE_ITEMS: dict[str, Entry] = {
    "message": (messages.message, CodexMessage),
    "agent_message": (messages.between_agents, CodexMessage),
    "reasoning": (messages.reasoning, Reasoning),
    **dict.fromkeys(OUTPUTS, (tools.output, Output)),
    **{kind: (tools.call_of(kind), Call) for kind in CALLS},
}
_EVENTS: dict[str, Entry] = {
    "user_message": (messages.user_message, EventText),
    "agent_message": (messages.agent_message, EventText),
    "agent_reasoning": (messages.agent_reasoning, EventText),
    "agent_reasoning_raw_content": (messages.agent_reasoning, EventText),
    "token_count": (turns.token_count, TokenCount),
    "task_started": (turns.task_started, TurnRecord),
    "task_complete": (turns.task_complete, TurnRecord),
    "turn_started": (turns.task_started, TurnRecord),
    "turn_complete": (turns.task_complete, TurnRecord),
    "turn_aborted": (turns.turn_aborted, TurnRecord),
    "thread_rolled_back": (turns.rolled_back, TurnRecord),
    "thread_settings_applied": (turns.settings_applied, Applied),
    "thread_name_updated": (turns.name_updated, EventText),
    "entered_review_mode": (turns.review_of(True), EventText),
    "exited_review_mode": (turns.review_of(False), EventText),
    "error": (turns.error, EventText),
    "stream_error": (turns.stream_error, EventText),
    "item_started": (turns.bookkeeping_of("item_started"), EventText),
    **{kind: (tools.ended_of(kind), Ended) for kind in ENDED},
}
_ITEMS: dict[str, Entry] = {
    "UserMessage": (messages.user_message_item, Completed),
    "AgentMessage": (messages.agent_message_item, Completed),
    "Reasoning": (messages.reasoning_item, Completed),
    "Plan": (turns.plan_item, Completed),
    **dict.fromkeys(TOOL_ITEMS, (tools.tool_item, Completed)),
}
_LINES: dict[str, Entry] = {
    "session_meta": (threads.session_meta, SessionMeta),
    "turn_context": (turns.turn_context, ThreadSettings),
    "token_usage_record": (turns.usage_record, UsageRecord),
}
# In a parent's copied history these kinds of lines are read: they tell the turn and the usage so
# far. All others are skipped.
_STILL_READ = (TurnRecord, ThreadSettings, TokenCount)
_UNKNOWN: Entry = (turns.unknown, EventText)
_STATE: Entry = (turns.bookkeeping_of("state"), EventText)
_OTHER_ITEM: Entry = (turns.other_item, Completed)
_DECODERS = {
    shape: decoder(shape)
    for entries in (_RESPONSE_ITEMS, _EVENTS, _ITEMS, _LINES)
    for _, shape in entries.values()
}


def strict_payload(line: bytes, within: str) -> Any:
    """Return the payload of a ``response_item`` of the type ``within``.

    Raises one of `session_memory.adapters.decoding.REFUSED` if a field has a wrong type.
    """
    return _DECODERS[_RESPONSE_ITEMS[within][1]][0](line).payload


def from_line(reading: LogReading, offset: int, length: int, line: bytes | None) -> Record:
    """Return the record of one line. For a line that cannot be read, the record has a problem."""
    if line is None:
        return Record(offset, length, reading.session, problem="line too long")
    try:
        kind, lenient = decode_kind(line)
        native_kind, translate, strict, is_bare = _entry_of(kind)
        native, dropped = decode_as(line, strict)
    except ValueError as error:
        detail = one_line(escaped(str(error)), _DETAIL)
        session = reading.session
        return Record(offset, length, session, problem="malformed line", problem_detail=detail)
    record = Record(offset, length, reading.session, lenient=lenient or dropped)
    reading.line = line
    if is_bare:
        record.ts = time_or_none(kind.timestamp) if kind.is_header else None
        _fill(reading, record, native, translate, None)
    else:
        record.ts = time_or_none(native.timestamp)
        _fill(reading, record, native.payload, translate, native.ordinal)
    for event in record.events:
        event.native_kind = event.native_kind or native_kind
    return record


def _fill(
    reading: LogReading, record: Record, payload: Any, translate: Translate, ordinal: int | None
) -> None:
    state = reading.state
    reading.after, state.lone = state.lone, ""
    if ordinal is not None and not 0 <= ordinal < threads.MOST_ORDINAL:
        ordinal = None
    before_own = ordinal is not None and ordinal < state.inherited_until
    if before_own and not state.is_in_own_turn and not isinstance(payload, _STILL_READ):
        record.bookkeeping = "inherited"
        return
    state.see_time(record.ts)
    if isinstance(payload, SessionMeta):
        threads.place(reading, payload, record, ordinal is not None)
    if ordinal is not None:
        record.ordinal = ordinal
        record.native_id = state.name_by_ordinal(ordinal)
    translate(reading, payload, record)
    if before_own and not state.is_in_own_turn:
        _inherit(record)
    elif record.events:
        reading.named(record, "o", reading.content)
        record.follows = True


def _inherit(record: Record) -> None:
    """Make the record bookkeeping: it is a copy of the parent's history, for a subagent's model."""
    record.events, record.usage, record.native_id = [], None, None
    record.bookkeeping = "inherited"


Found = tuple[str, Translate, Callable[[bytes], Any], bool]


def _entry_of(kind: LineKind) -> Found:
    """Return the native kind of a line, its translator, its decoder, and whether it is bare."""
    payload = kind.payload
    if payload is None:
        return _bare(kind.type, kind.is_header, bool(kind.record_type))
    return _enveloped(kind.type, payload.type, payload.item.type if payload.item else "")


@lru_cache(maxsize=1024)
def _enveloped(type: str, within: str, item: str) -> Found:
    native_kind, entry = within, _UNKNOWN
    match type:
        case "response_item":
            entry = _RESPONSE_ITEMS.get(within, _UNKNOWN)
        case "event_msg" if within == "item_completed":
            native_kind, entry = f"item/{item}", _ITEMS.get(item, _OTHER_ITEM)
        case "event_msg":
            entry = _EVENTS.get(within, _UNKNOWN)
        case _:
            native_kind, entry = type, _LINES.get(type, _UNKNOWN)
    return one_line(native_kind) or "untyped", entry[0], _DECODERS[entry[1]][0], False


@lru_cache(maxsize=1024)
def _bare(type: str, is_header: bool, is_state: bool) -> Found:
    """Return the same as `_entry_of` for a bare line of the first generation: an item of the model
    that is not in a ``payload``."""
    native_kind, entry = type, _RESPONSE_ITEMS.get(type, _UNKNOWN)
    if is_header:
        native_kind, entry = "header", _LINES["session_meta"]
    elif is_state:
        native_kind, entry = "state", _STATE
    return one_line(native_kind) or "untyped", entry[0], _DECODERS[entry[1]][1], True
