"""The base class of the wire formats, and helpers that they share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from session_memory.conformance.reply import Answer, Ids, ModelCall, Reply, TokenCounts

_PIECE = 12


def event(data: dict[str, Any] | str, name: str | None = None) -> bytes:
    """One event of a stream."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    """A text as it is streamed."""
    return (text[at : at + size] for at in range(0, len(text), size))


def arguments_text(call: ModelCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


class Wire(ABC):
    """One format. `path` is how the paths of its requests end. `conversation` is the key of the
    messages, `cached` are the keys before them that a provider caches."""

    name = ""
    path = ""
    conversation = "messages"
    cached: tuple[str, ...] = ("tools", "system")

    @abstractmethod
    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        """The reply as one JSON object and as a stream of events."""

    def failure(self, status: int) -> dict[str, Any]:
        """The body of an HTTP error."""
        return {"error": {"type": "scripted_error", "message": f"Scripted error {status}"}}

    @abstractmethod
    def counts(self, usage: TokenCounts) -> dict[str, int]:
        """The tokens as this wire counts them: its input, its output, and the details."""

    def reported(self, usage: TokenCounts) -> TokenCounts:
        """What an agent learns of the tokens from this wire."""
        return replace(usage, cache_write=0, cache_write_1h=0)

    def model_of(self, path: str, body: dict[str, Any]) -> str:
        return str(body.get("model", ""))


class OpenAiWire(Wire):
    """Counts tokens as OpenAI does: the input includes cached tokens, the output reasoning."""

    def counts(self, usage: TokenCounts) -> dict[str, int]:
        return {
            "in": usage.uncached + usage.cache_read,
            "out": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": 0,
            "cache_write_1h": 0,
            "reasoning": usage.reasoning,
        }
