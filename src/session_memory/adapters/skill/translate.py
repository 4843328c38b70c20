"""Translate one line of a skill log into one record: the call, each attempt, and the result."""

from functools import lru_cache
from hashlib import blake2b

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.skill.layout import ENDING
from session_memory.adapters.skill.lines import (
    DecodedSkillLine,
    LoggedAttempt,
    SkillLine,
    decode,
    value_of,
)
from session_memory.adapters.tool_results import result_event
from session_memory.core.ids import fit_native_id
from session_memory.core.skills import ATTEMPT, RESULT, label, verdict_of
from session_memory.core.text import SUMMARY, escaped, one_line
from session_memory.core.time import time_or_none

_DETAIL = 120
# No call takes longer than this. Sums of larger durations would not fit into a database column.
_MOST_MS = 1e12
_SHOWN_INPUT = 4 * SUMMARY


def from_line(ref: SourceRef, offset: int, length: int, line: bytes | None) -> Record:
    """Return the record of one line. The record has a problem if the line cannot be read or belongs
    to another session."""
    record = _record(ref.session, offset, length)
    if line is None:
        return _refused(record, "line too long")
    try:
        decoded = decode(line)
    except ValueError as error:
        return _refused(record, "malformed line", str(error))
    native = decoded.line
    # In older logs the lines do not name the session. Then only the name of the file does.
    if native.session_id and native.session_id != ref.session:
        if not _is_named(ref, native.session_id):
            return _refused(record, "entry of another session", native.session_id)
        record = _record(native.session_id, offset, length)
    record.lenient = decoded.is_lenient
    call_id = blake2b(line, digest_size=8).hexdigest()
    # Two equal lines are two calls, so the offset is part of the id.
    record.native_id, record.follows = f"skill@{record.session}@{offset}-{call_id}", True
    record.ts = time_or_none(native.timestamp)
    record.cwd = native.project_root or None
    if decoded.is_entry:
        record.facts = {"agent_name": label(native.skill or "")} if not offset else None
        record.events = _events(decoded, call_id)
    else:
        # An unknown entry is kept whole, so that a later release can read it.
        record.events = [NativeEvent("lifecycle", "system", _shown(native.message), "untyped")]
    return record


def _record(session: str, offset: int, length: int) -> Record:
    fitting = _fit(session)
    return Record(offset, length, fitting, unfit_name=session if fitting != session else None)


def _is_named(ref: SourceRef, session: str) -> bool:
    """Whether a log belongs to ``session`` by its path. The log of ``feat/x`` is the file ``x`` in
    the directory ``feat``."""
    name = escaped(session)
    return _fit(session) == _fit(ref.session) or escaped(f"/{ref.path.as_posix()}").endswith(
        f"/{name}{ENDING}"
    )


def _refused(record: Record, reason: str, detail: str = "") -> Record:
    record.problem, record.problem_detail = reason, one_line(escaped(detail), _DETAIL)
    return record


@lru_cache(maxsize=4096)
def _fit(native_id: str) -> str:
    # An id may be part of a file's name, and the store escapes such names. The id is escaped here
    # too, so that it is the same when the name is read back from the store.
    return fit_native_id(escaped(native_id))[0]


def _events(decoded: DecodedSkillLine, call_id: str) -> list[NativeEvent]:
    events = [_call(decoded.line, call_id)]
    events += (_attempt(attempt, place) for place, attempt in enumerate(decoded.tries))
    events.append(_result(decoded, call_id))
    skill = label(decoded.line.skill or "")
    for event in events:
        event.tool = skill
    return events


def _call(native: SkillLine, call_id: str) -> NativeEvent:
    given = value_of(native.input)
    text = given if isinstance(given, str) else _beginning(native)
    if native.phase:
        text = f"{native.phase}: {text}" if text else native.phase
    return NativeEvent(
        "tool_call",
        "assistant",
        _shown(text),
        "entry",
        call_id=call_id,
        path=native.file_path or None,
        arguments=given,
    )


def _beginning(native: SkillLine) -> str:
    body = bytes(memoryview(native.input)[:_SHOWN_INPUT])
    return "" if body == b"null" else body.decode("utf-8", "ignore")


def _attempt(attempt: LoggedAttempt, place: int) -> NativeEvent:
    """Return the event of an attempt.

    ``verified`` in the log means that a run confirmed the attempt with exit code 0.
    """
    said_no = verdict_of(attempt.verdict or "") == "fail"
    failed = not attempt.verified and (said_no or bool(attempt.runner_output))
    marks = ("retry", "error") if failed else ("retry",)
    return NativeEvent(
        "assistant_msg",
        "assistant",
        _shown(attempt.output_summary or attempt.runner_output),
        ATTEMPT,
        marks=marks if place else marks[1:],
        model=label(attempt.model) if attempt.model else None,
        is_error=failed,
        duration_ms=_ms(attempt.duration_ms),
        exit_code=0 if attempt.verified else None,
        body=escaped(attempt.output_summary or ""),
        arguments=_evidence(runner_output=attempt.runner_output, feedback=attempt.feedback),
    )


def _result(decoded: DecodedSkillLine, call_id: str) -> NativeEvent:
    status, message = one_line(escaped(decoded.line.final_status or "")), decoded.line.message
    failed = verdict_of(status) == "fail"
    summary = _shown(f"{status}: {message}" if message else status)
    event = result_event(call_id, summary, RESULT + status, failed=failed)
    event.model = label(decoded.model) if decoded.model else None
    event.duration_ms, event.arguments = _ms(decoded.took_ms), _evidence(message=message)
    return event


def _evidence(**texts: str | None) -> dict[str, str] | None:
    """Return the texts that are not empty, by their names; None if there are none.

    The model did not write these texts, so the analysis looks only here for reasons of a failure.
    """
    return {name: escaped(text) for name, text in texts.items() if text} or None


def _shown(text: str | None) -> str:
    return one_line(escaped(text or ""))


def _ms(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value <= _MOST_MS else None
