"""The shape of a Claude Code line, as far as we read it, and two ways to decode one.

The strict way is fast and covers nearly everything. What it refuses (a field of another type, a
lone surrogate, NaN) goes the lenient way, which drops the offending field and says so; the raw
keeps the line whole either way.
"""

import json
import math
import re
from itertools import islice
from typing import Any

import msgspec
from msgspec import Raw

from session_memory.adapters.jsonl import decode_anything
from session_memory.core.text import escaped

_NOTHING = object()
LONG_LINE = 2 * 1024 * 1024
MOST_PARTS = 500_000


class CacheCreation(msgspec.Struct, gc=False):
    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerTools(msgspec.Struct, gc=False):
    web_search_requests: int | None = None


class OutputDetails(msgspec.Struct, gc=False):
    thinking_tokens: int | None = None


class TokenUsage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerTools | None = None
    output_tokens_details: OutputDetails | None = None
    speed: str | None = None
    service_tier: str | None = None


class Failure(msgspec.Struct, gc=False):
    """What a server's tool gives: a failure when it has an ``error_code``, else one result."""

    type: str | None = None
    error_code: str | None = None
    stdout: str | None = None
    url: str | None = None


class Item(msgspec.Struct, gc=False):
    """A part of a tool's result or of a prompt: text, or something named by its type."""

    type: str | None = None
    text: str | None = None


class Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: str | list[Item] | Failure | None = None
    is_error: bool | None = None


class Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: TokenUsage | None = None


class Origin(msgspec.Struct, gc=False):
    kind: str | None = None


class PermissionDecision(msgspec.Struct, gc=False):
    decision: str | None = None
    source: str | None = None


class ToolUseResult(msgspec.Struct, gc=False):
    """The agent's own second account of a tool's result, beside what the model was given."""

    agentId: str | None = None
    status: str | None = None
    interrupted: bool | None = None
    durationMs: float | None = None
    totalDurationMs: float | None = None
    backgroundTaskId: str | None = None
    answers: Any = None


class Attachment(msgspec.Struct, gc=False):
    type: str = ""
    prompt: str | list[Item] | None = None
    commandMode: str | None = None
    origin: Origin | None = None
    isMeta: bool | None = None
    content: Any = None
    snippet: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class Progress(msgspec.Struct, gc=False):
    type: str | None = None
    agentId: str | None = None


class Line(msgspec.Struct, gc=False):
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    timestamp: str | None = None
    sessionId: str | None = None
    agentId: str | None = None
    requestId: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    isAbortedMidStream: bool | None = None
    cwd: str | None = None
    gitBranch: str | None = None
    version: str | None = None
    message: Message | None = None
    toolUseResult: ToolUseResult | str | list[Raw] | None = None
    permissionDecision: PermissionDecision | None = None
    toolDenialKind: str | None = None
    holdsPersonsWords: bool | None = None
    promptSource: str | None = None
    origin: Origin | None = None
    attachment: Attachment | None = None
    data: Progress | None = None
    content: Any = None
    error: Any = None
    durationMs: float | None = None
    retryAttempt: float | None = None
    maxRetries: float | None = None
    parentToolUseID: str | None = None
    summary: str | None = None
    leafUuid: str | None = None
    aiTitle: str | None = None
    customTitle: str | None = None
    agentName: str | None = None
    permissionMode: str | None = None
    mode: str | None = None
    operation: str | None = None
    prUrl: str | None = None


_strict = msgspec.json.Decoder(Line).decode


def decode(line: bytes) -> tuple[Line, bool]:
    """The line, and whether it had to be read leniently. ``ValueError`` for what is no record."""
    if len(line) > LONG_LINE and _has_too_many_parts(line):
        raise ValueError(f"more than {MOST_PARTS:,} parts")
    try:
        return _strict(line), False
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _lenient(line), True


_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+"|,')


def _has_too_many_parts(line: bytes) -> bool:
    """Long lines are one long text. One of many tiny parts would take, decoded, thirty times its
    size; commas outside of texts tell."""
    if line.count(b",") <= MOST_PARTS:
        return False
    commas = (found for found in _TEXT_OR_COMMA.finditer(line) if found.end() - found.start() == 1)
    return next(islice(commas, MOST_PARTS, None), None) is not None


_PLACE = re.compile(r"at `\$([^`]*)`")


def _lenient(line: bytes) -> Line:
    record = decode_anything(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}, not an object")
    try:
        record = _representable(record)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    message = record.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        message["content"] = [_block(item) for item in message["content"]]
    for _ in range(40):
        try:
            return _strict(json.dumps(record))
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except msgspec.ValidationError as error:
            place = _PLACE.search(str(error))
            if place is None or not _drop(record, place[1]):
                raise ValueError(str(error)) from None
    raise ValueError("too many fields of an unexpected type")


_BLOCK_TEXTS = ("type", "text", "thinking", "id", "name", "tool_use_id")


def _block(item: Any) -> dict[str, Any]:
    """A content block whose known fields have the types they should, so that one odd field does
    not cost the call or the result it stands in."""
    if not isinstance(item, dict):
        return {"type": "text", "text": item if isinstance(item, str) else json.dumps(item)}
    block = dict(item)
    for name in _BLOCK_TEXTS:
        if not isinstance(block.get(name, ""), str | None):
            block[name] = json.dumps(block[name])
    if not isinstance(block.get("is_error", False), bool | None):
        block["is_error"] = bool(block["is_error"])
    if isinstance(block.get("content"), list):
        block["content"] = [_block(part) for part in block["content"]]
    return block


def _drop(record: dict[str, Any], place: str) -> bool:
    """Remove the field that ``place`` points to; a place inside a list removes the list."""
    names = place.partition("[")[0].strip(".").split(".")
    owner: Any = record
    for name in names[:-1]:
        owner = owner.get(name) if isinstance(owner, dict) else None
    return isinstance(owner, dict) and owner.pop(names[-1], _NOTHING) is not _NOTHING


def _representable(value: Any) -> Any:
    """The same value without what a strict decoder refuses: NaN, infinities, huge integers, lone
    surrogates."""
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, dict):
        return {_representable(key): _representable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_representable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 63:
        return None
    return value
