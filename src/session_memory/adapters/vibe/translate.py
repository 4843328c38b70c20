"""Translate one line of a Vibe journal, or of an old version's messages, into one record."""

from collections.abc import Callable
from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.json_records import (
    items,
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.vibe.actions import answered, result, unanswered
from session_memory.adapters.vibe.kinds import BOOKKEEPING
from session_memory.adapters.vibe.state import VibeState
from session_memory.adapters.vibe.usage import figures, running_total
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import MAX_MS

Payload = dict[str, Any]
_ENDINGS = {"completed": "completion", "failed": "lifecycle", "interrupted": "lifecycle"}


def from_line(
    ref: SourceRef, state: VibeState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = new_record(offset, length, escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    record.follows = True
    if "payload" not in native and "role" in native:
        _old_message(native, record)
        return record
    if own := string(native.get("record_sha256")):
        record.native_id = fit_native_id(f"vibe@{own}")[0]
    kind, payload = word(native.get("type")), mapping(native.get("payload"))
    _TRANSLATE.get(kind, _other)(payload, record, state)
    record.ts = state.at
    if not record.events:
        record.bookkeeping = kind if kind in BOOKKEEPING else None
        if record.bookkeeping is None:
            record.events.append(NativeEvent("lifecycle", "system", "", kind))
    return record


def _other(payload: Payload, record: Record, state: VibeState) -> None:
    return


def _note_time(state: VibeState, at: Any) -> None:
    if type(at) is int and 0 <= at <= MAX_MS:
        state.at = at


def _input(payload: Payload, record: Record, state: VibeState) -> None:
    """Note in ``state`` that a person interrupts the turn. Other records repeat all other inputs to
    the agent's core."""
    given = mapping(payload.get("input"))
    _note_time(state, mapping(given.get("determinism")).get("time_unix_ms"))
    command = mapping(given.get("command"))
    if command.get("type") == "interrupt":
        state.is_stopped = True


def _intent(payload: Payload, record: Record, state: VibeState) -> None:
    if payload.get("kind") == "completion":
        sent = mapping(mapping(mapping(payload.get("request")).get("model_input")).get("messages"))
        record.events = unanswered(items(sent.get("messages")), state)


def _result(payload: Payload, record: Record, state: VibeState) -> None:
    outcome = mapping(payload.get("result"))
    kind = string(outcome.get("type"))
    if kind.startswith("completion_"):
        answered(outcome, name_in(payload.get("action_id")), record, state)
    elif "call_id" in outcome:
        record.events.append(result(outcome, state))


def _resolved(payload: Payload, record: Record, state: VibeState) -> None:
    """Add a person's answer to a question as a decision. A refusal is left out, because the result
    of the call has it."""
    output = mapping(mapping(payload.get("result")).get("output"))
    decision, text = output.get("decision"), string(output.get("feedback"))
    verdict = string(mapping(decision).get("type")) or string(decision)
    if verdict in ("deny", "cancel_turn"):
        return
    summary = " ".join(filter(None, (verdict or word(output.get("type")), text)))
    event = NativeEvent("decision", "user", one_line(summary), "callback_resolved", body=summary)
    record.events.append(event)


def _delta(payload: Payload, record: Record, state: VibeState) -> None:
    """Translate a change of the transcript, of the session's token sums, and of its latest turn."""
    for change in map(mapping, items(payload.get("delta"))):
        entry = mapping(change.get("entry"))
        if entry and entry.get("generationStatus") != "in_progress":
            _note_time(state, entry.get("createdAt"))
            record.events += _entry(entry)
        if change.get("op") == "set_envelope":
            _envelope(mapping(change.get("state")), record, state)


def _envelope(envelope: Payload, record: Record, state: VibeState) -> None:
    session, turn = mapping(envelope.get("session")), mapping(envelope.get("latestTurn"))
    _note_time(state, session.get("updatedAt"))
    total = figures(mapping(session.get("tokenUsage")))
    if total is not None and total != state.total:
        state.total = total
        record.usage = running_total(state, record)
    name, status = name_in(turn.get("id")), string(turn.get("status"))
    if status in _ENDINGS and name != state.turn:
        state.turn = name
        record.events.append(_ending(status, state.is_stopped))
        state.is_stopped = False


def _ending(status: str, is_stopped: bool) -> NativeEvent:
    """Return the event of the end of a turn. ``is_stopped``: a person stopped it.

    The journal has the interrupt before the half answer. But an answer after an interrupt counts as
    finished, so the event of the interrupt is placed here, at the end of the turn.
    """
    if status == "interrupted" and is_stopped:
        return NativeEvent(
            "human_intervention", "user", status, "interrupt", body=status, is_interrupt=True
        )
    role = "assistant" if status == "completed" else "system"
    return NativeEvent(_ENDINGS[status], role, status, "turn", body=status)


def _entry(entry: Payload) -> list[NativeEvent]:
    """Return the events of an entry of the transcript. An entry that other records repeat gives no
    event. Prompts, discarded answers and compactions are only in entries."""
    text = "\n".join(string(mapping(part).get("text")) for part in items(entry.get("content")))
    match entry:
        case {"type": "message", "role": "user"}:
            is_typed = entry.get("source") != "harness" and entry.get("injected") is not True
            return events_of(
                ConversationMessage(role="user", content=text, is_injected=not is_typed)
            )
        case {"type": "message", "outcome": {"type": "discarded"}}:
            event = NativeEvent("assistant_msg", "assistant", one_line(text), "entry/discarded")
            event.body = text
            return [event]
        case {"type": "message" | "reasoning" | "effect"}:
            return []
        case _:
            label = string(entry.get("message")) or text
            kind = f"entry/{word(entry.get('kind') or entry.get('type'))}"
            return [NativeEvent("lifecycle", "system", one_line(label), kind, body=label)]


_TRANSLATE: dict[str, Callable[[Payload, Record, VibeState], None]] = {
    "action_intent": _intent,
    "action_result": _result,
    "callback_resolved": _resolved,
    "core_input": _input,
    "projection_delta": _delta,
}


def _old_message(native: dict[str, Any], record: Record) -> None:
    """Translate a line of ``messages.jsonl``: a message in the format of OpenAI, without a time."""
    if own := name_in(native.get("message_id")):
        record.native_id = fit_native_id(f"vibe@{own}")[0]
    thought, content = string(native.get("reasoning_content")), native.get("content")
    blocks: list[Any] = [{"type": "thinking", "thinking": thought}] if thought else []
    blocks += content if isinstance(content, list) else [content] if content else []
    record.events = events_of(
        ConversationMessage(
            role=word(native.get("role")),
            content=blocks,
            tool_calls=native.get("tool_calls"),
            tool_call_id=string(native.get("tool_call_id")) or None,
            is_injected=native.get("injected") is True,
            is_error="<tool_error>" in string(content)[:200],
        )
    )
