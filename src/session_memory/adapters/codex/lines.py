"""The fields that the adapter reads from a line of Codex, and the decoders of a line.

A line is decoded twice: once for its kind, and once for the fields of this kind. All other fields
(instructions, world states, second copies of command output) never become Python objects.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Raw

from session_memory.adapters.decoding import REFUSED, decode_leniently, decode_line
from session_memory.adapters.token_counts import LoggedCount

P = TypeVar("P")

NOTHING = Raw(b"")


class KindOfItem(msgspec.Struct, gc=False):
    type: str = ""


class KindOfPayload(msgspec.Struct, gc=False):
    type: str = ""
    item: KindOfItem | None = None


class LineKind(msgspec.Struct, gc=False):
    """The kind of a line.

    Lines of the first versions of Codex are bare: their fields are not in a ``payload``.
    """

    type: str = ""
    record_type: str = ""
    id: str | None = None
    timestamp: str | None = None
    payload: KindOfPayload | None = None

    @property
    def is_header(self) -> bool:
        """Whether this is the first line of a log of bare lines. It has no type."""
        bare = not self.type and not self.record_type and self.payload is None
        return bare and bool(self.id and self.timestamp)


class CodexLine(msgspec.Struct, Generic[P], gc=False):
    payload: P
    timestamp: str | None = None
    ordinal: int | None = None


class ContentPart(msgspec.Struct, gc=False):
    """A part of a message: a text, or something else with only a type."""

    type: str | None = None
    text: str | None = None


Content = str | list[ContentPart] | None


class Git(msgspec.Struct, gc=False):
    branch: str | None = None
    repository_url: Any = None


class HistoryBase(msgspec.Struct, gc=False):
    thread_id: str | None = None
    end_ordinal_exclusive: int | None = None


class SessionMeta(msgspec.Struct, gc=False):
    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    source: Any = None
    thread_source: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    history_mode: str | None = None
    history_base: HistoryBase | None = None
    subagent_history_start_ordinal: int | None = None
    git: Git | None = None


class ThreadSettings(msgspec.Struct, gc=False):
    """The settings of a turn, in ``turn_context`` and in ``thread_settings_applied``."""

    turn_id: str | None = None
    cwd: str | None = None
    model: str | None = None
    approval_policy: Any = None
    sandbox_policy: Any = None
    collaboration_mode: Any = None


class Provenance(msgspec.Struct, gc=False):
    content_item_kinds: list[str] | None = None


class CodexMessage(msgspec.Struct, gc=False):
    role: str | None = None
    id: str | None = None
    content: Content = None
    provenance: Provenance | None = msgspec.field(
        default=None, name="internal_chat_message_metadata_passthrough"
    )


class Reasoning(msgspec.Struct, gc=False):
    id: str | None = None
    summary: Content = None
    content: Content = None
    encrypted_content: Raw = NOTHING


class Call(msgspec.Struct, gc=False):
    """A call of any kind. Different kinds have their arguments in different fields."""

    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    query: str | None = None
    revised_prompt: str | None = None
    status: str | None = None


class Output(msgspec.Struct, gc=False):
    call_id: str | None = None
    output: Any = None
    status: str | None = None


class TokenTotals(msgspec.Struct, gc=False):
    input_tokens: LoggedCount = None
    cached_input_tokens: LoggedCount = None
    cache_write_input_tokens: LoggedCount = None
    output_tokens: LoggedCount = None
    reasoning_output_tokens: LoggedCount = None
    total_tokens: LoggedCount = None


class TokenInfo(msgspec.Struct, gc=False):
    total_token_usage: TokenTotals | None = None
    last_token_usage: TokenTotals | None = None


class TokenCount(msgspec.Struct, gc=False):
    info: TokenInfo | None = None


class UsageRecord(msgspec.Struct, gc=False):
    response_id: str | None = None
    model: str | None = None
    service_tier: str | None = None
    usage: TokenTotals | None = None


class EventText(msgspec.Struct, gc=False):
    """An event with a text: a second copy of a message, an error, a name, a goal."""

    message: Any = None
    text: Any = None
    kind: str | None = None
    thread_name: str | None = None
    user_facing_hint: str | None = None
    summary: Any = None
    images: list[Raw] | None = None
    local_images: list[Raw] | None = None


class TurnRecord(msgspec.Struct, gc=False):
    turn_id: str | None = None
    reason: str | None = None
    duration_ms: float | None = None
    last_agent_message: str | None = None
    error: Any = None
    num_turns: int | None = None


class Applied(msgspec.Struct, gc=False):
    thread_settings: ThreadSettings | None = None


class Ended(msgspec.Struct, gc=False):
    """How a call ended, as the agent logs it beside the result for the model."""

    call_id: str | None = None
    exit_code: int | None = None
    success: bool | None = None
    status: Any = None
    duration: Any = None
    result: Any = None
    new_thread_id: str | None = None


class TurnItem(msgspec.Struct, gc=False):
    """A finished item of a turn. For a tool, ``id`` is the id of the call."""

    type: str = ""
    id: str | None = None
    content: Content = None
    text: str | None = None
    summary_text: list[str] | None = None
    raw_content: list[str] | None = None
    status: str | None = None
    exit_code: int | None = None
    success: bool | None = None
    duration: Any = None
    tool: str | None = None
    kind: str | None = None
    receiver_thread_ids: list[str] | None = None
    agent_thread_id: str | None = None
    user_facing_hint: str | None = None


class Completed(msgspec.Struct, gc=False):
    turn_id: str | None = None
    item: TurnItem = msgspec.field(default_factory=TurnItem)


strict_kind = msgspec.json.Decoder(LineKind).decode


def decode_kind(line: bytes) -> tuple[LineKind, bool]:
    """Return the kind of a line, and whether fields of a wrong type were left out."""
    return decode_line(line, strict_kind)


def decoder(shape: type[P]) -> tuple[Callable[[bytes], Any], Callable[[bytes], Any]]:
    """Return two decoders for ``shape``: one for a line with it as payload, one for a bare line."""
    return msgspec.json.Decoder(CodexLine[shape]).decode, msgspec.json.Decoder(shape).decode  # type: ignore[valid-type]


def decode_as(line: bytes, strict: Callable[[bytes], P]) -> tuple[P, bool]:
    """Return the line as ``strict`` decodes it, and whether fields of a wrong type were left
    out."""
    try:
        return strict(line), False
    except REFUSED:
        return decode_leniently(line, strict), True
