"""Translate the records of Codex that are no message or call: turns, settings, usage, errors."""

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.codex.lines import (
    Applied,
    Completed,
    EventText,
    ThreadSettings,
    TokenCount,
    TurnRecord,
    UsageRecord,
)
from session_memory.adapters.codex.reading import (
    LogReading,
    Translate,
    duration,
    message_of,
    text_of,
)
from session_memory.adapters.codex.state import short
from session_memory.adapters.codex.tokens import counts, from_total, to_usage
from session_memory.core.text import one_line

MOST_TURNS = 100_000


def task_started(reading: LogReading, native: TurnRecord, record: Record) -> None:
    state = reading.state
    state.begin_turn(native.turn_id)
    state.in_turn = state.has_turns = True
    state.answered_in_turn = False
    record.bookkeeping = "task_started"


def task_complete(reading: LogReading, native: TurnRecord, record: Record) -> None:
    reading.state.in_turn = False
    error = message_of(native.error)
    text = error or native.last_agent_message or "turn ended"
    event = NativeEvent("completion", "system", one_line(text), body=error)
    event.duration_ms = duration(native.duration_ms)
    if error:
        event.marks, event.is_error = ("error",), True
    record.events.append(event)


def turn_aborted(reading: LogReading, native: TurnRecord, record: Record) -> None:
    reading.state.in_turn = False
    reason = native.reason or "interrupted"
    event = NativeEvent("lifecycle", "system", one_line(reason))
    if reason == "interrupted":
        event.kind, event.role, event.is_interrupt = "human_intervention", "user", True
    event.duration_ms = duration(native.duration_ms)
    record.events.append(event)


def rolled_back(reading: LogReading, native: TurnRecord, record: Record) -> None:
    turns = max(min(native.num_turns or 0, MOST_TURNS), 0)
    record.turns_undone = turns
    summary = f"{turns} turn{'' if turns == 1 else 's'} undone"
    record.events.append(NativeEvent("human_intervention", "user", summary))


# ---------------------------------------------------------------- settings


def turn_context(reading: LogReading, native: ThreadSettings, record: Record) -> None:
    reading.state.begin_turn(native.turn_id)
    _settings(reading, native, record, "turn_context")


def settings_applied(reading: LogReading, native: Applied, record: Record) -> None:
    _settings(
        reading, native.thread_settings or ThreadSettings(), record, "thread_settings_applied"
    )


def _settings(reading: LogReading, native: ThreadSettings, record: Record, kind: str) -> None:
    """Add an event if the settings are new or changed; a change by a person is a decision. Settings
    that did not change are bookkeeping."""
    state = reading.state
    if not state.origin:
        record.cwd = native.cwd
    if native.model:
        state.model = one_line(native.model)
    modes = _modes(native)
    changed = [name for name in modes if name in state.modes and state.modes[name] != modes[name]]
    if not changed and modes.keys() <= state.modes.keys():
        record.bookkeeping = kind
        return
    state.modes = {**state.modes, **modes}
    # A review uses another model, which no person chose.
    by_person = state.is_person and bool(changed) and not (state.in_review and changed == ["model"])
    summary = ", ".join(f"{name} {modes[name]}" for name in changed or modes)
    event = NativeEvent("decision" if by_person else "lifecycle", "user", one_line(summary))
    record.events.append(event)


def _modes(native: ThreadSettings) -> dict[str, str]:
    modes = {
        "model": native.model,
        "approval": _word(native.approval_policy),
        "sandbox": _word(native.sandbox_policy),
        "mode": _word(native.collaboration_mode),
    }
    return {name: one_line(word) for name, word in modes.items() if word}


def _word(value: object) -> str | None:
    """Return a setting as one word: the text itself, or an object's type, mode or first name."""
    match value:
        case str(word) | {"type": str(word)} | {"mode": str(word)}:
            return word
        case {**parts} if parts:
            return str(next(iter(parts)))
    return None


# ---------------------------------------------------------------- usage


def token_count(reading: LogReading, native: TokenCount, record: Record) -> None:
    record.bookkeeping = "token_count"
    record.usage = from_total(reading.state, native)


def usage_record(reading: LogReading, native: UsageRecord, record: Record) -> None:
    state = reading.state
    record.bookkeeping = "token_usage_record"
    state.has_usage_records, state.has_answered = True, False
    used = counts(native.usage)
    if not any(used):
        return
    usage_id = native.response_id or record.native_id or state.name_of_text("t", reading.content)
    total = native.usage.total_tokens if native.usage else None
    record.usage = to_usage(short(usage_id), native.model or state.model, used, total)
    record.usage.service_tier = native.service_tier


# ---------------------------------------------------------------- everything else


def error(reading: LogReading, native: EventText, record: Record) -> None:
    text = message_of(native.message)
    record.events.append(NativeEvent("error", "system", one_line(text), body=text))


def stream_error(reading: LogReading, native: EventText, record: Record) -> None:
    text = message_of(native.message)
    event = NativeEvent("error", "system", one_line(text), body=text)
    event.marks = ("retry",)
    record.events.append(event)


def name_updated(reading: LogReading, native: EventText, record: Record) -> None:
    record.facts = {"ai_title": native.thread_name}
    record.events.append(NativeEvent("lifecycle", "system", one_line(native.thread_name or "")))


def review_of(is_begin: bool) -> Translate:
    def review(reading: LogReading, native: EventText, record: Record) -> None:
        reading.state.in_review = is_begin
        text = one_line(native.user_facing_hint or "")
        record.events.append(NativeEvent("lifecycle", "system", text))

    return review


def plan_item(reading: LogReading, native: Completed, record: Record) -> None:
    reading.answered()
    text = native.item.text or ""
    record.events.append(NativeEvent("decision", "assistant", one_line(text), body=text))


def other_item(reading: LogReading, native: Completed, record: Record) -> None:
    item = native.item
    if item.type in ("EnteredReviewMode", "ExitedReviewMode"):
        reading.state.in_review = item.type == "EnteredReviewMode"
    text = item.text or item.user_facing_hint or text_of(item.content)
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), body=text))


def unknown(reading: LogReading, native: EventText, record: Record) -> None:
    # New kinds of lines appear often. An unknown one is kept whole, so that a later release can
    # read it even after the file is deleted.
    words = (native.message, native.text, native.summary)
    text = next((word for word in words if isinstance(word, str)), "")
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), body=text))


def bookkeeping_of(kind: str) -> Translate:
    def bookkeeping(reading: LogReading, native: EventText, record: Record) -> None:
        record.bookkeeping = kind

    return bookkeeping
