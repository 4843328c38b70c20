"""Convert messages between blocks and flat chat.

A call is a ``tool_use`` block or an entry of ``tool_calls``. A result is a ``tool_result`` block or
a message with role ``tool``. One message with several result blocks becomes several chat messages.
"""

import json
from collections.abc import Iterator
from typing import Any

from session_memory.live.blocks import TEXT_TYPES, calls_in, text_of
from session_memory.live.rows import MessageRow

SHAPES = ("blocks", "chat")

Shaped = dict[str, Any]


def in_shape(message: MessageRow, shape: str) -> list[Shaped]:
    """``message`` in the shape ``blocks``, or in ``chat``, the flat one of chat completions."""
    return [as_blocks(message)] if shape == "blocks" else list(as_chat(message))


def as_blocks(message: MessageRow) -> Shaped:
    content = message.content
    blocks = list(content) if isinstance(content, list) else _texts(content)
    if message.tool_call_id:
        return {"role": "user", "content": [_result_block(message)], **_about(message)}
    if message.tool_calls:
        blocks += [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments}
            for call in calls_in(message)
            if not _is_block(call.call_id, blocks)
        ]
    return {"role": message.role, "content": blocks, **_about(message)}


def as_chat(message: MessageRow) -> Iterator[Shaped]:
    if not isinstance(message.content, list):
        flat: Shaped = {"role": message.role, "content": message.content}
        if message.tool_calls:
            flat["tool_calls"] = message.tool_calls
        if message.tool_call_id:
            flat["tool_call_id"] = message.tool_call_id
        yield {**flat, **_about(message)}
        return
    if message.tool_call_id:
        words = text_of(message.content)
        result = {"role": "tool", "content": words, "tool_call_id": message.tool_call_id}
        yield {**result, **_about(message)}
        return
    results = [block for block in message.content if block.get("type") == "tool_result"]
    for block in results:
        words = _result_text(block)
        yield {"role": "tool", "content": words, "tool_call_id": block.get("tool_use_id")}
    if len(results) < len(message.content) or not results:
        yield _flat(message)


def _flat(message: MessageRow) -> Shaped:
    blocks = [b for b in message.content or () if isinstance(b, dict)]
    visible = [b for b in blocks if b.get("type") not in ("tool_use", "tool_result", "thinking")]
    thought = [str(b.get("text") or b.get("thinking") or "") for b in blocks if _is(b, "thinking")]
    is_text = all(block.get("type") in TEXT_TYPES for block in visible)
    flat: Shaped = {
        "role": message.role,
        "content": (text_of(visible) or None) if is_text else [_part(b) for b in visible],
    }
    if thought:
        flat["reasoning_content"] = "\n".join(thought)
    if calls := [
        *(message.tool_calls or ()),
        *(flat_call(b) for b in blocks if _is(b, "tool_use")),
    ]:
        flat["tool_calls"] = calls
    return {**flat, **_about(message)}


def _about(message: MessageRow) -> Shaped:
    """The fields that are the same in both shapes."""
    about: Shaped = {"name": message.name} if message.name else {}
    return {**about, "meta": message.meta} if message.meta else about


def _texts(content: str | None) -> list[Shaped]:
    return [{"type": "text", "text": content}] if content else []


def _is(block: Shaped, kind: str) -> bool:
    return block.get("type") == kind


def _is_block(call_id: str, blocks: list[Shaped]) -> bool:
    return any(_is(block, "tool_use") and block.get("id") == call_id for block in blocks)


def _result_block(message: MessageRow) -> Shaped:
    text = text_of(message.content)
    return {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "model_text": text,
        "display_text": text,
        "is_error": bool(message.meta.get("is_error")),
    }


def _result_text(block: Shaped) -> str:
    for name in ("model_text", "output", "content"):
        if block.get(name) is not None:
            value = block[name]
            return value if isinstance(value, str) else text_of(value)
    return ""


def flat_call(block: Shaped) -> Shaped:
    """A ``tool_use`` block as an entry of ``tool_calls``."""
    arguments = json.dumps(block.get("input") or {})
    function = {"name": block.get("name"), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _part(block: Shaped) -> Shaped:
    if _is(block, "image") and isinstance(block.get("data"), str):
        url = f"data:{block.get('mime_type', 'image/png')};base64,{block['data']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return block
