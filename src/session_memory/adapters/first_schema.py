"""Read sessions that were imported from a store with records of schema version 1.

`session_memory.retain.first_store` writes one log for each session of such a store: a line for each
event with its payload, lines for digests, and at the end the session itself. The sessions keep
their agent's flavor. The name of such a log ends with ``ENDING``. Only this ending distinguishes it
from a log in the agent's own format.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.base import (
    Cursor,
    NativeEvent,
    NativeUsage,
    Readable,
    Record,
    SourceRef,
)
from session_memory.adapters.detectors import shell_text
from session_memory.adapters.event_text import strings_in
from session_memory.adapters.token_counts import count_of
from session_memory.adapters.tool_results import result_event
from session_memory.core.errors import InvalidRecord
from session_memory.core.first_schema import CALLS, ENDING, RESULTS
from session_memory.core.text import escaped, one_line
from session_memory.core.time import parse_time

LONGEST_PROMPT = 256 * 1024
_ROLES = {
    **dict.fromkeys(("user_msg", "human_intervention", "decision"), "user"),
    **dict.fromkeys(("assistant_msg", "thinking", *CALLS), "assistant"),
    "tool_result": "tool",
}


def is_first_schema(ref: SourceRef) -> bool:
    """Whether a source is a log of schema version 1, by the end of its name."""
    return ref.path.name.endswith(ENDING)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield one record for each line of a log of schema version 1."""
    with source.open(cursor.offset) as stream:
        for offset, length, line in jsonl.split_lines(stream, cursor.offset):
            record = Record(offset, length, source.ref.session, follows=True)
            _translate(record, line)
            yield Cursor(offset + length), record


def _translate(record: Record, line: bytes | None) -> None:
    try:
        native = jsonl.decode_anything(line or b"")
    except ValueError:
        native = None
    match native:
        case {"line": "event", "record": {"session_uid": str(uid), "seq": int(seq)} as event}:
            record.native_id = f"{uid}/schema-v1/{seq}"
            record.ts = _time(event.get("ts"))
            record.is_sidechain = event.get("is_sidechain") is True
            record.events = [_event(event, native)]
        case {"line": "digest", "record": dict(digest)}:
            record.native_id = _id_of(line)
            text = escaped("\n".join(strings_in(digest)))
            record.events = [
                NativeEvent("lifecycle", "system", one_line(text), "schema-v1/digest", body=text)
            ]
        case {"line": "session", "record": dict(session)}:
            record.native_id = _id_of(line)
            _session(session, record)
        case _:
            record.problem = "unreadable line"


def _event(event: dict[str, Any], native: dict[str, Any]) -> NativeEvent:
    kind = _text(event.get("kind")) or "lifecycle"
    role, tool = _text(event.get("role")) or _ROLES.get(kind, "system"), _text(event.get("tool"))
    payload, call_id = native.get("payload"), _text(native.get("call_id")) or None
    body = escaped(payload if isinstance(payload, str) else "\n".join(strings_in(payload)))
    summary = one_line(escaped(_text(event.get("summary")))) or one_line(body)
    label = f"schema-v1/{kind}"
    if call_id and kind in RESULTS:
        made = result_event(call_id, summary, label, failed=kind == "error")
        made.tool, made.body = tool or None, body
        return made
    made = NativeEvent(kind, role, summary, label, tool=tool or None, body=body)
    if call_id and kind in CALLS:
        made.call_id = call_id
        made.marks = () if kind == "tool_call" else ("tool_call",)
        if isinstance(payload, dict):
            arguments = payload.get("input", payload.get("arguments", payload))
            made.arguments, made.body = arguments, ""
        made.is_shell = shell_text(tool, made.arguments or {"command": summary}) is not None
    elif kind == "user_msg":
        made.is_prompt, made.text = True, (body or summary)[:LONGEST_PROMPT]
    elif kind == "assistant_msg":
        made.model = _text(native.get("model")) or None
    made.is_error = kind == "error"
    return made


def _session(session: dict[str, Any], record: Record) -> None:
    """Fill in the record of the log's last line: the session's directory, branch, task, usage and
    outcome."""
    record.ts = _time(session.get("ended_at")) or _time(session.get("started_at"))
    record.cwd = _text(session.get("cwd")) or None
    record.git_branch = _text(session.get("git_branch")) or None
    record.facts = {
        name: value
        for name, value in (
            ("repository", _text(session.get("repo"))),
            ("task_ref", _text(session.get("task_ref"))),
        )
        if value
    }
    cost = session.get("cost")
    if isinstance(cost, dict):
        record.usage = _usage(session, cost)
    outcome = _text(session.get("outcome")) or "unknown"
    event = NativeEvent("lifecycle", "system", f"outcome: {outcome}", "schema-v1/session")
    event.model = _text(session.get("model")) or None
    record.events = [event]


def _usage(session: dict[str, Any], cost: dict[str, Any]) -> NativeUsage | None:
    """Return the tokens of the whole session; None if there are none.

    Most sessions of version 1 have one number for all cached tokens. It counts as cache reads.
    """
    read, written = cost.get("cache_read_tokens"), cost.get("cache_write_tokens")
    cached = count_of(cost.get("cache_tokens"))
    used = NativeUsage(
        usage_id=f"schema-v1/{_text(session.get('session_uid'))}",
        model=_text(session.get("model")),
        input_tokens=count_of(cost.get("input_tokens")),
        output_tokens=count_of(cost.get("output_tokens")),
        cache_read_tokens=count_of(read) if read or written else cached,
        cache_write_tokens=count_of(written),
    )
    counted = used.input_tokens + used.output_tokens + used.cache_read_tokens
    return used if counted + used.cache_write_tokens else None


def _id_of(line: bytes | None) -> str:
    """Return a native id for a line: a hash of its content.

    A second import of a changed session repeats most lines, and a repeated line gets the same id.
    """
    return f"schema-v1/{blake2b((line or b'').strip(), digest_size=16).hexdigest()}"


def _time(value: Any) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        return parse_time(value)
    except InvalidRecord:
        return None


def _text(value: Any) -> str:
    return escaped(value) if isinstance(value, str) else ""
