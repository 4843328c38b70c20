"""The fields that the adapter reads from lines of ``updates.jsonl`` and ``events.jsonl``, and the
decoders of the lines.

Tool output may be a list of byte values. It stays a part of the undecoded line until its text is
needed, because a list of Python numbers would take much memory.
"""

import re
from typing import Any

import msgspec
from msgspec import Raw

from session_memory.adapters.decoding import (
    LONG_LINE,
    MOST_PARTS,
    REFUSED,
    decode_leniently,
    has_many_parts,
    refuse_many_parts,
)
from session_memory.adapters.decoding import decode_line as decode_generic
from session_memory.adapters.token_counts import LoggedCount

NOTHING = Raw(b"")


class TextMeta(msgspec.Struct, gc=False):
    bash_command: str | None = None
    display_text: str | None = msgspec.field(default=None, name="displayText")


class Text(msgspec.Struct, gc=False):
    """A block of content: a text, or something else with only a type."""

    type: str | None = None
    text: str | None = None
    meta: TextMeta | None = msgspec.field(default=None, name="_meta")


class ContentItem(msgspec.Struct, gc=False):
    """A part of a call's result: content, or a diff of a file."""

    type: str | None = None
    content: Text | None = None
    path: str | None = None


class ToolMeta(msgspec.Struct, gc=False):
    name: str | None = None
    kind: str | None = None


class UpdateMeta(msgspec.Struct, gc=False):
    """Fields that Grok adds to an update."""

    prompt_index: int | None = msgspec.field(default=None, name="promptIndex")
    model: str | None = msgspec.field(default=None, name="modelId")
    is_host_turn: bool | None = msgspec.field(default=None, name="hostTurn")
    is_hidden: bool | None = msgspec.field(default=None, name="hideFromScrollback")
    is_interjection: bool | None = msgspec.field(default=None, name="interjection")
    tool: ToolMeta | None = msgspec.field(default=None, name="x.ai/tool")


class TurnTokens(msgspec.Struct, gc=False):
    input: LoggedCount = msgspec.field(default=None, name="inputTokens")
    output: LoggedCount = msgspec.field(default=None, name="outputTokens")
    cache_read: LoggedCount = msgspec.field(default=None, name="cachedReadTokens")
    cache_write: LoggedCount = msgspec.field(default=None, name="cacheCreationTokens")
    reasoning: LoggedCount = msgspec.field(default=None, name="reasoningTokens")


class TurnUsage(TurnTokens, gc=False):
    """The usage of a turn with all its model calls and subagents."""

    by_model: dict[str, TurnTokens] | None = msgspec.field(default=None, name="modelUsage")


class BackgroundTask(msgspec.Struct, gc=False):
    task_id: str | None = None
    command: str | None = None
    display_command: str | None = None
    exit_code: int | None = None
    explicitly_killed: bool | None = None


class Update(msgspec.Struct, gc=False):
    """An update of any kind, with the fields of all kinds. A field means the same in all kinds."""

    kind: str = msgspec.field(default="", name="sessionUpdate")
    content: Text | list[ContentItem] | str | None = None
    meta: UpdateMeta | None = msgspec.field(default=None, name="_meta")
    call_id: str | None = msgspec.field(default=None, name="toolCallId")
    title: str | None = None
    tool_kind: str | None = msgspec.field(default=None, name="kind")
    status: str | None = None
    raw_input: Raw = msgspec.field(default=NOTHING, name="rawInput")
    raw_output: Raw = msgspec.field(default=NOTHING, name="rawOutput")
    mode: str | None = msgspec.field(default=None, name="currentModeId")
    prompt_id: str | None = None
    stop_reason: str | None = None
    agent_result: str | None = None
    usage: TurnUsage | None = None
    elapsed_ms: float | None = None
    child: str | None = msgspec.field(default=None, name="child_session_id")
    parent_prompt_id: str | None = None
    description: str | None = None
    output: str | None = None
    task_call_id: str | None = msgspec.field(default=None, name="tool_call_id")
    task_id: str | None = None
    task: BackgroundTask | None = msgspec.field(default=None, name="task_snapshot")
    command: str | None = None
    target_prompt_index: int | None = None
    model_id: str | None = None
    new_model_id: str | None = None
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    error: str | None = None
    attempt: float | None = None
    session_summary: str | None = None
    summary: str | None = None
    summary_preview: str | None = None
    objective: str | None = None
    name: str | None = None
    event_name: str | None = None
    event_text: str | None = None
    prompt: str | None = None


