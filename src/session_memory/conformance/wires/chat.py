"""OpenAI chat completions: input includes what was cached, output includes reasoning."""

from collections.abc import Iterator
from typing import Any

from session_memory.conformance.reply import Answer, Ids, Reply, TokenCounts
from session_memory.conformance.wires.base import OpenAiWire, arguments_text, event, pieces


class Chat(OpenAiWire):
    name, path = "OpenAI chat", "/chat/completions"
    cached = ("tools",)

    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        call_ids = tuple(ids.next("call_") for _ in reply.calls)
        calls = [
            {
                "index": index,
                "id": call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments_text(call)},
            }
            for index, (call_id, call) in enumerate(zip(call_ids, reply.calls, strict=True))
        ]
        head = {
            "id": ids.next("chatcmpl-"),
            "object": "chat.completion",
            "created": 1_760_000_000,
            "model": model,
        }
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        usage = self._usage(reply.usage)
        whole = {**head, "choices": [choice], "usage": usage}
        chunk = {**head, "object": "chat.completion.chunk"}
        events = (event({**chunk, **part}) for part in _parts(reply, calls, usage))
        return Answer(str(head["id"]), call_ids, whole, (*events, event("[DONE]")))

    def _usage(self, usage: TokenCounts) -> dict[str, Any]:
        counts = self.counts(usage)
        return {
            "prompt_tokens": counts["in"],
            "completion_tokens": counts["out"],
            "total_tokens": counts["in"] + counts["out"],
            "prompt_tokens_details": {"cached_tokens": counts["cache_read"]},
            "completion_tokens_details": {"reasoning_tokens": counts["reasoning"]},
        }


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _parts(
    reply: Reply, calls: list[dict[str, Any]], usage: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    def delta(value: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": value, "finish_reason": reason}]}

    yield delta({"role": "assistant", "content": ""})
    yield from (delta({"reasoning_content": text}) for text in pieces(reply.thinking))
    yield from (delta({"content": text}) for text in pieces(reply.text))
    for call in calls:
        yield from (delta({"tool_calls": [part]}) for part in _call_parts(call))
    yield delta({}, _reason(reply))
    yield {"choices": [], "usage": usage}


def _call_parts(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A call as it is streamed: its name, then its arguments in pieces."""
    function = call["function"]
    yield {**call, "function": {**function, "arguments": ""}}
    for text in pieces(function["arguments"], 40):
        yield {"index": call["index"], "function": {"arguments": text}}
