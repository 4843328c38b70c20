"""The four wire formats in which agents talk to models: what a reply looks like, and what the
conversation of a request is.

A reply is streamed in as few events as the agents accept. A request is compared by its bytes:
`Sent` finds the parts of the body that a provider caches, without decoding them.
"""

import itertools
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

MODEL = "scripted-model"
_numbers = itertools.count(1)
# Marks where the provider may cache. Agents move them along, and they are no part of the prompt. A
# plain text becomes a list with one part while it has a mark.
_CACHE_MARK = re.compile(rb',?"cache_control":\{[^{}]*\}')
_ONE_TEXT = re.compile(rb'"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]')


@dataclass(frozen=True)
class Call:
    """A call of a tool, by the name that the model has to say in this agent."""

    name: str
    arguments: dict[str, Any]
    namespace: str | None = None


@dataclass(frozen=True)
class Reply:
    """What the model answers: words, and calls of tools."""

    text: str = ""
    calls: tuple[Call, ...] = ()


def event(data: dict[str, Any] | str, name: str | None = None) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def _id(prefix: str) -> str:
    return f"{prefix}{next(_numbers):012d}"


class Wire(ABC):
    """One format. `path` is how the paths of its requests end or what they contain."""

    name = ""
    path = ""
    conversation = "messages"
    cached: tuple[str, ...] = ("tools", "system")

    @abstractmethod
    def stream(self, reply: Reply) -> bytes:
        """The reply as a stream of events."""

    @abstractmethod
    def whole(self, reply: Reply) -> dict[str, Any]:
        """The reply as one JSON object."""


