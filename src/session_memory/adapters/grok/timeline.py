"""Translate one line of a Grok timeline (``events.jsonl``): how calls ended and who allowed them.

The timeline tells about the same turns as the log, ``updates.jsonl``. So most of its lines give no
events, only details that the log leaves out.
"""

from zlib import crc32

import msgspec

from session_memory.adapters.base import CallOutcome, NativeEvent, Record, SourceRef
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.grok.kinds import TIMELINE_BOOKKEEPING
from session_memory.adapters.grok.lines import Moment, decode_moment
from session_memory.adapters.grok.names import MOST_MS, fit
from session_memory.core.text import one_line
from session_memory.core.time import time_or_none

# A person needs at least this long to read and answer. A rule gave any faster answer.
PERSONS_WAIT_MS = 500
MOST_GRANTS = 64
FAILED = frozenset(
    {
        *("error", "hook_denied", "invalid_tool", "cancelled"),
        *("permission_rejected", "permission_cancelled", "followup"),
    }
)
REFUSED = frozenset({"permission_rejected", "permission_cancelled", "followup"})
_DETAIL = 120


class TimelineState(msgspec.Struct, array_like=True):
    """What the adapter remembers after a line, to translate the next one.

    ``is_yolo``: all calls are allowed without a question. ``answers``: the answers to permission
    questions whose calls have not ended: the tool, and whether a person allowed the call.
    """

    is_yolo: bool = False
    answers: list[tuple[str, bool]] = []


_text = StateText(TimelineState)
saved, restored = _text.saved, _text.restored


def from_moment(
    ref: SourceRef, state: TimelineState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line, and update ``state``."""
    record = Record(offset, length, fit(ref.session))
    if line is None:
        record.problem = "line too long"
        return record
    try:
        moment, record.lenient = decode_moment(line)
    except ValueError as error:
        record.problem, record.problem_detail = "malformed line", one_line(str(error), _DETAIL)
        return record
    record.check = crc32(line)
    record.ts = time_or_none(moment.ts)
    match moment.type:
        case "turn_started":
            state.is_yolo, state.answers = bool(moment.yolo_mode), []
        case "permission_resolved":
            _answered(moment, state)
        case "tool_completed" if moment.call_id and moment.source is None:
            record.outcomes = [_outcome(moment, moment.call_id, state)]
        case "yolo_toggled":
            _toggled(moment, record, state)
    if moment.type in TIMELINE_BOOKKEEPING:
        record.bookkeeping = moment.type
    elif not record.events:
        _lifecycle(moment, record)
    return record


def _answered(moment: Moment, state: TimelineState) -> None:
    by_person = (moment.wait_ms or 0) > PERSONS_WAIT_MS and not state.is_yolo
    answer = ((moment.tool or "")[:100], by_person and moment.decision == "allow")
    state.answers = [*state.answers, answer][-MOST_GRANTS:]


def _outcome(moment: Moment, call_id: str, state: TimelineState) -> CallOutcome:
    """Return the outcome of a call.

    Permission questions name the tool and not the call. So each call that ends takes the first
    answer for its tool.
    """
    granted = False
    for place, (tool, by_person) in enumerate(state.answers):
        if tool == (moment.tool or "")[:100]:
            granted = by_person
            state.answers = state.answers[:place] + state.answers[place + 1 :]
            break
    spent = moment.duration_ms
    marks = ("decision",) if granted else ()
    if moment.outcome in REFUSED:
        marks = (*marks, "human_intervention")
    return CallOutcome(
        call_id,
        is_error=True if moment.outcome in FAILED else None,
        duration_ms=int(spent) if spent is not None and 0 <= spent < MOST_MS else None,
        marks=marks,
    )


def _toggled(moment: Moment, record: Record, state: TimelineState) -> None:
    state.is_yolo = bool(moment.enabled)
    text = "every call allowed" if moment.enabled else "calls need permission again"
    record.events.append(NativeEvent("decision", "user", text, "yolo_toggled"))


def _lifecycle(moment: Moment, record: Record) -> None:
    text = moment.error_message or moment.error or moment.reason or moment.server or moment.tool
    kind = one_line(moment.type) or "untyped"
    text = text or ""
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))
