"""The fields that the adapter reads from a line of Claude Code, and the decoder of a line."""

import json
from typing import Any

import msgspec
from msgspec import Raw

from session_memory.adapters.decoding import decode_line
from session_memory.adapters.token_counts import LoggedCount


class CacheCreation(msgspec.Struct, gc=False):
    ephemeral_5m_input_tokens: LoggedCount = None
    ephemeral_1h_input_tokens: LoggedCount = None


class ServerTools(msgspec.Struct, gc=False):
    web_search_requests: LoggedCount = None


class OutputDetails(msgspec.Struct, gc=False):
    thinking_tokens: LoggedCount = None


class TokenUsage(msgspec.Struct, gc=False):
    input_tokens: LoggedCount = None
    output_tokens: LoggedCount = None
    cache_creation_input_tokens: LoggedCount = None
    cache_read_input_tokens: LoggedCount = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerTools | None = None
    output_tokens_details: OutputDetails | None = None
    speed: str | None = None
    service_tier: str | None = None


class ServerFailure(msgspec.Struct, gc=False):
    """A result of a tool that the provider's server runs. It is a failure if it has an
    ``error_code``."""

    type: str | None = None
    error_code: str | None = None
    stdout: str | None = None
    url: str | None = None


class ResultItem(msgspec.Struct, gc=False):
    """A part of a tool's result or of a prompt: a text, or something else with only a type."""

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
    content: str | list[ResultItem] | ServerFailure | None = None
    is_error: bool | None = None


class ClaudeMessage(msgspec.Struct, gc=False):
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
    """Details of a tool's result that Claude Code logs but does not send to the model."""

    agentId: str | None = None
    status: str | None = None
    interrupted: bool | None = None
    durationMs: float | None = None
    totalDurationMs: float | None = None
    backgroundTaskId: str | None = None
    answers: Any = None


class Attachment(msgspec.Struct, gc=False):
    type: str = ""
    prompt: str | list[ResultItem] | None = None
    commandMode: str | None = None
    origin: Origin | None = None
    isMeta: bool | None = None
    content: Any = None
    snippet: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class Progress(msgspec.Struct, gc=False):
    """The progress that a running call reports. ``message`` is often a line of a subagent."""

    type: str | None = None
    agentId: str | None = None
    message: Raw = Raw()
    normalizedMessages: Raw = Raw()


class WorktreeSession(msgspec.Struct, gc=False):
    originalCwd: str | None = None


class ClaudeLine(msgspec.Struct, gc=False):
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
    message: ClaudeMessage | None = None
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
    worktreeSession: WorktreeSession | None = None
    planContent: str | None = None
    costUSD: Any = None
    modelUsage: Any = None


strict_line = msgspec.json.Decoder(ClaudeLine).decode


def decode(line: bytes) -> tuple[ClaudeLine, bool]:
    """Return the decoded line, and whether fields of a wrong type were left out. Raises
    ``ValueError`` if the line is no record."""
    return decode_line(line, strict_line, _repair_blocks)


def _repair_blocks(record: dict[str, Any]) -> None:
    message = record.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        message["content"] = [_block(item) for item in message["content"]]


_BLOCK_TEXTS = ("type", "text", "thinking", "id", "name", "tool_use_id")


def _block(item: Any) -> dict[str, Any]:
    """Return a content block whose known fields have the right types.

    Otherwise one odd field would make the whole call or result unreadable.
    """
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
