"""What the requests of a Qwen session used."""

from typing import Any, NamedTuple

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.json_records import mapping, name_in, string
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.token_counts import count_of, part_of, without

_RESPONSE = "qwen-code.api_response"
# The agent's own helpers, which have no log: what they used belongs to the session.
_OWN_HELPERS = "managed-"


class SubagentRequest(NamedTuple):
    """Who made a request: a subagent of a session."""

    session: str
    agent: str


def request_used(event: dict[str, Any], record: Record, state: QwenState) -> SubagentRequest | None:
    """Note what one request used. Returns the subagent that made it, if one did."""
    if string(event.get("event.name")) != _RESPONSE:
        return None
    response, model = name_in(event.get("response_id")), name_in(event.get("model"))
    given = count_of(event.get("output_token_count"))
    record.usage = NativeUsage(
        response or f"qwen@{record.native_id or record.offset}",
        model or "unknown",
        input_tokens=without(
            count_of(event.get("input_token_count")),
            count_of(event.get("cached_content_token_count")),
        ),
        output_tokens=given,
        cache_read_tokens=count_of(event.get("cached_content_token_count")),
        reasoning_tokens=part_of(count_of(event.get("thoughts_token_count")), given),
    )
    name = string(event.get("subagent_name"))
    if name and not name.startswith(_OWN_HELPERS):
        # ``<session>#<subagent>#<number of the request>``
        session, _, rest = string(event.get("prompt_id")).partition("#")
        agent = rest.rpartition("#")[0]
        return SubagentRequest(session, agent) if agent else None
    if not name:
        state.response, state.model, state.counts_requests = response, model, True
    return None


def answer_used(native: dict[str, Any], record: Record, state: QwenState) -> None:
    """What an answer used, if its request was not logged before: in logs of older versions."""
    used = mapping(native.get("usageMetadata"))
    if not used or record.is_sidechain or state.counts_requests:
        return
    sent, cached = (
        count_of(used.get("promptTokenCount")),
        count_of(used.get("cachedContentTokenCount")),
    )
    given = count_of(used.get("candidatesTokenCount"))
    record.usage = NativeUsage(
        f"qwen@{record.native_id or record.offset}",
        string(native.get("model")) or "unknown",
        input_tokens=without(sent, cached),
        output_tokens=given,
        cache_read_tokens=cached,
        reasoning_tokens=part_of(count_of(used.get("thoughtsTokenCount")), given),
    )
