"""What the scripted model answers: words, tool calls, token counts, errors and broken streams."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from session_memory.conformance.sent import Sent

MODEL = "scripted-model"
HANG, CUT, PAUSE = "hang", "cut", "pause"


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one request. No token is in two fields, but `output` includes `reasoning`."""

    uncached: int = 10
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 5
    reasoning: int = 0


@dataclass(frozen=True)
class ModelCall:
    """A call of a tool, by the name that the model has to say in this agent. `arguments` is a text
    for a tool that takes a text, and a function if they depend on what the agent sent. `fails`: the
    tool answers with an error."""

    name: str
    arguments: "dict[str, Any] | str | Callable[[Sent], dict[str, Any]]"
    namespace: str | None = None
    fails: bool = False


@dataclass(frozen=True)
class Reply:
    """One answer of the model. `error` is an HTTP status instead of an answer; `fault` says that
    the stream hangs, is cut or pauses in its middle; `items` are further parts in the wire's own
    form."""

    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    thinking: str = ""
    usage: TokenCounts = TokenCounts()
    error: int = 0
    fault: str = ""
    items: tuple[dict[str, Any], ...] = ()


@dataclass
class Ids:
    """Makes the ids of answers and calls. Scripts with different names never make the same id."""

    name: str = ""
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def next(self, prefix: str) -> str:
        return f"{prefix}{crc32(self.name.encode()):010d}{next(self._numbers):06d}"


@dataclass(frozen=True)
class Answer:
    """A reply in a wire format: `whole`, and as `events` of a stream, with the ids that it got.

    `call_ids` are in the order of the reply's calls.
    """

    response_id: str
    call_ids: tuple[str, ...]
    whole: dict[str, Any]
    events: tuple[bytes, ...]
