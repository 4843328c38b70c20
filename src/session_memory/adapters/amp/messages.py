"""Translate the messages of Amp into events, and the tokens of an answer into usage."""

import json
from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.json_records import integer, items, mapping, name_in, string
from session_memory.adapters.token_counts import count_of
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

_REFUSED = frozenset({"rejected-by-user", "cancelled"})
_ENDED = frozenset({"done", "error"}) | _REFUSED


def is_unfinished(message: dict[str, Any]) -> bool:
    """Whether an answer is still being written."""
    return mapping(message.get("state")).get("type") in ("streaming", "running")


def events_of_message(message: dict[str, Any], response: str) -> list[NativeEvent]:
    """Return one event for each block of a message, and one more if a person stopped the answer or
    the answer failed. The result of a call that still runs is left out."""
    role, state = word(message.get("role")), mapping(message.get("state"))
    blocks = items(message.get("content"))
    results = [mapping(block) for block in blocks if mapping(block).get("type") == "tool_result"]
    events = [_result(one) for one in results if _status(one) in _ENDED]
    others = [block for block in blocks if mapping(block).get("type") != "tool_result"]
    if others or not results:
        events += events_of(
            ConversationMessage(
                role=role,
                content=others,
                model=string(mapping(message.get("usage")).get("model")) or None,
                response_id=response or None,
            )
        )
    match state.get("type"):
        case "cancelled":
            text = "The person stopped the answer."
            event = NativeEvent("human_intervention", "user", text, "state/cancelled")
            event.is_interrupt = True
            events.append(event)
        case "error":
            text = string(mapping(state.get("error")).get("message")) or "error"
            event = NativeEvent("error", "system", one_line(text), "state/error", body=text)
            event.is_error = True
            events.append(event)
    return events


def _status(block: dict[str, Any]) -> str:
    return string(mapping(block.get("run")).get("status"))


def _result(block: dict[str, Any]) -> NativeEvent:
    run, status = mapping(block.get("run")), _status(block)
    text, code = _output(run)
    event = result_event(
        name_in(block.get("toolUseID")) or "unnamed",
        one_line(text),
        "user/tool_result",
        failed=status != "done" or bool(code),
        marks=("human_intervention",) if status in _REFUSED else (),
    )
    event.text, event.exit_code, event.is_shell = text, code, True
    event.is_interrupt = status in _REFUSED
    return event


def _output(run: dict[str, Any]) -> tuple[str, int | None]:
    """Return the output of a call, and its exit status if it was a command."""
    found, error = run.get("result"), run.get("error")
    inner = mapping(found)
    code = integer(inner.get("exitCode"))
    text = string(found) or string(inner.get("output")) or string(inner.get("content"))
    text = text or string(inner.get("diff"))
    if not text and found not in (None, "", {}, []):
        text = escaped(json.dumps(found, ensure_ascii=False))
    words = string(error) or string(mapping(error).get("message"))
    return "\n".join(filter(None, (text, words))), code


def usage_of_message(message: dict[str, Any], own: str) -> NativeUsage | None:
    """Return the usage of an answer, or None. ``inputTokens`` does not include cached tokens.

    ``own`` is the id of the message. The id of the usage also has the time, because a message that
    replaces another one has the same id.
    """
    used = message.get("usage")
    if message.get("role") != "assistant" or not isinstance(used, dict) or not own:
        return None
    at = string(used.get("timestamp"))
    return NativeUsage(
        name_in(f"{own}@{at}" if at else own),
        string(used.get("model")) or "unknown",
        input_tokens=count_of(used.get("inputTokens")),
        output_tokens=count_of(used.get("outputTokens")),
        cache_read_tokens=count_of(used.get("cacheReadInputTokens")),
        cache_write_tokens=count_of(used.get("cacheCreationInputTokens")),
    )
