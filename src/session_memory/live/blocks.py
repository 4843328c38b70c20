"""Find the text, the calls and the results of a message in either of its two shapes.

A message has blocks (``tool_use``, ``tool_result``) or is a flat OpenAI chat message. Other modules
ask here for its text, its calls and its results, so they need not know the shape.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from session_memory.core.text import escaped
from session_memory.live.rows import MessageRow, PendingCall

# Blocks that a runtime adds to a prompt say so in their ``meta``: attached files, instructions of a
# skill, notices of a background job.
_ATTACHED = ("attachment", "skill_snapshot", "job")
TEXT_TYPES = ("text", "input_text", "output_text")


def text_of(content: Any) -> str:
    """Return the text of a message's ``content``, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(block.get("text") or "")
        for block in content
        if isinstance(block, dict) and block.get("type") in TEXT_TYPES
    )


def is_attached(block: dict[str, Any]) -> bool:
    """Whether the runtime added a block to what a person wrote."""
    meta = block.get("meta")
    return isinstance(meta, dict) and any(meta.get(name) for name in _ATTACHED)


def written_text(content: Any) -> str:
    """Return the text that a person or a model wrote, without blocks that the runtime attached."""
    if not isinstance(content, list):
        return text_of(content)
    return text_of([b for b in content if isinstance(b, dict) and not is_attached(b)])


def calls_in(message: MessageRow) -> Iterator[PendingCall]:
    """The tool calls of a message in order."""
    for call, _ in call_entries(message):
        yield call


def call_entries(message: MessageRow) -> Iterator[tuple[PendingCall, dict[str, Any]]]:
    """The tool calls of a message in order, each with its entry of ``tool_calls`` or its block."""
    calls: list[Any] = message.tool_calls or []
    for call in calls:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        details = function if isinstance(function, dict) else call
        # Older providers give a call no id. Its result then has none either.
        call_id = call.get("id") or call.get("call_id") or ("" if details.get("name") else None)
        if isinstance(call_id, str):
            arguments = _decoded(details.get("arguments"))
            made = PendingCall(escaped(call_id), details.get("name"), arguments, message.seq)
            yield made, call
    for block in _blocks(message, "tool_use"):
        call_id = block.get("id")
        if isinstance(call_id, str):
            made = PendingCall(escaped(call_id), block.get("name"), block.get("input"), message.seq)
            yield made, block


def results_in(message: MessageRow) -> Iterator[str]:
    """The ids of the calls whose results a message contains. A call without an id gives ``""``."""
    if message.tool_call_id or (message.role == "tool" and not isinstance(message.content, list)):
        yield message.tool_call_id or ""
    for block in _blocks(message, "tool_result"):
        call_id = block.get("tool_use_id")
        if isinstance(call_id, str):
            yield escaped(call_id)


def _blocks(message: MessageRow, kind: str) -> Iterator[dict[str, Any]]:
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def pair_calls(messages: Iterable[MessageRow]) -> tuple[list[tuple[int, int]], list[PendingCall]]:
    """Return ``(seq of the call, seq of its result)`` for each pair, and the calls without a
    result.

    A result belongs to the oldest open call with its id, because some models use the same ids in
    every round.
    """
    pairs: list[tuple[int, int]] = []
    waiting: dict[str, list[PendingCall]] = {}
    for message in messages:
        for call_id in results_in(message):
            if asked := waiting.get(call_id):
                pairs.append((asked.pop(0).seq, message.seq))
        for call in calls_in(message):
            waiting.setdefault(call.call_id, []).append(call)
    missing = [call for calls in waiting.values() for call in calls]
    return pairs, sorted(missing, key=lambda call: call.seq)


def pending_in(path: Iterable[MessageRow]) -> list[PendingCall]:
    """The calls of a path without a result, in order."""
    return pair_calls(path)[1]


def failures_in(message: MessageRow) -> Iterator[str]:
    """The texts of the failed results in a message."""
    if message.meta.get("is_error"):
        yield text_of(message.content)
    for block in _blocks(message, "tool_result"):
        if block.get("is_error"):
            yield str(block.get("model_text") or text_of(block.get("content")))


def is_prompt(message: MessageRow) -> bool:
    """Whether a person wrote the message: not a tool result and not injected text."""
    return (
        message.role == "user"
        and not message.meta.get("synthetic")
        and next(results_in(message), None) is None
    )


def error_result(call: PendingCall, made: MessageRow, text: str) -> dict[str, Any]:
    """An error result for ``call``, in the same shape as the message with the call."""
    meta = {"synthetic": True, "repaired": True, "is_error": True}
    if made.tool_calls:
        return {"role": "tool", "content": text, "tool_call_id": call.call_id, "meta": meta}
    block = {
        "type": "tool_result",
        "tool_use_id": call.call_id,
        "model_text": text,
        "display_text": text,
        "is_error": True,
    }
    return {"role": "user", "content": [block], "meta": meta}


def _decoded(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
