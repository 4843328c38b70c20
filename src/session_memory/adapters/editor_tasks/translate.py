"""Translate the documents of a task of Cline or Roo Code into records."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from session_memory.adapters.base import (
    CallOutcome,
    Cursor,
    NativeEvent,
    NativeUsage,
    Readable,
    Record,
)
from session_memory.adapters.base import SourceRef as Ref
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.documents import (
    DocumentReader,
    object_in,
    read_document,
    read_messages,
)
from session_memory.adapters.editor_tasks.kinds import BOOKKEEPING, CALLS, FEEDBACK, INVITED
from session_memory.adapters.editor_tasks.layout import HISTORY
from session_memory.adapters.editor_tasks.messages import events_of_task, json_in, kind_of
from session_memory.adapters.editor_tasks.usage import model_in, usage_of_request
from session_memory.adapters.json_records import items, mapping, moment, parts_of, string
from session_memory.adapters.tool_results import result_event
from session_memory.adapters.written_messages import WrittenMessages
from session_memory.core.ids import fit_native_id
from session_memory.core.roles import DOCUMENT
from session_memory.core.text import escaped, one_line

_DIRECTORY = re.compile(r"# Current (?:Working|Workspace) Directory \(([^)\n]{1,1000})\)")
_NONE = "unnamed"


class TaskState(WrittenMessages):
    """The state after a message, which the translation of the next message needs.

    - ``request``: the id of the last request to the model.
    - ``used``: the usage of the last request.
    - ``asked``: the kind of the last message that was no request.
    - ``call``: the id of the last call.
    - ``is_open``: output of the last call may follow.
    - ``began``: the task has a message.
    - ``went_back``: the last messages of the task were removed at least once.
    """

    request: str = ""
    used: NativeUsage | None = None
    asked: str = ""
    call: str = ""
    is_open: bool = False
    began: bool = False
    went_back: bool = False


_TEXTS = StateText(TaskState)


def read_task(
    source: Readable, cursor: Cursor, *, may_include_cache: bool
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records after ``cursor`` of one of the documents of a task.

    ``may_include_cache``: the agent's count of input tokens may include cached tokens.
    """
    if source.ref.role == DOCUMENT:
        return read_document(source, cursor, _facts)
    if source.ref.path.name == HISTORY:
        return read_messages(source, cursor, _TEXTS, _HISTORY_READER)
    reader = DocumentReader(_session, _message_reader(may_include_cache), _around, _back)
    return read_messages(source, cursor, _TEXTS, reader)


def _session(ref: Ref, state: TaskState) -> str:
    return escaped(ref.session)


def _around(ref: Ref, state: TaskState, record: Record, members: dict[str, Any]) -> None:
    return


def _back(ref: Ref, state: TaskState, record: Record, message: dict[str, Any] | None) -> None:
    state.went_back = True
    state.go_back(record, "" if message is None else _own(ref, message))


def _own(ref: Ref, message: dict[str, Any]) -> str:
    """Return the id of a message, made of its task and its time; "" if it has no time."""
    at = integer_text(message.get("ts"))
    return f"{escaped(ref.session)}@{at}" if at else ""


def integer_text(value: Any) -> str:
    return str(int(value)) if moment(value) is not None and not isinstance(value, str) else ""


def _message_reader(
    may_include_cache: bool,
) -> Callable[[Ref, TaskState, Record, dict[str, Any]], None]:
    def read(ref: Ref, state: TaskState, record: Record, message: dict[str, Any]) -> None:
        record.ts = moment(message.get("ts"))
        kind, own = kind_of(message), _own(ref, message)
        if message.get("partial") is True:
            # The agent writes the message again when it is complete.
            record.bookkeeping = "partial"
            return
        is_first, state.began = not state.began, True
        if kind == "api_req_started":
            _request(ref, state, record, message, may_include_cache)
        elif kind in ("deleted_api_reqs", "api_req_deleted"):
            record.bookkeeping = kind
            if not state.went_back and own:
                # The requests were deleted before a sync read them, so this sum counts.
                record.usage = usage_of_request(message, own, may_include_cache=may_include_cache)
        elif kind in BOOKKEEPING:
            record.bookkeeping = kind
        else:
            _events(ref, state, record, message, is_first)
        state.asked = kind if kind != "api_req_started" else state.asked

    return read


