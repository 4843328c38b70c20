"""Translate one line of a Droid log into one record."""

import re
from typing import Any

import msgspec

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import ConversationMessage, events_of, text_of, word
from session_memory.adapters.json_records import (
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none

_CUSTOM = re.compile(r"custom:(.+)-\d+\Z")
_EXITED = re.compile(
    r"\AError: Command failed \(exit code: (\d{1,9})\)|\[Process exited with code (\d{1,9})\]\s*\Z"
)
_STOPPED = frozenset({"cancelled", "interrupted", "aborted", "user_cancelled", "user_interrupted"})
_CONTEXT = "context-"


class DroidState(msgspec.Struct):
    """The state from line to line: the id of the session, which only the first line has."""

    session: str = ""


def model_named(value: Any) -> str:
    """Return the name of a model. Droid logs a model that the user added as
    ``custom:<name>-<number>``."""
    name = name_in(value)
    custom = _CUSTOM.match(name)
    return custom[1] if custom else name


def from_line(
    ref: SourceRef, state: DroidState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, state.session or escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    record.ts = time_or_none(native.get("timestamp"))
    own, parent = name_in(native.get("id")), name_in(native.get("parentId"))
    kind = word(native.get("type"))
    if kind == "session_start":
        _start(native, record, state)
        return record
    if own:
        record.native_id = fit_native_id(own)[0]
        record.parent_id = fit_native_id(parent)[0] if parent and parent != own else None
    else:
        record.follows = True
    if kind == "message":
        record.events = _message(native, own)
    elif kind == "agent_turn_outcome":
        _outcome(native, record)
    else:
        text = string(native.get("summaryText")) or string(native.get("summary"))
        record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))
    return record


def _start(native: dict[str, Any], record: Record, state: DroidState) -> None:
    record.bookkeeping = "session_start"
    if not state.session and (named := name_in(native.get("id"))):
        state.session = named
        record.session, is_unfit = fit_native_id(named)
        record.unfit_name = named if is_unfit else None
    record.cwd = string(native.get("cwd")) or None
    title = string(native.get("sessionTitle")) or string(native.get("title"))
    if native.get("isSessionTitleManuallySet") is True and title:
        record.facts = {"custom_title": title}
    caller, origin = string(native.get("callingSessionId")), string(native.get("parent"))
    if caller:
        record.parent_session = fit_native_id(caller)[0]
        record.spawn_call_id = string(native.get("callingToolUseId")) or None
    elif origin:
        record.parent_session, record.relation = fit_native_id(origin)[0], "fork"


def _message(native: dict[str, Any], own: str) -> list[NativeEvent]:
    message = mapping(native.get("message"))
    if message.get("visibility") == "user_only":
        # Droid writes this message for the person when a request failed.
        text = escaped(text_of(message.get("content")))
        event = NativeEvent("error", "system", one_line(text), "notice", is_error=True, body=text)
        return [event]
    events = events_of(
        ConversationMessage(
            role=word(message.get("role")),
            content=message.get("content"),
            model=model_named(message.get("modelId")) or None,
            is_injected=own.startswith(_CONTEXT),
            tells_errors=True,
        )
    )
    for event in events:
        if event.role == "tool" and (exited := _EXITED.search(event.text)):
            code = int(exited[1] or exited[2])
            # Droid marks every call that failed. In any other result, such words are only a part of
            # the output.
            event.exit_code = code if event.is_error or not code else None
    return events


def _outcome(native: dict[str, Any], record: Record) -> None:
    """Translate the line that says how a turn ended. The line becomes an event only if a person
    stopped the turn: otherwise the last answer shows the end."""
    reason = string(native.get("reason"))
    record.bookkeeping = "agent_turn_outcome"
    if reason in _STOPPED:
        event = NativeEvent("human_intervention", "user", one_line(reason), "stopped", body=reason)
        event.is_interrupt = True
        record.events, record.bookkeeping = [event], None
