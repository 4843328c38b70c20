"""Anthropic messages: input excludes what was cached, output includes thinking."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from session_memory.conformance.reply import Answer, Ids, Reply, TokenCounts
from session_memory.conformance.wires.base import Wire, arguments_text, event, pieces

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


class Anthropic(Wire):
    name, path = "Anthropic messages", "/messages"

    def counts(self, usage: TokenCounts) -> dict[str, int]:
        return {
            "in": usage.uncached,
            "out": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "cache_write_1h": usage.cache_write_1h,
            "reasoning": 0,
        }

    def reported(self, usage: TokenCounts) -> TokenCounts:
        return replace(usage, reasoning=0)

    def failure(self, status: int) -> dict[str, Any]:
        kind = _KINDS.get(status, "overloaded_error" if status == 529 else "api_error")
        error = {"type": kind, "message": f"Scripted error {status}"}
        return {"type": "error", "error": error}

    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        calls = tuple(ids.next("toolu_") for _ in reply.calls)
        message: dict[str, Any] = {
            "id": ids.next("msg_"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(_blocks(reply, calls)),
            "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None,
            "usage": _usage(reply.usage),
        }
        return Answer(message["id"], calls, message, tuple(_events(message, reply)))


def _blocks(reply: Reply, call_ids: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        yield {"type": "thinking", "thinking": reply.thinking, "signature": "c2NyaXB0"}
    if reply.text:
        yield {"type": "text", "text": reply.text}
    for call_id, call in zip(call_ids, reply.calls, strict=True):
        yield {"type": "tool_use", "id": call_id, "name": call.name, "input": call.arguments}


def _usage(usage: TokenCounts) -> dict[str, Any]:
    short, long = usage.cache_write, usage.cache_write_1h
    return {
        "input_tokens": usage.uncached,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": short + long,
        "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
        "output_tokens": usage.output,
    }


def _events(message: dict[str, Any], reply: Reply) -> Iterator[bytes]:
    # The first event says one token of output; the last one says how many there were.
    begun = {**message, "content": [], "stop_reason": None}
    begun["usage"] = {**message["usage"], "output_tokens": 1}
    yield event({"type": "message_start", "message": begun}, "message_start")
    given = iter(reply.calls)
    for index, block in enumerate(message["content"]):
        kind = block["type"]
        if kind == "tool_use":
            start = {**block, "input": {}}
            texts = pieces(arguments_text(next(given)), 40)
            deltas = [{"type": "input_json_delta", "partial_json": text} for text in texts]
        else:
            start = {**block, kind: ""}
            deltas = [{"type": f"{kind}_delta", kind: text} for text in pieces(block[kind])]
        if kind == "thinking":
            start["signature"] = ""
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        name = "content_block_start"
        yield event({"type": name, "index": index, "content_block": start}, name)
        for delta in deltas:
            name = "content_block_delta"
            yield event({"type": name, "index": index, "delta": delta}, name)
        name = "content_block_stop"
        yield event({"type": name, "index": index}, name)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    last = {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield event(last, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")
