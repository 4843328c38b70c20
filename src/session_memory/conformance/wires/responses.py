"""OpenAI responses: input includes what was cached, output includes reasoning."""

from collections.abc import Iterator
from typing import Any

from session_memory.conformance.reply import Answer, Ids, Reply
from session_memory.conformance.wires.base import OpenAiWire, arguments_text, event, pieces


class Responses(OpenAiWire):
    name, path, conversation = "OpenAI responses", "/responses", "input"
    cached = ("tools", "instructions")

    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        calls = tuple(ids.next("call_") for _ in reply.calls)
        counts = self.counts(reply.usage)
        response = {
            "id": ids.next("resp_"),
            "object": "response",
            "created_at": 1_760_000_000,
            "status": "completed",
            "model": model,
            "output": [*_items(reply, calls, ids), *reply.items],
            "usage": {
                "input_tokens": counts["in"],
                "input_tokens_details": {"cached_tokens": counts["cache_read"]},
                "output_tokens": counts["out"],
                "output_tokens_details": {"reasoning_tokens": counts["reasoning"]},
                "total_tokens": counts["in"] + counts["out"],
            },
        }
        numbered = enumerate(_events(response))
        events = (event({**one, "sequence_number": at}, one["type"]) for at, one in numbered)
        return Answer(str(response["id"]), calls, response, tuple(events))


def _items(reply: Reply, call_ids: tuple[str, ...], ids: Ids) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        item = {"type": "reasoning", "id": ids.next("rs_"), "summary": summary}
        yield item | {"encrypted_content": "c2NyaXB0"}
    if reply.text:
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        item = {"type": "message", "id": ids.next("msg_"), "role": "assistant", "content": [text]}
        yield item | {"status": "completed"}
    for call_id, call in zip(call_ids, reply.calls, strict=True):
        common = {"call_id": call_id, "name": call.name, "status": "completed"}
        if isinstance(call.arguments, str):
            own = {"type": "custom_tool_call", "id": ids.next("ctc_"), "input": call.arguments}
        else:
            given = arguments_text(call)
            own = {"type": "function_call", "id": ids.next("fc_"), "arguments": given}
        yield own | common | ({"namespace": call.namespace} if call.namespace else {})


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        where = {"output_index": index}
        added = {**item, "content": []} if item["type"] == "message" else item
        yield {"type": "response.output_item.added", **where, "item": added}
        if item["type"] == "message":
            place = {"item_id": item["id"], **where, "content_index": 0}
            text = item["content"][0]["text"]
            for delta in pieces(text):
                yield {"type": "response.output_text.delta", **place, "delta": delta}
            yield {"type": "response.output_text.done", **place, "text": text}
        yield {"type": "response.output_item.done", **where, "item": item}
    yield {"type": "response.completed", "response": response}
