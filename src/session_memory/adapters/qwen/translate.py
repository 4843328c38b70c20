"""Translate one line of a log of Qwen Code into one record."""

from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import word
from session_memory.adapters.documents import object_in
from session_memory.adapters.json_records import (
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.qwen.kinds import BOOKKEEPING
from session_memory.adapters.qwen.messages import answer, prompt, tool_results
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.qwen.usage import SubagentRequest, answer_used, request_used
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none


def subagent_session(session: str, agent: str) -> str:
    """Return the id of a subagent's session: ``<session>:<agent>``."""
    return f"{session}:{agent}" if session else f"agent-{agent}"


def from_line(
    ref: SourceRef, state: QwenState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, escaped(_session(ref, ref.session)))
    native = object_in_line(record, line)
    if native is None:
        return record
    session = string(native.get("sessionId")) or ref.session
    record = new_record(offset, length, escaped(_session(ref, session)))
    record.ts = time_or_none(native.get("timestamp"))
    record.cwd = string(native.get("cwd")) or None
    record.git_branch = string(native.get("gitBranch")) or None
    record.agent_version = string(native.get("version")) or None
    record.is_sidechain = bool(ref.agent)
    own, parent = name_in(native.get("uuid")), state.before(name_in(native.get("parentUuid")))
    if own:
        record.native_id = fit_native_id(own)[0]
        record.parent_id = fit_native_id(parent)[0] if parent and parent != own else None
    origin = ""
    if ref.agent:
        record.parent_session = fit_native_id(session)[0] if session else None
    elif origin := string(mapping(native.get("forkedFrom")).get("sessionId")):
        record.parent_session, record.relation = fit_native_id(origin)[0], "fork"
    if agent := _translate(native, record, state):
        state.skip(own, parent)
        if not origin:
            _move_to(record, agent, session)
        elif record.usage is not None:
            # A fork copies such lines. The line in the origin's log tells the subagent's session.
            record.usage.is_reported = True
    return record


def _session(ref: SourceRef, session: str) -> str:
    return subagent_session(session, ref.agent) if ref.agent else session


def _translate(native: dict[str, Any], record: Record, state: QwenState) -> SubagentRequest | None:
    """Fill in the record of a line. Return the subagent's request if the line is about one."""
    match native.get("type"):
        case "user":
            record.events = prompt(native)
        case "assistant":
            record.events = answer(native, state)
            answer_used(native, record, state)
        case "tool_result":
            record.events = tool_results(native)
        case "system":
            return _system(native, record, state)
        case kind:
            record.events.append(NativeEvent("lifecycle", "system", "", word(kind)))
    return None


def _system(native: dict[str, Any], record: Record, state: QwenState) -> SubagentRequest | None:
    subtype, payload = word(native.get("subtype")), mapping(native.get("systemPayload"))
    kind, text = f"system/{subtype}", ""
    match subtype:
        case "ui_telemetry":
            event = mapping(payload.get("uiEvent"))
            if string(event.get("event.name")) == "qwen-code.api_error":
                text = string(event.get("error_message")) or "API error"
                failed = NativeEvent("error", "system", one_line(text), kind, is_error=True)
                record.events.append(failed)
                return None
            record.bookkeeping = subtype
            return request_used(event, record, state)
        case _ if subtype in BOOKKEEPING:
            record.bookkeeping = subtype
            return None
        case "custom_title":
            text = string(payload.get("customTitle"))
            is_own = string(payload.get("titleSource")) != "auto"
            record.facts = {"custom_title" if is_own else "ai_title": text or None}
        case "slash_command":
            text = string(payload.get("rawCommand"))
        case "parent_session":
            text = string(payload.get("parentSessionId"))
            record.parent_session = fit_native_id(text)[0] if text else None
        case "mid_turn_user_message":
            record.events = prompt(native)
            return None
        case "rewind":
            record.events.append(NativeEvent("human_intervention", "user", "went back", kind))
            return None
        case _:
            text = string(payload.get("displayText")) or string(payload.get("message"))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))
    return None


def _move_to(record: Record, made: SubagentRequest, session: str) -> None:
    """Move the record of a subagent's request to the subagent's session.

    ``session`` is the session of the log, for a request that names none.
    """
    parent = made.session or session
    name = subagent_session(parent, made.agent)
    record.session, is_unfit = fit_native_id(name)
    record.unfit_name = name if is_unfit else None
    record.parent_session, record.relation = fit_native_id(parent)[0] if parent else None, None
    record.parent_id, record.is_sidechain = None, True
    if record.usage is not None:
        # The subagent's own log does not name its model.
        record.facts = {"model": record.usage.model}


def from_meta(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts in a subagent's ``.meta.json``."""
    record = new_record(0, len(body), escaped(subagent_session(ref.session, ref.agent)))
    record.parent_session = fit_native_id(escaped(ref.session))[0]
    meta = object_in(body, record)
    if meta is None:
        return record
    outer = string(meta.get("parentAgentId"))
    parent = fit_native_id(subagent_session(ref.session, outer))[0] if outer else None
    record.facts = {
        "spawn_call_id": string(meta.get("toolUseId")) or None,
        "parent": parent,
        "agent_name": string(meta.get("description")) or None,
    }
    return record
