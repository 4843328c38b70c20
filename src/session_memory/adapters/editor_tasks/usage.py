"""Read the tokens that a request of a task used."""

from typing import Any

from session_memory.adapters.base import NativeUsage
from session_memory.adapters.editor_tasks.messages import json_in
from session_memory.adapters.json_records import mapping, moment, string
from session_memory.adapters.providers import model_sold_by
from session_memory.adapters.reported_costs import microdollars
from session_memory.adapters.token_counts import count_of, without

# Since this time (October 31, 2025), `tokensIn` of Roo Code includes cached tokens.
_INCLUDES_CACHE = 1761868800000


def usage_of_request(
    message: dict[str, Any], usage_id: str, *, may_include_cache: bool
) -> NativeUsage | None:
    """Return the usage in a message ``api_req_started``; None while the request runs.

    ``may_include_cache``: ``tokensIn`` may include cached tokens. In Cline it never does. In older
    versions of Roo Code it does only for providers with the protocol of OpenAI.
    """
    used = json_in(string(message.get("text")))
    if "tokensIn" not in used and "tokensOut" not in used:
        return None
    sent, given = count_of(used.get("tokensIn")), count_of(used.get("tokensOut"))
    read, written = count_of(used.get("cacheReads")), count_of(used.get("cacheWrites"))
    is_new = (moment(message.get("ts")) or 0) >= _INCLUDES_CACHE
    includes = may_include_cache and (is_new or used.get("apiProtocol") == "openai")
    if includes and sent >= read + written:
        sent = without(sent, read, written)
    return NativeUsage(
        usage_id,
        model_in(message) or "unknown",
        input_tokens=sent,
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reported_cost=microdollars(used.get("cost")) or None,
    )


def model_in(message: dict[str, Any]) -> str:
    """Return the model that a message names, with its seller; "" if the message names none. Only
    newer versions of Cline name the model."""
    about = mapping(message.get("modelInfo"))
    model = string(about.get("modelId"))
    return model_sold_by(string(about.get("providerId")), model) if model else ""
