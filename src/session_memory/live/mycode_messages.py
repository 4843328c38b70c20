"""Build mycode's messages, blocks and events, and apply its events to a log."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import NotOnPath
from session_memory.core.text import short_repr
from session_memory.live.blocks import is_attached, text_of
from session_memory.live.compaction import MOST_TOKENS, cache_tokens, input_tokens, output_tokens
from session_memory.live.message_encoding import OTHER_KEYS
from session_memory.live.rows import MessageRow
from session_memory.live.shapes import as_blocks

SUMMARY = "[Conversation Summary]\n\n"
ACKNOWLEDGED = "I have read the summary and go on from there."

ContentBlock = dict[str, Any]
ConversationMessage = dict[str, Any]
Message = ConversationMessage

_MESSAGE_KEYS = frozenset({"role", "content", "meta"})


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
    """Build a block with a result.

    The model gets ``model_text``, a person sees ``display_text``.
    """
    result = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "model_text": model_text,
        "display_text": display_text,
        "is_error": is_error,
    }
    return {**result, **({"content": content} if content else {}), **_meta(meta)}


def assistant_message(
    blocks: list[ContentBlock],
    *,
    provider: str | None = None,
    model: str | None = None,
    provider_message_id: str | None = None,
    stop_reason: str | None = None,
    usage: Any = None,
    native_meta: Message | None = None,
) -> ConversationMessage:
    """Build an answer of a model. Its ``meta`` has the arguments that are not empty."""
    facts = {
        "provider": provider,
        "model": model,
        "provider_message_id": provider_message_id,
        "stop_reason": stop_reason,
    }
    meta: Message = {name: value for name, value in facts.items() if value}
    if usage is not None:
        meta["usage"] = usage
    if native := {name: value for name, value in (native_meta or {}).items() if value is not None}:
        meta["native"] = native
    return build_message("assistant", blocks, meta=meta)


def flatten_message_text(message: ConversationMessage, *, include_thinking: bool = True) -> str:
    """The readable text of a message, its blocks joined by blanks, without attached files."""
    kinds = ("text", "thinking") if include_thinking else ("text",)
    content = message.get("content")
    texts = [
        str(block.get("text") or "").strip()
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") in kinds and not is_attached(block)
    ]
    return " ".join(text for text in texts if text)


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


def fields_of(message: Message) -> Message:
    """Return the fields to store for a message, from which `as_mycode` makes an equal message."""
    if not isinstance(message, Mapping):
        raise InvalidRecord(
            f"a message must be a mapping, not {short_repr(message)}", field="message"
        )
    content, meta = message.get("content"), message.get("meta")
    others = {name: message[name] for name in message if name not in _MESSAGE_KEYS}
    if "content" in message and content is None:
        others["content"] = None
    facts = dict(meta) if isinstance(meta, Mapping) else {}
    if "meta" in message and (not facts or OTHER_KEYS in facts):
        others["meta"] = meta
        facts.pop(OTHER_KEYS, None)
    if others or not isinstance(content, list):
        facts[OTHER_KEYS] = others
    return {"role": message.get("role"), "content": content, "meta": facts}


def as_mycode(row: MessageRow) -> Iterator[Message]:
    """Yield a stored message in mycode's format. A summary becomes two messages."""
    others = row.meta.get(OTHER_KEYS)
    if row.name == "compact_note":
        yield from as_summary(text_of(row.content))
    elif isinstance(others, dict) and not (row.tool_calls or row.tool_call_id):
        meta = {name: value for name, value in row.meta.items() if name != OTHER_KEYS}
        content = {} if row.content is None else {"content": row.content}
        yield {"role": row.role, **content, **_meta(meta), **others}
    else:
        blocks = as_blocks(row)
        yield {"role": blocks["role"], "content": blocks["content"], **_meta(row.meta)}


def usage_in(message: Message) -> Message | None:
    """The arguments of ``record_usage`` for an answer or a summary that says what it used."""
    meta = message.get("meta")
    used = meta.get("usage") if isinstance(meta, Mapping) else None
    if message.get("role") not in ("assistant", "compact") or not isinstance(used, Mapping):
        return None
    figures = [input_tokens(used), output_tokens(used), *cache_tokens(used)]
    known = [figure for figure in figures if figure is not None]
    if not known or max(known) > MOST_TOKENS:
        return None
    model = meta.get("model") if isinstance(meta, Mapping) else None
    named = model if isinstance(model, str) and model else None
    # Release 0.21 has names of its own for cached tokens. There, the input contains them.
    is_whole = "cache_read_tokens" in used or "cache_write_tokens" in used
    whole = input_tokens({"prompt_tokens": used.get("input_tokens")}) if is_whole else None
    return {"round_index": 0, "model": named, "usage": used, "prompt_tokens": whole}


def is_place(to: Any, length: int) -> bool:
    return isinstance(to, int) and not isinstance(to, bool) and 0 <= to <= length


def iso_time(milliseconds: int | None) -> str:
    moment = datetime.now(UTC) if milliseconds is None else None
    return (moment or datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)).isoformat()


def _meta(meta: Message | None) -> Message:
    return {"meta": dict(meta)} if meta else {}


def _named(name: str | None) -> Message:
    return {"name": name} if name else {}
