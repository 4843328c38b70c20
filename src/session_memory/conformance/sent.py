"""One request of an agent: its bytes, and what the model reads in it."""

import json
from dataclasses import dataclass
from typing import Any

from session_memory.conformance.wires.base import Wire


@dataclass(frozen=True)
class Sent:
    wire: Wire
    path: str
    raw: bytes
    body: dict[str, Any]

    @classmethod
    def of(cls, wire: Wire, path: str, raw: bytes) -> "Sent":
        return cls(wire, path, raw, json.loads(raw))

    @property
    def model(self) -> str:
        return self.wire.model_of(self.path, self.body)

    @property
    def text(self) -> str:
        """All strings of the conversation, as the model reads them."""
        return "\n".join(_strings(self.body.get(self.wire.conversation)))

    @property
    def last_text(self) -> str:
        """All strings of the last message."""
        return "\n".join(_strings((self.body.get(self.wire.conversation) or [""])[-1]))

    @property
    def everything(self) -> str:
        """All strings that the model reads: tools, system prompt and conversation."""
        parts = (*self.wire.cached, self.wire.conversation)
        return "\n".join(text for part in parts for text in _strings(self.body.get(part)))

    def offers(self, tool: str) -> bool:
        """Whether a tool of this name is in the list of tools."""
        return tool in _strings(self.body.get("tools"))

    @property
    def wants_stream(self) -> bool:
        return bool(self.body.get("stream")) or "stream" in self.path


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]
