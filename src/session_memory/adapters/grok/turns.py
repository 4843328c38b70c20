"""Translate the ends of Grok's turns with their usage, rewinds and retries."""

from uuid import UUID

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.grok.lines import TurnTokens, Update
from session_memory.adapters.grok.names import MOST_MS
from session_memory.adapters.grok.state import LogState
from session_memory.adapters.token_counts import count_of, part_of, without
from session_memory.adapters.tool_results import result_event
from session_memory.core.text import escaped, one_line

# If more models than this answered in one turn, the usage of the others is not read.
MOST_MODELS = 64
ENDED_BY_A_PERSON = frozenset({"cancelled", "interrupted"})
CANCELLED_BY_A_PERSON = frozenset({"midturnabort", "permissioncancelled", "permissionrejected"})
ENDED_BADLY = frozenset({"error", "rate_limit"})


def turn_completed(
    update: Update, record: Record, state: LogState, cancelled_by: str | None
) -> None:
    reason = update.stop_reason or "unknown"
    turn = update.prompt_id or ""
    children = state.closes(turn)
    spent = update.elapsed_ms
    event = NativeEvent(
        "completion",
        "system",
        one_line(f"turn ended: {reason} {update.agent_result or ''}".rstrip()),
        f"turn_completed/{one_line(reason, 40)}",
        duration_ms=int(spent) if spent is not None and 0 <= spent < MOST_MS else None,
        body=update.agent_result or "",
    )
    if _ended_by_a_person(reason, cancelled_by, state):
        event.marks, event.is_interrupt = ("human_intervention",), True
    elif reason in ENDED_BADLY:
        event.marks, event.is_error = ("error",), True
    record.events.append(event)
    if reason in ENDED_BY_A_PERSON or reason in ENDED_BADLY:
        record.events += _aborted(state, reason)
    if turn and update.usage is not None:
        used = _usages(turn, update, record, state, children)
        if used:
            record.usage, record.more_usage = used[0], used[1:]


def _ended_by_a_person(reason: str, cancelled_by: str | None, state: LogState) -> bool:
    """Whether a person ended the turn. The answer is no in these cases:

    - A person refused a call. That refusal is an event of the call already.
    - The agent began the turn by itself. Such a turn ends with the program.
    - A limit or a hook ended the turn.
    """
    if reason == "interrupted":
        return not state.is_woken
    if reason != "cancelled" or state.is_refused:
        return False
    return cancelled_by is None or cancelled_by.lower().replace("_", "") in CANCELLED_BY_A_PERSON


def _aborted(state: LogState, reason: str) -> list[NativeEvent]:
    """Return a failed result for each call that was running when the turn was aborted, because the
    log has none.

    Calls in the background are left out; they end later.
    """
    running = set(state.tasks.values())
    over = [call_id for call_id in state.calls if call_id not in running]
    summary = f"aborted: turn {one_line(reason, 40)}"
    aborted = [
        result_event(call_id, summary, "turn_completed/aborted", failed=True) for call_id in over
    ]
    for call_id in over:
        state.answers(call_id)
    return aborted


def _usages(
    turn: str, update: Update, record: Record, state: LogState, children: tuple[str, ...]
) -> list[NativeUsage]:
    """Return one usage for each model that answered in the turn, each with the turn's subagents."""
    used = update.usage
    if used is None:
        return []
    usage_id = _usage_id(turn, record)
    by_model = list((used.by_model or {}).items())[:MOST_MODELS]
    if not by_model and any(map(count_of, (used.input, used.output))):
        by_model = [(state.model or "unknown", used)]
    return [
        to_usage(usage_id if not number else f"{usage_id}/{model}", model, tokens, children)
        for number, (model, tokens) in enumerate(by_model)
    ]


def _usage_id(turn: str, record: Record) -> str:
    """Return the id of a turn's usage: the turn's id, which is the same in a copy of the record.

    A turn's id that is no UUID may not be unique, so the session that first wrote it is added.
    """
    try:
        UUID(turn)
    except ValueError:
        origin = (record.native_id or "").rpartition("@")[0].rpartition("-")[0]
        return escaped(f"{origin}/{turn}")
    return turn


def to_usage(usage_id: str, model: str, used: TurnTokens, children: tuple[str, ...]) -> NativeUsage:
    """Convert Grok's figures to a usage. Its input includes the cached tokens, its output the
    reasoning."""
    whole, output, read, written, reasoning = (
        count_of(count)
        for count in (used.input, used.output, used.cache_read, used.cache_write, used.reasoning)
    )
    return NativeUsage(
        usage_id,
        escaped(model) or "unknown",
        without(whole, read, written),
        output,
        read,
        written,
        reasoning_tokens=part_of(reasoning, output),
        includes_subagents=True,
        subagents=children,
    )


def rewind(update: Update, record: Record, state: LogState, saying: str) -> None:
    turn = update.target_prompt_index
    text = "went back" if turn is None else f"went back to prompt {turn}"
    record.events.append(NativeEvent("human_intervention", "user", text, "rewind_marker"))
    if turn is not None and 0 <= turn < 1 << 31:
        record.back_to_prompt = state.goes_back(turn)


def retry(update: Update, record: Record, state: LogState, saying: str) -> None:
    text = update.reason or update.message or update.error or ""
    native_kind = f"{update.kind}/{one_line(update.type, 40)}" if update.type else update.kind
    event = NativeEvent("error", "system", one_line(text), native_kind, is_error=True, body=text)
    if update.type == "retrying" or update.kind == "auto_recovery_started":
        event.marks = ("retry",)
        event.summary = one_line(f"{text}, attempt {update.attempt or 1:g}")
    record.events.append(event)
