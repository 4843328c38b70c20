"""Translate one line of a Gemini log, or one message of an old document, into one record."""

import re
from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.event_text import event_text
from session_memory.adapters.gemini.messages import (
    SESSION_CONTEXT,
    children,
    events_of_message,
    is_target,
    prompt_in,
    usage_of_message,
)
from session_memory.adapters.gemini.state import GeminiState
from session_memory.adapters.json_records import (
    items,
    mapping,
    name_in,
    new_record,
    object_in_line,
    parts_of,
    string,
)
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none

_WORKSPACE = re.compile(r"\*\*Workspace Directories:\*\*\n  - (\S.{0,1000})")


def from_line(
    ref: SourceRef, state: GeminiState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, session_of(ref, state))
    native = object_in_line(record, line)
    if native is None:
        return record
    if "$set" in native:
        _changed(ref, mapping(native["$set"]), record, state)
    elif "$rewindTo" in native:
        _rewound(name_in(native["$rewindTo"]), record, state)
    elif "sessionId" in native and "type" not in native:
        _header(ref, native, record, state)
    else:
        _message(native, record, state)
    return record


def session_of(ref: SourceRef, state: GeminiState) -> str:
    return state.session or escaped(ref.session)


def from_message(
    ref: SourceRef, state: GeminiState, record: Record, message: dict[str, Any]
) -> None:
    """Fill in the record of a message in a document, and update ``state``."""
    _message(message, record, state)


def from_members(
    ref: SourceRef, state: GeminiState, record: Record, members: dict[str, Any]
) -> None:
    """Fill in the record of a document's fields about its session, and update ``state``."""
    if "sessionId" in members:
        _header(ref, members, record, state)
    if title := string(members.get("summary")):
        record.facts = {"ai_title": one_line(title)}


def go_back(
    ref: SourceRef, state: GeminiState, record: Record, message: dict[str, Any] | None
) -> None:
    """Note in the record that a document lost its last messages, and update ``state``. The document
    ends with ``message`` now."""
    own = name_in(message.get("id")) if message is not None else ""
    times = state.written.get(own, 1) - 1
    state.last = fit_native_id(f"{own}+{times}" if times else own)[0] if own else ""
    record.follows, record.stands_at = True, state.last


def _header(ref: SourceRef, native: dict[str, Any], record: Record, state: GeminiState) -> None:
    state.session = name_in(native.get("sessionId")) or state.session
    if state.session:
        record.session, is_unfit = fit_native_id(state.session)
        record.unfit_name = state.session if is_unfit else None
    record.ts = time_or_none(native.get("startTime"))
    record.bookkeeping = "header"
    if directories := items(native.get("directories")):
        record.cwd = string(directories[0]) or None
    if ref.agent:
        record.parent_session = fit_native_id(escaped(ref.agent))[0]


def _changed(ref: SourceRef, change: dict[str, Any], record: Record, state: GeminiState) -> None:
    """Translate a line that sets facts of the session, or its whole history.

    When a session is resumed, Gemini CLI writes its history again with other ids, without tokens
    and calls. So the messages of a history become events only if no message came before it.
    """
    record.bookkeeping = "$set"
    record.ts = time_or_none(change.get("lastUpdated"))
    # In the log of a subagent, the summary is the subagent's answer and no title.
    if (title := string(change.get("summary"))) and not ref.agent:
        record.facts = {"ai_title": one_line(title)}
    messages = [mapping(message) for message in items(change.get("messages"))]
    if not messages:
        return
    if directory := _WORKSPACE.search(_first_text(messages[0])):
        record.cwd = directory[1]
    if state.messages:
        named = [(name_in(message.get("id")), prompt_in(message)) for message in messages]
        state.rename_prompts([(own, words) for own, words in named if own and words])
        return
    for message in messages:
        record.events += events_of_message(message, state)
    if record.events:
        record.bookkeeping = None
    # A history that holds only the context of the session has no message yet.
    state.messages = sum(event.native_kind != SESSION_CONTEXT for event in record.events)


def _first_text(message: dict[str, Any]) -> str:
    content = parts_of(message.get("content"))
    return string(content[0].get("text")) if content else ""


def _rewound(target: str, record: Record, state: GeminiState) -> None:
    event = NativeEvent("human_intervention", "user", "back to an earlier prompt", "$rewindTo")
    record.events.append(event)
    if state.go_back(target):
        record.follows = True
        record.stands_at = state.last


def _message(native: dict[str, Any], record: Record, state: GeminiState) -> None:
    own = name_in(native.get("id"))
    record.ts = time_or_none(native.get("timestamp"))
    times = state.write(own) if own else 0
    record.usage = usage_of_message(native, state)
    record.events = events_of_message(native, state, again=times > 0)
    if links := children(native):
        record.link, record.more_links = links[0], links[1:]
    if not record.events:
        is_results = native.get("type") == "user"
        record.bookkeeping = "functionResponse" if is_results else "written again"
        return
    state.messages += 1
    if own:
        # If a message is written again, its new events are in a record of their own.
        name = f"{own}+{times}" if times else own
        record.native_id = fit_native_id(name)[0]
        if state.last and state.last != record.native_id:
            record.parent_id = state.last
        for event in record.events:
            if is_target(event):
                state.prompt(own, event_text(event))
        state.last = record.native_id
