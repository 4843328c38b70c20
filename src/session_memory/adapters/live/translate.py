"""Translate one row of a live session into one record."""

from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage, Record, SourceRef
from session_memory.adapters.conversation import ConversationMessage, events_of, text_of
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.live.answer import LastAnswer
from session_memory.adapters.token_counts import count_of, without
from session_memory.core.text import one_line

_TAKEN_BACK = frozenset({"rewind", "clear"})
# The rows of an imported session come after all records of the original session.
_AFTER_ORIGIN = 1 << 40


def from_row(ref: SourceRef, length: int, line: bytes | None, answer: LastAnswer) -> Record:
    """Return the record of one row, and update ``answer``, the state from row to row."""
    try:
        row = decode_anything(line or b"")
    except ValueError:
        row = None
    if not isinstance(row, dict):
        return Record(0, length, session_of(ref), problem="unreadable row")
    record = Record(int(row.get("place") or 0), length, session_of(ref), ts=row.get("created_at"))
    _TRANSLATE[row["row"]](row, record, answer, ref)
    return record


def session_of(ref: SourceRef) -> str:
    """Return the native id of a live session. An imported session has the id of the original
    session, whose uid is in ``ref.agent``."""
    return ref.agent.partition(":")[2] or ref.session


def _message(row: dict[str, Any], record: Record, answer: LastAnswer, ref: SourceRef) -> None:
    below = row.get("below")
    record.parent_id = _row_id(below) if below else None
    if "stands_after" not in row:
        record.native_id = _row_id((ref.session, row["seq"]))
        record.ordinal = row["seq"] + (_AFTER_ORIGIN if ref.agent else 0)
    meta = row.get("meta")
    facts = meta if isinstance(meta, dict) else {}
    message = ConversationMessage(
        role=row["role"],
        content=row.get("content"),
        tool_calls=row.get("tool_calls"),
        tool_call_id=row.get("tool_call_id"),
        name=row.get("name"),
        model=_model(facts) or row.get("model"),
        is_injected=bool(facts.get("synthetic")),
        is_error=facts.get("is_error") is True,
    )
    if message.role == "assistant" and not message.is_injected:
        record.usage, answer.used = answer.used, None
        answer.is_waiting = record.usage is None
        message.response_id = record.usage.usage_id if record.usage else None
    elif message.role == "user":
        answer.is_waiting, answer.used = False, None
    record.events = events_of(message)


def _fold(row: dict[str, Any], record: Record, answer: LastAnswer, ref: SourceRef) -> None:
    """Add the event of a fold: a note that replaces messages in the context. The messages stay in
    the session."""
    note = row.get("note") or {}
    text = text_of(note.get("content"))
    record.follows = True
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), "fold", body=text))


def _move(row: dict[str, Any], record: Record, answer: LastAnswer, ref: SourceRef) -> None:
    to, kind = row.get("to"), str(row.get("kind"))
    record.follows = True
    record.stands_at = _row_id(to) if to else ""
    text = f"back to message {to[1] if isinstance(to, list) else to}"
    text = text if to else "back to the beginning"
    person = kind in _TAKEN_BACK
    event = NativeEvent("human_intervention" if person else "decision", "user", text, kind)
    record.events.append(event)


def _usage(row: dict[str, Any], record: Record, answer: LastAnswer, ref: SourceRef) -> None:
    """Set the usage of a model call. The logged input includes the cached tokens."""
    record.bookkeeping = "usage"
    sent = count_of(row.get("prompt_tokens"))
    read, write = count_of(row.get("cache_read_tokens")), count_of(row.get("cache_write_tokens"))
    record.usage = NativeUsage(
        f"live@{ref.session}@{row['number']}",
        row.get("model") or "unknown",
        input_tokens=without(sent, read, write),
        output_tokens=count_of(row.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=write,
    )
    if not answer.is_waiting:
        answer.used = record.usage
    answer.is_waiting = False


_TRANSLATE = {"message": _message, "fold": _fold, "move": _move, "usage": _usage}


def from_session(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts about a live session: title, directory, model, and the
    session that it came from."""
    session = decode_anything(body)
    facts = {name: session.get(name) for name in ("title", "cwd", "model")}
    record = Record(0, len(body), session_of(ref), facts=facts)
    origin, parent = session.get("forked_from"), session.get("parent_session_id")
    if origin:
        facts |= {"relation": "fork", "parent": origin}
        facts["base"] = [origin, (session.get("forked_at") or 0) + 1]
    elif parent:
        record.parent_session = parent
        facts |= {"relation": "subagent", "parent": parent}
        facts["spawn_call_id"] = session.get("spawn_tool_call_id")
        facts["spawn_depth"] = session.get("spawn_depth")
    if session.get("parent_uid"):
        # The parent was imported, so it has the uid of the original session.
        facts["parent_flavor"], _, facts["parent"] = session["parent_uid"].partition(":")
        record.parent_session = facts["parent"] if parent and not origin else None
        if origin:
            facts["base"][0] = facts["parent"]
    return record


def _model(meta: dict[str, Any]) -> str | None:
    model = meta.get("model")
    return one_line(model) if isinstance(model, str) and model else None


def _row_id(at: Any) -> str:
    """Return the native id of a message. An imported message has the id of the original record."""
    return at if isinstance(at, str) else f"live@{at[0]}@{at[1]}"