def _events(
    ref: Ref, state: TaskState, record: Record, message: dict[str, Any], is_first: bool
) -> None:
    kind, own = kind_of(message), _own(ref, message)
    if kind in CALLS:
        state.call, state.is_open = own or _NONE, kind != "tool"
    call = state.call if state.is_open or kind in CALLS else ""
    events = events_of_task(message, call, is_first=is_first)
    if kind not in CALLS and any(event.role == "tool" for event in events):
        state.is_open = False
    if kind in FEEDBACK:
        _mark_feedback(state, record, events[0])
    model = model_in(message) or state.model
    state.model = model
    for event in events:
        if event.role == "assistant":
            event.model, event.response_id = model or None, state.request or None
            record.usage = state.used
    if not events:
        record.bookkeeping = "empty"
        return
    state.add(record, own, events)


def _mark_feedback(state: TaskState, record: Record, event: NativeEvent) -> None:
    """Set the kind of a person's message in a running task. If the message came instead of an
    approval, the call was refused."""
    if state.asked == "followup":
        event.kind, event.marks = "decision", ("user_msg",)
    elif state.asked not in INVITED:
        event.kind, event.marks = "human_intervention", ("user_msg",)
    if state.asked in CALLS and state.call:
        record.outcomes = [CallOutcome(state.call, is_error=True, marks=("human_intervention",))]


def _request(
    ref: Ref, state: TaskState, record: Record, message: dict[str, Any], may_include_cache: bool
) -> None:
    """Translate a request to the model. When the request has ended, the agent writes its message
    again, with the usage."""
    own = _own(ref, message)
    state.model = model_in(message) or state.model
    info = json_in(string(message.get("text")))
    if own:
        used = usage_of_request(message, own, may_include_cache=may_include_cache)
        state.request, state.used, record.usage = own, used, used
    events = []
    reason = info.get("cancelReason")
    if reason == "user_cancelled":
        event = NativeEvent("human_intervention", "user", "Request cancelled.", "say/cancelled")
        event.is_interrupt = True
        events.append(event)
    elif reason:
        text = string(info.get("streamingFailedMessage")) or string(reason)
        event = NativeEvent("error", "system", one_line(text), "say/request_failed", body=text)
        event.is_error = True
        events.append(event)
    if state.is_open:
        # The agent continues, so the call has ended without any output.
        state.is_open = False
        events.append(result_event(state.call, "", "say/no_output", failed=False))
    if events:
        state.add(record, own and f"{own}:request", events)
    else:
        record.bookkeeping = "api_req_started"


def _history(ref: Ref, state: TaskState, record: Record, message: dict[str, Any]) -> None:
    """A message for the model becomes bookkeeping, because ``ui_messages.json`` says the same. Only
    the working directory is read from the message."""
    record.bookkeeping = "history"
    for part in parts_of(message.get("content")):
        if found := _DIRECTORY.search(string(part.get("text"))):
            record.cwd = found[1]


def _history_back(
    ref: Ref, state: TaskState, record: Record, message: dict[str, Any] | None
) -> None:
    record.events, record.bookkeeping = [], "history"


_HISTORY_READER: DocumentReader[TaskState] = DocumentReader(
    _session, _history, _around, _history_back
)


def _facts(ref: Ref, body: bytes) -> Record:
    """Return the record with the facts of a task in ``history_item.json`` of Roo Code or
    ``task_metadata.json`` of Cline."""
    record = Record(0, len(body), fit_native_id(escaped(ref.session))[0])
    document = object_in(body, record)
    if document is None:
        return record
    models = [mapping(one) for one in items(document.get("model_usage"))]
    record.facts = {
        "title": one_line(string(document.get("task"))) or None,
        "cwd": string(document.get("workspace")) or None,
        "model": string(models[-1].get("model_id")) or None if models else None,
    }
    if parent := string(document.get("parentTaskId")):
        record.parent_session = fit_native_id(parent)[0]
    return record
