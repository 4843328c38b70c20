"""Read the tokens that the requests of a Qwen Code session used."""

from typing import Any, NamedTuple

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.json_records import mapping, name_in, string
from session_memory.adapters.qwen.state import QwenState
from session_memory.adapters.token_counts import count_of, part_of, without

_RESPONSE = "qwen-code.api_response"
# How the names of Qwen Code's own helpers begin. Helpers have no log, so their usage counts for the
# session.
_OWN_HELPERS = "managed-"


class SubagentRequest(NamedTuple):
    """The subagent that made a request, and the session that started it."""

    session: str
    agent: str


def request_used(event: dict[str, Any], record: Record, state: QwenState) -> SubagentRequest | None:
    """Set the usage of one request. Return the subagent that made the request; None if the session
    itself or a helper of Qwen Code made it."""
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
        state.response, state.model = response, model
        state.counts_requests = state.is_requested = True
    return None


def answer_used(native: dict[str, Any], record: Record, state: QwenState) -> None:
    """Set the usage of an answer in logs of older versions. Newer versions log the usage of each
    request in a line before the answer, so `request_used` has set it."""
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
