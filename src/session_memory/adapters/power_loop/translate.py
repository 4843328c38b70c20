"""Translate one dumped row of a power-loop database into one record."""

from typing import Any

from session_memory.adapters.base import NativeEvent, NativeUsage, Record
from session_memory.adapters.conversation import ConversationMessage, events_of, word
from session_memory.adapters.decoding import refuse_many_parts
from session_memory.adapters.event_text import strings_in
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.token_counts import count_of, without
from session_memory.core.ids import fit_native_id
from session_memory.core.text import one_line

NOTE = "compact_note"
_DETAIL = 120
_SECONDS = 100_000_000_000
_LATEST = 253_402_300_799_999


def from_row(offset: int, length: int, line: bytes | None) -> Record:
    """Return the record of one dumped row: a message, a compaction, a session's beginning, the
    usage of a round, or a row of an unknown table."""
    record = Record(offset, length, "unknown", follows=True)
    if line is None:
        record.problem = "row too long"
        return record
    try:
        refuse_many_parts(line)
        row = decode_anything(line)
    except ValueError as error:
        record.problem, record.problem_detail = "malformed row", one_line(str(error), _DETAIL)
        return record
    if not isinstance(row, dict) or not isinstance(row.get("session_id"), str):
        record.problem = "row without a session"
        return record
    native = row["session_id"]
    record.session, unfit = fit_native_id(native)
    record.unfit_name = native if unfit else None
    record.ts = time_of(row.get("created_at"))
    _TRANSLATE.get(word(row.get("table")), _other)(row, record)
    return record


def _born(row: dict[str, Any], record: Record) -> None:
    record.bookkeeping = "sessions"
    record.follows = False
    parent = row.get("parent_session_id")
    if isinstance(parent, str) and parent:
        record.parent_session = fit_native_id(parent)[0]
        record.spawn_call_id = _text(row, "spawn_tool_call_id")
        depth = row.get("spawn_depth")
        record.spawn_depth = depth if isinstance(depth, int) and 0 < depth < 100 else None


def _message(row: dict[str, Any], record: Record) -> None:
    seq = row.get("seq")
    record.native_id = row_id(record, seq)
    record.ordinal = seq if isinstance(seq, int) else None
    meta = decoded(row.get("meta_json"))
    facts = meta if isinstance(meta, dict) else {}
    message = ConversationMessage(
        role=str(row.get("role") or "untyped"),
        content=_content(row.get("content"), facts),
        tool_calls=decoded(row.get("tool_calls_json")),
        tool_call_id=_text(row, "tool_call_id"),
        name=_text(row, "name"),
        model=_text(row, "model"),
        is_injected=bool(facts.get("synthetic")),
        is_error=facts.get("is_error") is True or facts.get("ok") is False,
    )
    record.events = events_of(message)


def _content(text: Any, meta: dict[str, Any]) -> Any:
    """Return the content of a message. Since release 3.4, a list of parts is stored as JSON, and
    ``content_encoding`` says so."""
    return decoded(text) if meta.get("content_encoding") == "json" else text


def _compaction(row: dict[str, Any], record: Record) -> None:
    record.native_id = row_id(record, f"c{row.get('compact_seq')}")
    text = f"messages {row.get('from_seq')} to {row.get('to_seq')} behind {row.get('note_seq')}"
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), "compaction"))


def _used(row: dict[str, Any], record: Record) -> None:
    """Set the usage of a round.

    Most providers count cached tokens as a part of the prompt. If more tokens were cached than
    sent, the provider counts them separately.
    """
    record.bookkeeping = "usage_rounds"
    sent, read = count_of(row.get("prompt_tokens")), count_of(row.get("cached_tokens"))
    place = f"{row.get('send_index', 0)}.{row.get('round_index')}.{row.get('created_at')}"
    record.usage = NativeUsage(
        f"power_loop@{record.session}@{place}",
        _text(row, "model") or "unknown",
        input_tokens=without(sent, read) if sent >= read else sent,
        output_tokens=count_of(row.get("completion_tokens")),
        cache_read_tokens=read,
    )


def _other(row: dict[str, Any], record: Record) -> None:
    """Add the event of a row from an unknown table. The whole row is stored for a later release."""
    kind = word(row.get("table"))
    record.native_id = row_id(record, f"{kind}.{row.get('event_id', record.offset)}")
    text = str(row.get("kind") or row.get("payload_json") or "")
    texts = "\n".join(strings_in(row))
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=texts))


_TRANSLATE = {
    "sessions": _born,
    "messages": _message,
    "compactions": _compaction,
    "usage_rounds": _used,
}


def from_session(offset: int, length: int, line: bytes | None) -> Record | None:
    """Return the record with the facts about a session; None for rows of other tables."""
    try:
        row = decode_anything(line or b"")
    except ValueError:
        return None
    if not isinstance(row, dict) or row.get("table") != "sessions":
        return None
    native = row.get("session_id")
    if not isinstance(native, str) or not native:
        return None
    metadata = decoded(row.get("metadata_json"))
    metadata_facts = metadata if isinstance(metadata, dict) else {}
    facts = {
        "model": _text(row, "model"),
        "cwd": _text(metadata_facts, "cwd"),
        "title": _text(metadata_facts, "title"),
    }
    return Record(offset, length, fit_native_id(native)[0], facts=facts)


def decoded(text: Any) -> Any:
    """Return the decoded JSON of a column; None if it is empty or invalid."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return decode_anything(text.encode())
    except ValueError:
        return None


def row_id(record: Record, seq: Any) -> str:
    return native_row_id(record.session, seq, record.ts)


def native_row_id(session: str, seq: Any, at: int | None) -> str:
    """Return the native id of a row's record. The time is part of it, because programs use the id
    of a session again."""
    return f"power_loop@{session}@{seq}@{at or 0}"


def time_of(value: Any) -> int | None:
    """Return a time in milliseconds; None for anything else. Some programs store seconds in their
    own rows."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    at = value * 1000 if value < _SECONDS else value
    return at if at <= _LATEST else None


def _text(row: dict[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) and value else None
