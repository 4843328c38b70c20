"""A conversation of another runtime as a list of steps, so that a live session can continue it.

Messages keep the numbers that their runtime gave them, and later steps refer to these numbers.
``native_id`` is the id of the record that the runtime's adapter makes of the same message. ``at``
is the time of a step in milliseconds; None if the runtime did not note one.
"""

from typing import Any

import msgspec


class MessageStep(msgspec.Struct, frozen=True):
    """Append a message. ``message`` has the fields that a live session stores."""

    number: int
    message: dict[str, Any]
    native_id: str | None = None
    at: int | None = None


class FoldStep(msgspec.Struct, frozen=True):
    """Replace messages by a summary: the messages in ``members``, or all earlier ones if that is
    None."""

    number: int
    note: str
    members: tuple[int, ...] | None = None
    before_tokens: int | None = None
    after_tokens: int | None = None
    native_id: str | None = None
    at: int | None = None
    round_index: int | None = None
    note_meta: dict[str, Any] = {}


class RewindStep(msgspec.Struct, frozen=True):
    """Go back to message or fold ``to`` (None: to the start), and undo the folds in ``unfolds``."""

    to: int | None
    unfolds: tuple[int, ...] = ()
    at: int | None = None


HistoryStep = MessageStep | FoldStep | RewindStep


class UsageStep(msgspec.Struct, frozen=True):
    """The tokens of one model call. ``prompt_tokens`` includes the cached tokens.

    ``send_index`` counts the prompts of the session, ``round_index`` the model calls of a prompt.
    """

    name: str
    model: str | None = None
    at: int | None = None
    send_index: int = 0
    round_index: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a session in the runtime it comes from. ``parent`` is the uid of the session
    that started it."""

    created_at: int | None = None
    updated_at: int | None = None
    is_archived: bool = False
    is_subagent: bool = False
    lifecycle: str | None = None
    parent: str | None = None
    spawn_depth: int = 0
    round_index: int | None = None


class History(msgspec.Struct):
    """A conversation.

    ``left_out``: how many messages are not in ``steps`` because the model no longer got them, by
    reason. ``are_whole``: the messages are as the runtime wrote them, with all their keys.
    """

    origin: str
    native_id: str
    steps: list[HistoryStep]
    about: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    facts: SessionFacts = SessionFacts()
    usage: list[UsageStep] = []
    are_whole: bool = False