class LineMeta(msgspec.Struct, gc=False):
    event_id: str | None = msgspec.field(default=None, name="eventId")
    ms: float | None = msgspec.field(default=None, name="agentTimestampMs")
    cancelled_by: str | None = msgspec.field(default=None, name="cancellationCategory")


class Params(msgspec.Struct, gc=False):
    session: str | None = msgspec.field(default=None, name="sessionId")
    update: Update | None = None
    meta: LineMeta | None = msgspec.field(default=None, name="_meta")


class GrokLine(Params, gc=False):
    """One line of ``updates.jsonl``. In early versions, the fields of ``params`` are directly in
    the line."""

    timestamp: float | None = None
    method: str | None = None
    params: Params | None = None


class RawOutput(msgspec.Struct, gc=False):
    """A tool's own report of its result, in addition to the content that the person sees."""

    type: str | None = None
    output: Raw = NOTHING
    for_prompt: str | None = msgspec.field(default=None, name="output_for_prompt")
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool | None = None
    subagent_id: str | None = None


class Moment(msgspec.Struct, gc=False):
    """One line of ``events.jsonl``: a moment of a turn or of a call."""

    type: str = ""
    ts: str | None = None
    session: str | None = msgspec.field(default=None, name="session_id")
    model: str | None = msgspec.field(default=None, name="model_id")
    yolo_mode: bool | None = None
    tool: str | None = msgspec.field(default=None, name="tool_name")
    call_id: str | None = msgspec.field(default=None, name="tool_call_id")
    duration_ms: float | None = None
    outcome: str | None = None
    source: str | None = None
    decision: str | None = None
    wait_ms: float | None = None
    enabled: bool | None = None
    reason: str | None = None
    server: str | None = msgspec.field(default=None, name="server_name")
    error: str | None = None
    error_message: str | None = None


_line = msgspec.json.Decoder(GrokLine).decode
_moment = msgspec.json.Decoder(Moment).decode
_output = msgspec.json.Decoder(RawOutput).decode


def decode_line(line: bytes) -> tuple[GrokLine, bool]:
    """Return the decoded line, and whether fields of a wrong type were left out. Raises
    ``ValueError`` if the line is no record."""
    if len(line) > LONG_LINE and line.count(b",") > MOST_PARTS:
        refuse_many_parts(_without_byte_values(line))
    try:
        return _line(line), False
    except REFUSED:
        return decode_leniently(_without_byte_values(line), _line), True


def decode_moment(line: bytes) -> tuple[Moment, bool]:
    """Return the decoded line of ``events.jsonl``, and whether fields of a wrong type were left
    out."""
    return decode_generic(line, _moment)


def decode_output(raw: Raw) -> RawOutput:
    """Return a tool's own report; an empty one if it cannot be decoded."""
    if bytes(memoryview(raw)[:1]) != b"{":
        return RawOutput()
    try:
        return _output(raw)
    except REFUSED:
        pass
    try:
        return decode_leniently(_without_byte_values(bytes(raw)), _output)
    except ValueError:
        return RawOutput()


def decode_value(raw: Raw) -> Any:
    """Return a decoded JSON value; None if it is invalid, or so long and of so many parts that it
    would take too much memory (see `refuse_many_parts`)."""
    body = bytes(raw)
    if not body or (len(body) > LONG_LINE and has_many_parts(body)):
        return None
    try:
        return msgspec.json.decode(body)
    except REFUSED:
        return None


# A character class without a group: a repeated group would use memory for every repetition.
_BYTE_VALUES = re.compile(rb"\[[\d,\s]{64,}+\]")


def _without_byte_values(line: bytes) -> bytes:
    return _BYTE_VALUES.sub(b"[]", line) if len(line) > 4096 else line


def text_of_bytes(raw: Raw, most: int) -> str:
    """Return the text of an array of byte values; of a long one, only the beginning and the end.

    ``most`` limits the number of values that are read.
    """
    view = memoryview(raw)
    if bytes(view[:1]) != b"[":
        return ""
    # Each value takes two to four characters of the line.
    if len(view) <= most * 4:
        body = bytes(view)
    else:
        head, tail = bytes(view[: most * 2]), bytes(view[-most * 2 :])
        body = head.rpartition(b",")[0] + b"," + tail.partition(b",")[2]
    values = body.strip(b"[] \n").split(b",")
    try:
        return bytes(map(int, filter(None, values))).decode("utf-8", "replace")
    except ValueError:
        return ""
