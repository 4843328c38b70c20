"""Read the tokens of requests and of whole sessions from journals of Vibe.

Vibe's input includes cached input, and its output includes reasoning. The journal does not name the
model.
"""

from typing import Any

from session_memory.adapters.base import NativeUsage, Record
from session_memory.adapters.token_counts import count_of, is_possible, usable_count, without
from session_memory.adapters.vibe.state import VibeState

UNKNOWN = "unknown"
_TOTALS = ("inputTokens", "cachedInputTokens", "outputTokens")
_USED = ("input_tokens", "cached_input_tokens", "output_tokens")


def request_used(used: dict[str, Any], action: str, record: Record, state: VibeState) -> None:
    """Set the usage of a request, and the usage of the session so far."""
    if not used:
        return
    sent, cached, given = (count_of(used.get(name)) for name in _USED)
    record.usage = NativeUsage(
        f"vibe@{action}",
        UNKNOWN,
        input_tokens=without(sent, cached),
        output_tokens=given,
        cache_read_tokens=cached,
    )
    state.add([usable_count(count) for count in (sent, cached, given)])
    record.more_usage = [running_total(state, record)]


def figures(totals: dict[str, Any]) -> tuple[int, ...] | None:
    """Return the token sums of a session: input, cached input and output. None if the log has none
    or one of them cannot be true."""
    found = tuple(count_of(totals.get(name)) for name in _TOTALS)
    return found if totals and all(map(is_possible, found)) else None


def running_total(state: VibeState, record: Record) -> NativeUsage:
    """Return the usage of the session so far. ``derive`` subtracts the requests in the store.

    The rest counts: at the end of each run, Vibe deletes the journal of the run before, so requests
    may be missing.
    """
    sent, cached, given = state.total
    return NativeUsage(
        f"vibe@{record.session}@total",
        UNKNOWN,
        input_tokens=max(sent - cached, 0),
        output_tokens=given,
        cache_read_tokens=cached,
        includes_subagents=True,
        subagents=(record.session,),
    )
