"""The base class of the wire formats, and helpers that they share."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from session_memory.conformance.reply import Answer, Ids, ModelCall, Reply, TokenCounts

_PIECE = 12


def event(data: dict[str, Any] | str, name: str | None = None) -> bytes:
    """Return one event of a stream (server-sent events) as bytes."""
    text = data if isinstance(data, str) else json.dumps(data)
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {text}\n\n".encode()


def pieces(text: str, size: int = _PIECE) -> Iterator[str]:
    """Split a text into the pieces in which it is streamed."""
    return (text[at : at + size] for at in range(0, len(text), size))


def arguments_text(call: ModelCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


class Wire(ABC):
    """One wire format between agents and models.

    The URL paths of its requests end with `path`. In a request, `conversation` is the key of the
    messages, `cached` are the keys of what comes before them, which a provider caches.
    """

    name = ""
    path = ""
    conversation = "messages"
    cached: tuple[str, ...] = ("tools", "system")

    @abstractmethod
    def answer(self, reply: Reply, ids: Ids, model: str) -> Answer:
        """Return the reply as one JSON object and as a stream of events."""

    def failure(self, status: int) -> dict[str, Any]:
        """Return the body of an HTTP error."""
        return {"error": {"type": "scripted_error", "message": f"Scripted error {status}"}}

    @abstractmethod
    def counts(self, usage: TokenCounts) -> dict[str, int]:
        """Return the tokens as this format counts them: input, output, and the details."""

    def reported(self, usage: TokenCounts) -> TokenCounts:
        """Return the counts that this format tells an agent; counts that it does not have are 0."""
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
