"""Read the tokens that the requests of a Copilot session used."""

from typing import Any

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.copilot.state import CopilotState
from session_memory.adapters.json_records import mapping, name_in
from session_memory.adapters.token_counts import count_of, part_of, usable_count, without

_NAMES = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")


def request_used(data: dict[str, Any], record: Record, state: CopilotState) -> None:
    """Set the usage of one request, and add it to the sums in ``state``."""
    used = mapping(data.get("usage"))
    model = name_in(used.get("model")) or state.model or "unknown"
    figures = [count_of(used.get(name)) for name in _NAMES]
    state.count(model, [usable_count(figure) for figure in figures])
    usage_id = name_in(used.get("apiCallId")) or f"copilot@{record.native_id or record.offset}"
    record.usage = _usage(usage_id, model, figures)


def compaction_used(data: dict[str, Any], record: Record, state: CopilotState) -> None:
    """Set the usage of a compaction. The sums that Copilot logs for a session do not include it."""
    used = mapping(data.get("compactionTokensUsed"))
    figures = [count_of(used.get(name)) for name in _NAMES]
    if any(figures):
        model = name_in(used.get("model")) or state.model or "unknown"
        record.usage = _usage(f"copilot@{record.native_id or record.offset}", model, figures)


def session_used(data: dict[str, Any], record: Record, state: CopilotState) -> None:
    """Set the usage that the logged sums of a session include but no request logged before."""
    summed = mapping(data.get("modelMetrics"))
    if not summed:
        summed = mapping(mapping(data.get("accountingSnapshot")).get("modelMetrics"))
    found = []
    for named, metrics in sorted(summed.items()):
        used, model = mapping(mapping(metrics).get("usage")), name_in(named)
        totals = [usable_count(count_of(used.get(name))) for name in _NAMES]
        rest = state.rest(model, totals)
        if any(rest):
            usage_id = f"copilot@{record.native_id or record.offset}@{model}"
            found.append(_usage(usage_id, model or "unknown", rest))
    if found:
        record.usage, record.more_usage = found[0], found[1:]


def _usage(usage_id: str, model: str, figures: list[int]) -> NativeUsage:
    """Return Copilot's figures as a usage. Copilot's input includes the tokens read from the cache
    and written to it; the input of the usage does not."""
    sent, given, read, written, thought = figures
    return NativeUsage(
        usage_id,
        model,
        input_tokens=without(sent, read, written),
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=part_of(thought, given),
    )
