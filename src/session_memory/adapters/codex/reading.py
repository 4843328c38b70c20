"""`LogReading`: one log of Codex with its state, and the functions that the translators of all
kinds of lines share."""

from collections.abc import Callable
from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.codex.likeness import are_alike, sketch_of
from session_memory.adapters.codex.lines import Content
from session_memory.adapters.codex.state import ThreadState, digest, short
from session_memory.adapters.cursor_state import bounded
from session_memory.core.ids import fit_native_id

MOST_MS = 1e12
_DIGESTS = 8
PROMPT, ANSWER, THOUGHT = "u", "a", "r"


class LogReading:
    """One log of Codex, read line by line. ``state`` is what is remembered from line to line.

    ``after`` is set if the line before is the first copy of a message, so that this line may be the
    second: the kind and side of the first copy, and a sketch of its text.
    """

    def __init__(self, ref: SourceRef, state: ThreadState) -> None:
        self.ref = ref
        self.state = state
        self.line = b""
        self.after = ""
        self._digests: dict[str, str] = {}
        if not state.chain:
            state.begin(f"{short(ref.session)}?")

    @property
    def session(self) -> str:
        return fit(self.state.thread or self.ref.session)

    @property
    def content(self) -> bytes:
        """The part of the line that a copy of the line in another log repeats: everything except
        its time."""
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

    def is_second_copy(self, side: int, kind: str, text: str, item_id: str | None = None) -> bool:
        """Whether this is the second copy of a message. It is in one of three cases:

        - The text is the same.
        - The text is nearly the same, and so is the id.
        - The text is nearly the same, and the first copy is in the line before.

        The texts may differ because the copy for people leaves out what only the model reads, such
        as the place of an image.
        """
        state = self.state
        if item_id and state.is_paginated:
            return state.is_second_copy(side, self._key(kind, item_id, text), sketch_of(text))
        if state.is_second_copy(side, self._key(kind, item_id, text)):
            return True
        if kind == THOUGHT:
            return False
        before, _, sketch = self.after.partition(" ")
        own = sketch_of(text)
        if before == f"{kind}{-side}" and are_alike(sketch, own):
            state.forget_twins(2)
            return True
        state.lone = f"{kind}{side} {own}"
        return False

    def has_logged(self, side: int, kind: str, text: str) -> bool:
        """Whether this message was logged before on this ``side`` (``EVENT`` or ``ITEM``) and its
        copy on the other side is still missing."""
        return self.state.twins.get(self._key(kind, None, text), 0) * side > 0

    def _key(self, kind: str, item_id: str | None, text: str) -> str:
        if item_id and self.state.is_paginated:
            return kind + short(item_id)
        # The same text is needed two or three times, soon after each other.
        known = self._digests.get(text)
        if known is None:
            bounded(self._digests, _DIGESTS)[text] = known = digest("".join(text.split()))
        return kind + known


Translate = Callable[[LogReading, Any, Record], None]


def texts(content: Content) -> list[str]:
    """Return the texts of a message. The tags around an image are left out; a message without texts
    gives the type of its first part in brackets."""
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
    """Return the message of an error, which may be a text or an object."""
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
