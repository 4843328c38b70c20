"""Translate one line of Grok's ``updates.jsonl`` into one record. The table lists all known kinds
of lines."""

from zlib import crc32

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.grok.calls import (
    backgrounded,
    call,
    call_update,
    finished,
    spawned,
    task_completed,
)
from session_memory.adapters.grok.kinds import BOOKKEEPING
from session_memory.adapters.grok.lines import LineMeta, Update, decode_line
from session_memory.adapters.grok.messages import agent_chunk, lifecycle, said_in, user_chunk
from session_memory.adapters.grok.names import directory_of, fit, record_id, time_of
from session_memory.adapters.grok.state import LogState
from session_memory.adapters.grok.turns import retry, rewind, turn_completed
from session_memory.core.text import one_line

PLANNING_TOOLS = frozenset({"enter_plan_mode", "exit_plan_mode"})
_DETAIL = 120


def from_line(
    ref: SourceRef, state: LogState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    saying, state.saying = state.saying, ""
    if line is None:
        return Record(offset, length, fit(ref.session), problem="line too long")
    try:
        native, lenient = decode_line(line)
    except ValueError as error:
        detail = one_line(str(error), _DETAIL)
        return Record(
            offset, length, fit(ref.session), problem="malformed line", problem_detail=detail
        )
    params = native.params or native
    meta = params.meta or LineMeta()
    named = params.session or ref.session
    record = Record(
        offset,
        length,
        fit(named),
        native_id=record_id(meta),
        ts=time_of(meta.ms, native),
        follows=True,
        cwd=directory_of(ref.home_path),
        lenient=lenient,
    )
    if record.session != named:
        record.unfit_name = named
    if record.native_id is None:
        # The first versions log no ids, so a copy of such a line gets another id.
        record.native_id = f"grok@{record.session}@{offset}-{crc32(line):08x}"
    update = params.update or Update()
    if state.interrupted(record.session, offset):
        saying = ""
    if update.kind == "turn_completed":
        turn_completed(update, record, state, meta.cancelled_by)
    else:
        _TRANSLATE.get(update.kind, _unknown)(update, record, state, saying)
    if state.saying and (record.events or record.continues):
        state.speaker, state.said_to = record.session, offset + length
    return record


def _model_changed(update: Update, record: Record, state: LogState, saying: str) -> None:
    model = update.model_id or update.new_model_id
    lifecycle(update, record, model)
    # A model that the agent switched to by itself is no decision of a person.
    if model and state.model and model != state.model and update.kind == "model_changed":
        record.events[0].kind, record.events[0].role = "decision", "user"
    state.model = model or state.model


def _mode(update: Update, record: Record, state: LogState, saying: str) -> None:
    lifecycle(update, record, update.mode)
    if update.mode and update.mode != state.mode:
        state.mode = update.mode[:100]
        # The agent may change the mode with a call. If a person decided, the result has the
        # decision.
        if not any(tool in PLANNING_TOOLS for tool, _ in state.calls.values()):
            record.events[0].kind, record.events[0].role = "decision", "user"


def _titled(update: Update, record: Record, state: LogState, saying: str) -> None:
    record.facts = {"ai_title": update.session_summary}
    lifecycle(update, record, update.session_summary)


def _bookkeeping(update: Update, record: Record, state: LogState, saying: str) -> None:
    record.bookkeeping = update.kind
    # Such a line may come between two chunks of a message and does not end the message.
    state.saying = saying if saying.startswith("user") else ""


def _unknown(update: Update, record: Record, state: LogState, saying: str) -> None:
    # New kinds of lines appear often. An unknown one is kept whole, so that a later release can
    # read it even after the file is deleted.
    text = update.summary or update.message or update.reason or update.error or update.title
    more = update.summary_preview or update.event_text or update.objective or update.prompt
    lifecycle(update, record, text or more or update.name or update.event_name or said_in(update))


_TRANSLATE = {
    **dict.fromkeys(BOOKKEEPING, _bookkeeping),
    "user_message_chunk": user_chunk,
    "agent_message_chunk": agent_chunk,
    "agent_thought_chunk": agent_chunk,
    "tool_call": call,
    "tool_call_update": call_update,
    "rewind_marker": rewind,
    "retry_state": retry,
    "auto_recovery_started": retry,
    "auto_recovery_exhausted": retry,
    "auto_compact_failed": retry,
    "subagent_spawned": spawned,
    "subagent_finished": finished,
    "task_backgrounded": backgrounded,
    "task_completed": task_completed,
    "model_changed": _model_changed,
    "model_auto_switched": _model_changed,
    "current_mode_update": _mode,
    "session_summary_generated": _titled,
}
