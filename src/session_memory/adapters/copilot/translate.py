"""Translate one line of a Copilot log into one record."""

import re
from collections.abc import Callable
from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import word
from session_memory.adapters.copilot.calls import answer, completed, permission
from session_memory.adapters.copilot.kinds import BOOKKEEPING
from session_memory.adapters.copilot.state import CopilotState
from session_memory.adapters.copilot.usage import compaction_used, request_used, session_used
from session_memory.adapters.json_records import (
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.core.ids import fit_native_id
from session_memory.core.remotes import remote_name
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none

_FORKED = re.compile(
    r'Forked from ".*" \(([0-9a-f-]{36})\) as ".*" \(([0-9a-f-]{36})\)\.?\s*\Z', re.DOTALL
)
_FIELD = re.compile(r"^(name|user_named):(.*)$", re.MULTILINE)


def from_line(
    ref: SourceRef, state: CopilotState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, state.session or escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    if own := string(native.get("id")):
        record.native_id = fit_native_id(own)[0]
    parent = string(native.get("parentId"))
    record.parent_id = fit_native_id(parent)[0] if parent and parent != own else None
    record.ts = time_or_none(native.get("timestamp"))
    record.is_sidechain = bool(string(native.get("agentId")))
    kind, data = word(native.get("type")), mapping(native.get("data"))
    _TRANSLATE.get(kind, _other)(data, record, state, kind)
    return record


Translation = Callable[[dict[str, Any], Record, CopilotState, str], None]


def _start(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    if kind == "session.start" and (named := name_in(data.get("sessionId"))):
        state.session = named
        record.session, is_unfit = fit_native_id(named)
        record.unfit_name = named if is_unfit else None
    about = mapping(data.get("context"))
    record.cwd = string(about.get("cwd")) or None
    record.git_branch = string(about.get("branch")) or None
    record.agent_version = string(data.get("copilotVersion")) or None
    selected = name_in(data.get("selectedModel"))
    state.model = selected or state.model
    if name := remote_name(about.get("repository")):
        record.facts = {"repository": name}
    record.events.append(NativeEvent("lifecycle", "system", one_line(selected), kind))


def _prompt(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    text = string(data.get("content"))
    if record.is_sidechain or string(data.get("source")) not in ("", "user"):
        event = NativeEvent("lifecycle", "user", one_line(text), f"{kind}/injected", body=text)
    else:
        event = NativeEvent("user_msg", "user", one_line(text), kind, is_prompt=True, text=text)
    record.events.append(event)


def _turn_end(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    record.events.append(NativeEvent("lifecycle", "assistant", "", kind))


def _task_complete(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    text = string(data.get("summary"))
    record.events.append(NativeEvent("completion", "assistant", one_line(text), kind, body=text))


def _abort(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    why = string(data.get("reason"))
    event = NativeEvent("human_intervention", "user", one_line(why), kind, is_interrupt=True)
    record.events.append(event)


def _error(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    text = string(data.get("message")) or string(data.get("errorType")) or "error"
    event = NativeEvent("error", "system", one_line(text), kind, is_error=True, body=text)
    record.events.append(event)


def _compacted(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    compaction_used(data, record, state)
    text = string(data.get("summaryContent")) or string(data.get("summary"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


def _model_change(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    chosen = name_in(data.get("newModel"))
    state.model = chosen or state.model
    record.events.append(NativeEvent("lifecycle", "user", one_line(chosen), kind))


def _ended(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    session_used(data, record, state)
    how = string(data.get("shutdownType"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(how), kind))


def _info(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    """Add the event of a notice. Two kinds of notices say that a person went back, or forked a
    session.

    A fork copies the whole log of its origin, with the notices in it. So a notice about a fork
    counts only if it names this session as the fork.
    """
    text, about = string(data.get("message")), string(data.get("infoType"))
    if about == "rewind":
        kind = f"{kind}/rewind"
        event = NativeEvent("human_intervention", "user", one_line(text), kind, body=text)
        record.events.append(event)
        # Copilot removes the lines after this place from its log. A sync may have read them before.
        record.stands_at = record.parent_id
        return
    forked = _FORKED.match(text) if about == "fork" else None
    if forked is not None and forked[2] == state.session:
        record.parent_session, record.relation = forked[1], "fork"
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


def _used(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    request_used(data, record, state)
    record.bookkeeping = kind


def _other(data: dict[str, Any], record: Record, state: CopilotState, kind: str) -> None:
    if kind in BOOKKEEPING:
        record.bookkeeping = kind
        return
    text = string(data.get("content")) or string(data.get("message"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


_TRANSLATE: dict[str, Translation] = {
    "session.start": _start,
    "session.resume": _start,
    "user.message": _prompt,
    "assistant.message": answer,
    "assistant.turn_end": _turn_end,
    "tool.execution_complete": completed,
    "permission.completed": permission,
    "session.usage_record": _used,
    "session.shutdown": _ended,
    "session.task_complete": _task_complete,
    "session.model_change": _model_change,
    "session.compaction_complete": _compacted,
    "session.error": _error,
    "session.info": _info,
    "abort": _abort,
}


def from_workspace(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the title of a session from ``workspace.yaml``, a flat list of names
    and values."""
    record = new_record(0, len(body), escaped(ref.session))
    found = dict(_FIELD.findall(escaped(body.decode("utf-8", "replace"))))
    name = found.get("name", "").strip().strip("'\"")
    is_own = found.get("user_named", "").strip() == "true"
    record.facts = {"custom_title" if is_own else "title": name or None}
    return record
