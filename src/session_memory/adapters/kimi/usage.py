"""Read the tokens that the requests of a Kimi session used.

Kimi's input does not include cached tokens; its output includes reasoning.
"""

from collections.abc import Mapping
from typing import Any

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.json_records import mapping, name_in, string
from session_memory.adapters.kimi.state import KimiState
from session_memory.adapters.token_counts import count_of

_BROKEN_OFF = ("error", "interrupted")


def request_used(native: dict[str, Any], record: Record, state: KimiState) -> None:
    """Set the usage of a request.

    The token counts of a request that was broken off are left out: the provider sent them when the
    request began, so they are too small.
    """
    model = state.model or name_in(native.get("model"))
    if string(native.get("usageScope")) == "session" or not state.step:
        # Not a step: the request made the summary of a compaction.
        own = f"kimi@{state.lineage or record.session}@{native.get('time')}"
        record.usage = usage_of(mapping(native.get("usage")), own, model)
    elif state.ended not in _BROKEN_OFF:
        record.usage = usage_of(mapping(native.get("usage")), state.step, model)


def step_used(event: dict[str, Any], record: Record, state: KimiState) -> None:
    """Set the usage at the end of a step. This usage repeats the one that was logged for the
    request and has the same id, so it counts once."""
    used = mapping(event.get("usage"))
    if used and string(event.get("finishReason")) not in _BROKEN_OFF:
        record.usage = usage_of(used, state.step, state.model)


def usage_of(used: Mapping[str, Any], usage_id: str, model: str) -> NativeUsage | None:
    """Return logged token counts as a usage; None if all are 0.

    ``used`` has the field names of Kimi Code or of kimi-cli.
    """

    def count(new: str, old: str) -> int:
        return count_of(used.get(new, used.get(old)))

    sent, given = count("inputOther", "input_other"), count("output", "output")
    read = count("inputCacheRead", "input_cache_read")
    written = count("inputCacheCreation", "input_cache_creation")
    if not (sent or given or read or written):
        return None
    return NativeUsage(
        usage_id,
        model or "unknown",
        input_tokens=sent,
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
