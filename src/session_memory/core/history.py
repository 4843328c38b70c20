"""A conversation of another runtime as a list of steps, so that a live session can continue it.

Values only. Messages keep the numbers of their own runtime, and later steps refer to them by these
numbers. Token usage is not included: it counts for the session that the conversation came from.
"""

from typing import Any

import msgspec


class MessageStep(msgspec.Struct, frozen=True):
    """Append a message. ``message`` has the fields that a live session stores."""

    number: int
    message: dict[str, Any]


class FoldStep(msgspec.Struct, frozen=True):
    """Replace messages by a summary: those in ``members``, or all earlier ones if it is None."""

    number: int
    note: str
    members: tuple[int, ...] | None = None
    before_tokens: int | None = None
    after_tokens: int | None = None


class RewindStep(msgspec.Struct, frozen=True):
    """Go back to message or fold ``to`` (None: to the start), and undo the folds in ``unfolds``."""

    to: int | None
    unfolds: tuple[int, ...] = ()


HistoryStep = MessageStep | FoldStep | RewindStep


class History(msgspec.Struct):
    """A conversation. ``left_out`` counts messages that were no longer sent, by reason."""

    origin: str
    native_id: str
    steps: list[HistoryStep]
    about: dict[str, Any] = {}
    left_out: dict[str, int] = {}
