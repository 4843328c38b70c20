"""The records that the live store returns.

They are structs, because a context may have tens of thousands of messages and a dataclass takes
five times as long to make. `dataclasses.asdict`, ``replace`` and ``fields`` also accept these
structs: the functions only look at ``__dataclass_fields__``, which each struct here has.
"""

from dataclasses import make_dataclass
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

MAX_SPAWN_DEPTH = 3
"""How deep subagents may be below a root session."""


class SessionKind(StrEnum):
    ROOT = "root"
    SUBAGENT = "subagent"


class SessionStatus(StrEnum):
    """The status of a live session. Archived sessions are listed, but accept no messages.

    Closed sessions are hidden, but stay in the store.
    """

    ACTIVE = "active"
    ARCHIVED = "archived"
    CLOSED = "closed"


class SubagentLifecycle(StrEnum):
    """When a subagent's session is closed, besides a call of `close_session` for it.

    ``ephemeral``: when the subagent completes, or when its parent is closed. ``linked``: when its
    parent is closed. ``detached``: never.
    """

    EPHEMERAL = "ephemeral"
    LINKED = "linked"
    DETACHED = "detached"


class MessageState(StrEnum):
    """Whether the model is sent a message.

    ``active``: yes. ``compacted_out``: a note replaces it. ``rewound``: it is not on the path.
    """

    ACTIVE = "active"
    COMPACTED_OUT = "compacted_out"
    REWOUND = "rewound"


AnyRow = TypeVar("AnyRow", bound=msgspec.Struct)


def like_a_dataclass(row: type[AnyRow]) -> type[AnyRow]:
    """Make the functions of `dataclasses` work on a struct."""
    fields = [(name, object) for name in row.__struct_fields__]
    shape = make_dataclass(row.__name__, fields, init=False, repr=False, eq=False)
    type.__setattr__(row, "__dataclass_fields__", vars(shape)["__dataclass_fields__"])
    return row


@like_a_dataclass
class SessionRow(msgspec.Struct, kw_only=True):
    """One live session. ``created_at`` and ``updated_at`` are milliseconds.

    A fork shares the messages of ``forked_from`` up to the seq ``forked_at``.
    """

    session_id: str
    created_at: int
    updated_at: int
    system_prompt: str | None
    model: str | None
    config: dict[str, Any]
    status: SessionStatus
    kind: SessionKind
    parent_session_id: str | None
    spawn_tool_call_id: str | None
    spawn_depth: int
    lifecycle: SubagentLifecycle
    metadata: dict[str, Any]
    title: str | None = None
    provider: str | None = None
    cwd: str | None = None
    api_base: str | None = None
    forked_from: str | None = None
    forked_at: int | None = None


@like_a_dataclass
class MessageRow(msgspec.Struct, gc=False):
    """One message. ``content`` is a text or a list of blocks, as it was appended."""

    session_id: str
    seq: int
    role: str
    name: str | None = None
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    round_index: int | None = None
    state: MessageState = MessageState.ACTIVE
    meta: dict[str, Any] = {}
    created_at: int = 0
    stands_after: int | None = None
    """For a repair: the seq of the message it comes right after."""


@like_a_dataclass
class CompactionRow(msgspec.Struct, kw_only=True):
    """A fold. ``members`` are the seqs of the messages and notes that it hides."""

    session_id: str
    compact_seq: int
    note_seq: int
    from_seq: int
    to_seq: int
    before_tokens: int | None
    after_tokens: int | None
    round_index: int | None
    created_at: int
    members: list[int] = []
    is_undone: bool = False


@like_a_dataclass
class PendingCall(msgspec.Struct, frozen=True):
    """A tool call without a result. ``seq`` is the message with the call."""

    call_id: str
    name: str | None
    arguments: Any
    seq: int


@like_a_dataclass
class SessionStateRow(msgspec.Struct, kw_only=True):
    session_id: str
    next_seq: int
    round_index: int
    last_compact_seq: int
    pending: dict[str, Any] | None


@like_a_dataclass
class UsageRow(msgspec.Struct, kw_only=True):
    """The usage of one model call, with the provider's figures."""

    session_id: str
    send_index: int
    round_index: int
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    model: str | None
    created_at: int


@like_a_dataclass
class Lease(msgspec.Struct, frozen=True):
    """The exclusive right to write to a session. Pass its ``fence`` to every write."""

    session_id: str
    owner: str
    fence: int
    until: int


@like_a_dataclass
class ResumePlan(msgspec.Struct, frozen=True):
    """What a runtime does next: ``run_tools`` (run ``calls``), ``ask_model`` or
    ``wait_for_user``."""

    session_id: str
    next: str
    calls: tuple[PendingCall, ...] = ()
