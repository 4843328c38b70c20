"""A conversation of another runtime, step by step, as a live session can take it over.

Values only. Messages are numbered as their own runtime numbers them; later steps name them so.
What their model calls used is not part of it: that counts for the session it comes from.
"""

from typing import Any

import msgspec


class MessageStep(msgspec.Struct, frozen=True):
    """A message, with the fields that a live session appends."""

    number: int
    message: dict[str, Any]


class FoldStep(msgspec.Struct, frozen=True):
    """A summary in the place of messages: of all that were seen, unless ``members`` names them."""

    number: int
    note: str
    members: tuple[int, ...] | None = None
    before_tokens: int | None = None
    after_tokens: int | None = None


class RewindStep(msgspec.Struct, frozen=True):
    """Back to a message or a fold, or to the beginning. ``unfolds`` are taken back as well."""

    to: int | None
    unfolds: tuple[int, ...] = ()


HistoryStep = MessageStep | FoldStep | RewindStep


class History(msgspec.Struct):
    """``left_out``: how many messages its runtime itself did not send any more, and why."""

    origin: str
    native_id: str
    steps: list[HistoryStep]
    about: dict[str, Any] = {}
    left_out: dict[str, int] = {}
