"""Gemini: input includes what was cached, output excludes thoughts."""

import re
from typing import Any

from session_memory.conformance.reply import Answer, Ids, Reply, TokenCounts
from session_memory.conformance.wires.base import Wire, event, pieces

_MODEL = re.compile(r"models/([^:/?]+)")


class Gemini(Wire):
    name, path, conversation = "Gemini", "enerateContent", "contents"
    cached = ("tools", "systemInstruction")

    def counts(self, usage: TokenCounts) -> dict[str, int]:
        return {
            "in": usage.uncached + usage.cache_read,
            "out": usage.output - usage.reasoning,
            "cache_read": usage.cache_read,
            "cache_write": 0,
            "cache_write_1h": 0,
            "reasoning": usage.reasoning,
        }

    def model_of(self, path: str, body: dict[str, Any]) -> str:
        found = _MODEL.search(path)
        return found[1] if found else ""

    def failure(self, status: int) -> dict[str, Any]:
        error = {"code": status, "message": f"Scripted error {status}", "status": "INTERNAL"}
        return {"error": error}

    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        # The agent makes the ids of calls itself.
        calls = tuple("" for _ in reply.calls)
        counts, response_id = self.counts(reply.usage), ids.next("gem")
        usage = {
            "promptTokenCount": counts["in"],
            "cachedContentTokenCount": counts["cache_read"],
            "candidatesTokenCount": counts["out"],
            "thoughtsTokenCount": counts["reasoning"],
            "totalTokenCount": counts["in"] + counts["out"] + counts["reasoning"],
        }

        def response(parts: list[dict[str, Any]], last: bool) -> dict[str, Any]:
            candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
            if last:
                candidate["finishReason"] = "STOP"
            body = {"candidates": [candidate], "modelVersion": model, "responseId": response_id}
            return body | ({"usageMetadata": usage} if last else {})

        thought: list[dict[str, Any]] = []
        if reply.thinking:
            thought.append({"text": reply.thinking, "thought": True})
        wanted = [
            {
                "functionCall": {"name": call.name, "args": call.arguments},
                "thoughtSignature": "c2NyaXB0",
            }
            for call in reply.calls
        ]
        text = [{"text": reply.text}] if reply.text else []
        streamed = [*thought, *({"text": piece} for piece in pieces(reply.text)), *wanted]
        whole = response([*thought, *text, *wanted] or [{"text": ""}], True)
        events = [event(response([part], False)) for part in streamed]
        events.append(event(response([{"text": ""}], True)))
        return Answer(response_id, calls, whole, tuple(events))
