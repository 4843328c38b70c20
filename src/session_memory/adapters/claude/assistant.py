"""Translate lines of type ``assistant``: answers, thoughts, calls, and the usage of a response."""

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.claude.blocks import blocks, result_text, text_or_none
from session_memory.adapters.claude.lines import (
    Block,
    ClaudeLine,
    ClaudeMessage,
    ServerFailure,
    TokenUsage,
)
from session_memory.adapters.detectors import is_edit_tool
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.token_counts import count_of, part_of, together, usable_count
from session_memory.adapters.tool_calls import call_event
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

SYNTHETIC = "<synthetic>"


def assistant_line(native: ClaudeLine, record: Record) -> None:
    """Add one event for each block of the model's answer, and set the usage of the answer."""
    message = native.message or ClaudeMessage()
    model = message.model if message.model != SYNTHETIC else None
    response = message.id or native.requestId
    record.usage = usage_of(native, f"{record.session}@{record.offset}-{record.check:x}")
    # Versions before 2.1.80 leave stop_reason empty. Then any text may end the turn.
    ends_turn = message.stop_reason in ("end_turn", None) and not native.isAbortedMidStream
    for block in blocks(message):
        event = _assistant_block(native, block, model)
        event.model = model
        event.response_id = response if model else None
        event.ends_turn = ends_turn and event.kind == "assistant_msg"
        record.events.append(event)


def usage_of(native: ClaudeLine, otherwise: str = "") -> NativeUsage | None:
    """Return the usage of the response in a line. None if the line has no usage, or if no model
    gave this response, or only a part of it. ``otherwise`` is the id of the usage if the line has
    no id."""
    message = native.message
    if message is None or message.usage is None or message.model in (None, "", SYNTHETIC):
        return None
    usage_id = message.id or native.requestId or native.uuid or otherwise
    if not usage_id or native.isApiErrorMessage or native.isAbortedMidStream:
        return None
    used = to_usage(escaped(usage_id), message.model or "", message.usage)
    if native.costUSD is not None:
        used.reported_cost = microdollars(native.costUSD)
    return used


def _assistant_block(native: ClaudeLine, block: Block, model: str | None) -> NativeEvent:
    match block.type:
        case "text":
            return _answer(native, block.text or "", model)
        case "thinking" | "redacted_thinking":
            return NativeEvent(
                "thinking",
                "assistant",
                one_line(block.thinking or ""),
                "assistant/" + block.type,
                body=block.thinking or "",
            )
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return _call(block)
        case kind if kind.endswith("_tool_result") and block.tool_use_id:
            return _server_result(block)
        case kind:
            text = block.text or ""
            return NativeEvent(
                "lifecycle", "assistant", one_line(text), f"assistant/{kind}", body=text
            )


def _answer(native: ClaudeLine, text: str, model: str | None) -> NativeEvent:
    if native.isApiErrorMessage:
        kind, native_kind = "error", "assistant/api_error"
    elif model is None:
        kind, native_kind = "lifecycle", "assistant/synthetic"
    else:
        kind, native_kind = "assistant_msg", "assistant/text"
    return NativeEvent(kind, "assistant", one_line(text), native_kind, body=text)


def _call(block: Block) -> NativeEvent:
    tool, arguments, path = block.name or "", block.input, None
    if isinstance(arguments, dict):
        path = text_or_none(arguments.get("file_path") or arguments.get("notebook_path"))
    return call_event(
        block.id,
        tool,
        arguments,
        "assistant/" + block.type,
        path=path,
        is_edit=is_edit_tool(tool),
        described_by=_DESCRIPTIVE,
    )


_DESCRIPTIVE = ("description", "pattern", "query", "url", "prompt", "skill", "command", "name")


def _server_result(block: Block) -> NativeEvent:
    text = result_text(block.content)
    failed = isinstance(block.content, ServerFailure) and block.content.error_code is not None
    kind = "assistant/" + block.type
    event = result_event(block.tool_use_id, one_line(text), kind, failed=failed)
    event.body = text
    return event


def to_usage(usage_id: str, model: str, usage: TokenUsage) -> NativeUsage:
    """Convert Claude Code's token counts to a usage. The log's field ``iterations`` repeats the
    totals, so it is not read."""
    creation = usage.cache_creation
    one_hour = count_of(creation.ephemeral_1h_input_tokens) if creation else 0
    written = count_of(usage.cache_creation_input_tokens)
    if usage.cache_creation_input_tokens is None and creation:
        five_minutes = count_of(creation.ephemeral_5m_input_tokens)
        written = together(five_minutes, usable_count(one_hour))
    details, tools = usage.output_tokens_details, usage.server_tool_use
    buckets = (
        count_of(usage.input_tokens),
        count_of(usage.output_tokens),
        count_of(usage.cache_read_input_tokens),
        written,
        part_of(one_hour, written),
        count_of(details.thinking_tokens) if details else 0,
        count_of(tools.web_search_requests) if tools else 0,
    )
    return NativeUsage(usage_id, model, *buckets, usage.speed, usage.service_tier)