class Anthropic(Wire):
    name, path = "Anthropic messages", "/messages"

    def _blocks(self, reply: Reply) -> list[dict[str, Any]]:
        said = [{"type": "text", "text": reply.text}] if reply.text else []
        return said + [
            {"type": "tool_use", "id": _id("toolu_"), "name": call.name, "input": call.arguments}
            for call in reply.calls
        ]

    def whole(self, reply: Reply) -> dict[str, Any]:
        return {
            "id": _id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": self._blocks(reply),
            "stop_reason": "tool_use" if reply.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def stream(self, reply: Reply) -> bytes:
        message = self.whole(reply)
        blocks = message["content"]
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        begun = {**message, "content": [], "stop_reason": None}
        parts = [event({"type": "message_start", "message": begun}, "message_start")]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                given = json.dumps(block["input"])
                delta = {"type": "input_json_delta", "partial_json": given}
            for name, key, value in (
                ("content_block_start", "content_block", start),
                ("content_block_delta", "delta", delta),
            ):
                parts.append(event({"type": name, "index": index, key: value}, name))
            stop = "content_block_stop"
            parts.append(event({"type": stop, "index": index}, stop))
        usage = message["usage"]
        parts.append(
            event({"type": "message_delta", "delta": end, "usage": usage}, "message_delta")
        )
        parts.append(event({"type": "message_stop"}, "message_stop"))
        return b"".join(parts)


class Responses(Wire):
    name, path, conversation = "OpenAI responses", "/responses", "input"
    cached = ("tools", "instructions")

    def _items(self, reply: Reply) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if reply.text:
            said = {"type": "output_text", "text": reply.text, "annotations": []}
            items.append(
                {"type": "message", "id": _id("msg_"), "role": "assistant", "content": [said]}
            )
        for call in reply.calls:
            item = {
                "type": "function_call",
                "id": _id("fc_"),
                "call_id": _id("call_"),
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }
            items.append(item | ({"namespace": call.namespace} if call.namespace else {}))
        return [{**item, "status": "completed"} for item in items]

    def whole(self, reply: Reply) -> dict[str, Any]:
        tokens = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return {
            "id": _id("resp_"),
            "object": "response",
            "status": "completed",
            "model": MODEL,
            "output": self._items(reply),
            "usage": tokens,
        }

    def stream(self, reply: Reply) -> bytes:
        response = self.whole(reply)
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(response["output"]):
            for kind in ("response.output_item.added", "response.output_item.done"):
                events.append({"type": kind, "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        return b"".join(
            event({**one, "sequence_number": number}, one["type"])
            for number, one in enumerate(events)
        )


class Chat(Wire):
    name, path = "OpenAI chat", "/chat/completions"
    cached = ("tools",)

    def whole(self, reply: Reply, kind: str = "message") -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "index": index,
                    "id": _id("call_"),
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for index, call in enumerate(reply.calls)
            ]
        reason = "tool_calls" if reply.calls else "stop"
        return {
            "id": _id("chatcmpl-"),
            "object": "chat.completion" + (".chunk" if kind == "delta" else ""),
            "created": 1_760_000_000,
            "model": MODEL,
            "choices": [{"index": 0, kind: message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }

    def stream(self, reply: Reply) -> bytes:
        chunk = self.whole(reply, "delta")
        usage, choice = chunk.pop("usage"), chunk["choices"][0]
        said = {**chunk, "choices": [{**choice, "finish_reason": None}]}
        end = {**chunk, "choices": [{**choice, "delta": {}}]}
        counted = {**chunk, "choices": [], "usage": usage}
        return b"".join(map(event, (said, end, counted, "[DONE]")))


class Gemini(Wire):
    name, path, conversation = "Gemini", "enerateContent", "contents"
    cached = ("tools", "systemInstruction")

    def whole(self, reply: Reply) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
        for call in reply.calls:
            wanted = {"name": call.name, "args": call.arguments}
            parts.append({"functionCall": wanted, "thoughtSignature": "c2NyaXB0"})
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        content = {"role": "model", "parts": parts or [{"text": ""}]}
        return {
            "candidates": [{"content": content, "index": 0, "finishReason": "STOP"}],
            "modelVersion": MODEL,
            "responseId": _id("gem"),
            "usageMetadata": counts,
        }

    def stream(self, reply: Reply) -> bytes:
        return event(self.whole(reply))


@dataclass(frozen=True)
class Sent:
    """One request of an agent: the bytes, and where its parts stand in them."""

    wire: Wire
    path: str
    raw: bytes
    body: dict[str, Any]
    spans: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, wire: Wire, path: str, raw: bytes) -> "Sent":
        unmarked = _ONE_TEXT.sub(rb'"content":\1', _CACHE_MARK.sub(b"", raw))
        return cls(wire, path, raw, json.loads(raw), dict(_spans(unmarked)))

    @property
    def text(self) -> str:
        """All strings of the conversation, as the model reads them."""
        return "\n".join(_strings(self.body.get(self.wire.conversation)))

    @property
    def everything(self) -> str:
        """All strings that the model reads, with what stands before the conversation."""
        parts = (*self.wire.cached, self.wire.conversation)
        return "\n".join(text for part in parts for text in _strings(self.body.get(part)))

    def offers(self, tool: str) -> bool:
        return f'"{tool}"'.encode() in self.spans.get("tools", b"")

    @property
    def wants_stream(self) -> bool:
        return bool(self.body.get("stream")) or "stream" in self.path

    def broken_prefix(self, earlier: "Sent") -> str | None:
        """Which part does not begin with that of the earlier request, byte for byte; None if all
        do, so that the provider's cache still holds."""
        for part in self.wire.cached:
            if self.spans.get(part) != earlier.spans.get(part):
                return part
        conversation = self.wire.conversation
        before = earlier.spans[conversation].removesuffix(b"]")
        if not self.spans[conversation].startswith(before):
            return conversation
        return None


def _spans(raw: bytes) -> "list[tuple[str, bytes]]":
    """The top-level keys of a JSON object, each with the bytes of its value."""
    text = raw.decode()
    decoder, place, found = json.JSONDecoder(), text.index("{") + 1, []
    while (match := re.compile(r"[\s,]*(?=\")").match(text, place)) is not None:
        key, place = decoder.raw_decode(text, match.end())
        start = text.index(":", place) + 1
        start += len(text[start:]) - len(text[start:].lstrip())
        _, place = decoder.raw_decode(text, start)
        found.append((key, text[start:place].encode()))
    return found


def _strings(value: Any) -> "list[str]":
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


WIRES: tuple[Wire, ...] = (Anthropic(), Responses(), Chat(), Gemini())
