"""Build mycode's messages, blocks and events, and apply its events to a log."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from session_memory.core.live_errors import NotOnPath
from session_memory.live.blocks import text_of

SUMMARY = "[Conversation Summary]\n\n"
ACKNOWLEDGED = "I have read the summary and go on from there."

Message = dict[str, Any]


def build_message(role: str, blocks: list[Message], *, meta: Message | None = None) -> Message:
    return {"role": role, "content": blocks, **_meta(meta)}


def user_text_message(text: str, *, meta: Message | None = None) -> Message:
    return build_message("user", [text_block(text)], meta=meta)


def text_block(text: str, *, meta: Message | None = None) -> Message:
    return {"type": "text", "text": text, **_meta(meta)}


def thinking_block(text: str, *, meta: Message | None = None) -> Message:
    return {"type": "thinking", "text": text, **_meta(meta)}


def image_block(
    data: str, *, mime_type: str, name: str | None = None, meta: Message | None = None
) -> Message:
    return {"type": "image", "data": data, "mime_type": mime_type, **_named(name), **_meta(meta)}


def document_block(
    data: str, *, mime_type: str, name: str | None = None, meta: Message | None = None
) -> Message:
    return {"type": "document", "data": data, "mime_type": mime_type, **_named(name), **_meta(meta)}


def tool_use_block(
    *, tool_id: str, name: str, input: Message | None = None, meta: Message | None = None
) -> Message:
    called = {"type": "tool_use", "id": tool_id, "name": name, "input": dict(input or {})}
    return {**called, **_meta(meta)}


def tool_result_block(
    *,
    tool_use_id: str,
    model_text: str,
    display_text: str,
    is_error: bool = False,
    content: list[Message] | None = None,
    meta: Message | None = None,
) -> Message:
    """``model_text`` is sent to the model, ``display_text`` is shown to a person."""
    result = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "model_text": model_text,
        "display_text": display_text,
        "is_error": is_error,
    }
    return {**result, **({"content": content} if content else {}), **_meta(meta)}


def build_compact_event(
    summary_text: str,
    *,
    provider: str,
    model: str,
    compacted_count: int,
    usage: Message | None = None,
) -> Message:
    """An event to append: it replaces all visible messages by the summary."""
    meta = {"provider": provider, "model": model, "compacted_count": compacted_count}
    full_meta = meta if usage is None else {**meta, "usage": usage}
    return build_message("compact", [text_block(summary_text)], meta=full_meta)


def build_rewind_event(rewind_to: int) -> Message:
    return {"role": "rewind", "meta": {"rewind_to": rewind_to, "created_at": iso_time(None)}}


def apply_compact(messages: Sequence[Message]) -> list[Message]:
    """The messages from the last ``compact`` event on, with that event as a summary."""
    places = [at for at, message in enumerate(messages) if message.get("role") == "compact"]
    if not places:
        return list(messages)
    last = places[-1]
    return [*as_summary(text_of(messages[last].get("content"))), *messages[last + 1 :]]


def apply_rewind(messages: Sequence[Message]) -> list[Message]:
    """The messages that are left after all ``rewind`` events of a log were applied in order."""
    visible: list[Message] = []
    for message in messages:
        if message.get("role") != "rewind":
            visible.append(message)
            continue
        to = (message.get("meta") or {}).get("rewind_to", 0)
        if not is_place(to, len(visible)):
            raise NotOnPath("mycode log", to)
        visible = visible[:to]
    return visible


def as_summary(text: str) -> list[Message]:
    synthetic = {"synthetic": True}
    return [
        build_message("user", [text_block(SUMMARY + text)], meta=synthetic),
        build_message("assistant", [text_block(ACKNOWLEDGED)], meta=synthetic),
    ]


def is_place(to: Any, length: int) -> bool:
    return isinstance(to, int) and not isinstance(to, bool) and 0 <= to <= length


def iso_time(milliseconds: int | None) -> str:
    moment = datetime.now(UTC) if milliseconds is None else None
    return (moment or datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)).isoformat()


def _meta(meta: Message | None) -> Message:
    return {"meta": dict(meta)} if meta else {}


def _named(name: str | None) -> Message:
    return {"name": name} if name else {}
