"""Read the tokens of model responses from the two forms in which Codex logs them.

Newer logs have the usage of each response (``token_usage_record``). Older logs have a running total
of the thread, so the usage of a response is the difference to the total before it. Evidence:
docs/formats/codex.md, "Usage".
"""

from session_memory.adapters.base import NativeUsage
from session_memory.adapters.codex.lines import TokenCount, TokenTotals
from session_memory.adapters.codex.state import ThreadState
from session_memory.adapters.token_counts import count_of, is_possible, part_of, without

UNKNOWN_MODEL = "unknown"

Counts = tuple[int, int, int, int, int]


def counts(tokens: TokenTotals | None) -> Counts:
    """Return the tokens of input, cache reads, cache writes, output and reasoning, in this order; 0
    for a missing figure."""
    if tokens is None:
        return 0, 0, 0, 0, 0
    return (
        count_of(tokens.input_tokens),
        count_of(tokens.cached_input_tokens),
        count_of(tokens.cache_write_input_tokens),
        count_of(tokens.output_tokens),
        count_of(tokens.reasoning_output_tokens),
    )


def to_usage(usage_id: str, model: str | None, used: Counts, total: int | None) -> NativeUsage:
    """Convert logged counts to a usage.

    Codex' input includes the tokens read from the cache, and mostly also the tokens written to it.
    If it does not include the written ones, ``total`` shows that.
    """
    given, read, written, output, reasoning = used
    apart = bool(written) and total == given + written + output
    return NativeUsage(
        usage_id,
        model or UNKNOWN_MODEL,
        without(given, read, 0 if apart else written),
        output,
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=part_of(reasoning, output),
    )


def from_total(state: ThreadState, native: TokenCount) -> NativeUsage | None:
    """Return the usage of the response before a running total. None if the total only repeats the
    last one, or if the log has the usage of each response.

    Codex repeats a total at the end of a turn, on a new limit and on resuming. A fork continues its
    parent's total or starts at zero. A full context sets the total to zero. After a compaction, the
    logged usage of the last response is an estimate.
    """
    if native.info is None or state.has_usage_records:
        return None
    total = counts(native.info.total_token_usage)
    last = counts(native.info.last_token_usage)
    before, state.total = state.total, _possible(total, state.total)
    if state.origin and state.knows_records:
        # A copy of the parent's totals; the parent's own log has the usage of each response.
        return None
    if before is None:
        used = last if total == last or state.has_answered else None
    elif total == last:
        used = last if list(total) != before else None
    else:
        used = _difference(total, before)
    if used is None or not any(used):
        return None
    state.has_answered = False
    usage_id = f"{state.scope}/{'.'.join(map(str, total))}"
    return to_usage(usage_id, state.model, used, None)


def _possible(total: Counts, before: list[int] | None) -> list[int]:
    """Return the running total. A figure that cannot be true is replaced by that of the total
    before."""
    earlier = before or [0] * len(total)
    return [now if is_possible(now) else then for now, then in zip(total, earlier, strict=True)]


def _difference(total: Counts, before: list[int]) -> Counts | None:
    """Return the tokens used since the previous total; None if a figure became smaller. A figure
    that cannot be true stays as logged."""
    pairs = list(zip(total, before, strict=True))
    if any(is_possible(now) and now < then for now, then in pairs):
        return None
    given, read, written, output, reasoning = (
        now - then if is_possible(now) else now for now, then in pairs
    )
    return given, read, written, output, reasoning
