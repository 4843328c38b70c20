"""What translating a line has at hand: the log, the state, and what all events have in common."""

from collections.abc import Callable
from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.codex.lines import Content
from session_memory.adapters.codex.state import ThreadState, digest, short
from session_memory.core.ids import fit_native_id

MOST_MS = 1e12
PROMPT, ANSWER, THOUGHT = "u", "a", "r"


class LogReading:
    """One log, read in its order; ``state`` is all that is remembered from line to line.

    ``after`` is what the line right before told, as long as its twin may follow.
    """

    def __init__(self, ref: SourceRef, state: ThreadState) -> None:
        self.ref = ref
        self.state = state
        self.line = b""
        self.after = ""
        if not state.chain:
            state.begin(f"{short(ref.session)}?")

    @property
    def session(self) -> str:
        return fit(self.state.thread or self.ref.session)

    @property
    def content(self) -> bytes:
        """What of the line a copy has too: all but the time at which it was written."""
        start = self.line.find(b'"payload"')
        return self.line[start:] if start >= 0 else self.line

    def by_model(self, record: Record, event: NativeEvent) -> None:
        event.model = self.state.model
        record.events.append(event)
        self.answered()

    def answered(self) -> None:
        self.state.has_answered = self.state.answered_in_turn = True

    def named(self, record: Record, kind: str, text: str | bytes) -> None:
        if record.native_id is None:
            record.native_id = self.state.name_of_text(kind, text)

    def named_as_call(self, record: Record, kind: str, call_id: str) -> None:
        if record.native_id is None:
            record.native_id = self.state.name_of_call(kind, call_id)

    def is_twin(self, side: int, kind: str, text: str, item_id: str | None = None) -> bool:
        """Whether this was told before: under the same id, in the same words, or in nearly the
        same right before. An event leaves out what only the model reads (where an image was put,
        what an answer refers to)."""
        state = self.state
        if state.is_twin(side, self._key(kind, item_id, text)):
            return True
        if kind == THOUGHT or (item_id and state.is_paginated):
            return False
        if self.after == f"{kind}{-side}":
            state.forget_twins(2)
            return True
        state.lone = f"{kind}{side}"
        return False

    def has_told(self, side: int, kind: str, text: str) -> bool:
        """Whether the same side has told this before, and still waits for its twin."""
        return self.state.twins.get(self._key(kind, None, text), 0) * side > 0

    def _key(self, kind: str, item_id: str | None, text: str) -> str:
        if item_id and self.state.is_paginated:
            return kind + short(item_id)
        return kind + digest("".join(text.split()))


Translate = Callable[[LogReading, Any, Record], None]


def texts(content: Content) -> list[str]:
    """The texts of a message; what stands for an image is no text of its own."""
    if isinstance(content, str):
        return [content]
    parts = content or ()
    found = [part.text for part in parts if part.text is not None]
    if len(found) == len(parts) == 1:
        return found
    found = [text for text in found if not text.startswith(("<image", "</image>"))]
    return found or [f"[{part.type}]" for part in parts if part.text is None][:1]


def text_of(content: Content) -> str:
    return "\n".join(texts(content))


def message_of(value: object) -> str:
    """The words of an error, whatever else it consists of."""
    match value:
        case str(text) | {"message": str(text)}:
            return text
        case dict():
            return ", ".join(map(str, list(value)[:5])) or "error"
    return ""


def duration(spent: float | None) -> int | None:
    return int(spent) if spent is not None and 0 <= spent < MOST_MS else None


def fit(name: str) -> str:
    return fit_native_id(name)[0] if name else "unnamed"
