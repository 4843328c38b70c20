"""Read a session of goose: lines made from its rows in the database, or a log of an old release."""

from collections.abc import Iterator
from itertools import chain
from typing import Any
from zlib import crc32

from session_memory.adapters.base import Cursor, NativeUsage, Readable, Record, SourceRef
from session_memory.adapters.cursor_state import StateText, bounded, read_lines
from session_memory.adapters.databases import reading_database
from session_memory.adapters.goose.messages import (
    message_events,
    shell_calls,
    without_codes,
)
from session_memory.adapters.goose.tables import GooseRows, seconds_as_ms, time_of
from session_memory.adapters.json_records import (
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.jsonl import decode_anything
from session_memory.adapters.providers import model_sold_by
from session_memory.adapters.reported_costs import SESSION_COSTS, microdollars
from session_memory.adapters.row_journal import journal_lines
from session_memory.adapters.row_messages import RowsState
from session_memory.adapters.token_counts import count_of, together, without
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line

_SUBAGENT = "sub_agent"
_CARRIED = "carried_forward"
_MOST_SHELLS = 64


class GooseState(RowsState):
    """What the adapter remembers after a line, to translate the next one.

    - ``model``: the present model of the session.
    - ``provider``: who sells the present model.
    - ``is_child``: the session is a subagent.
    - ``has_ledger``: goose logs the usage of each request of the session in the table
      ``usage_ledger``.
    - ``shells``: the last calls that ran a command.
    """

    model: str = ""
    provider: str = ""
    is_child: bool = False
    has_ledger: bool = False
    shells: dict[str, int] = {}


_TEXTS = StateText(GooseState)


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a log after ``cursor``, each with the cursor after it."""
    return read_lines(source, cursor, _TEXTS, _from_line)


def rows(ref: SourceRef, cursor: Cursor) -> Iterator[bytes]:
    """Yield a line for each row of a session that is new or changed since ``cursor``."""
    state = _TEXTS.restored(cursor.state).journal
    with reading_database(ref.place) as db:
        session = GooseRows(db, ref.session)
        first = session.session_unit()
        if first is None:
            return
        state = state.unless_older(first)
        units = chain([first], session.messages(state))
        yield from journal_lines(state, units, first.at, session.row_ids())


def _from_line(
    ref: SourceRef, state: GooseState, offset: int, length: int, line: bytes | None
) -> Record:
    record = new_record(offset, length, escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    row = mapping(native.get("row"))
    match native.get("table"):
        case None:
            _old_line(native, record, state)
            return record
        case "session":
            _session(row, record, state)
        case "message":
            message = {**row, "created": row.get("created_timestamp"), "id": row.get("message_id")}
            message["content"] = _decoded(row.get("content_json"))
            message["metadata"] = _decoded(row.get("metadata_json"))
            _message(message, record, state)
        case "usage":
            record.bookkeeping, record.usage = "usage", _usage(row, record, state)
        case _:
            record.bookkeeping, record.usage = "usage_ledger", _request(row, record, state)
    state.journal.note(native)
    return record


def _old_line(native: dict[str, Any], record: Record, state: GooseState) -> None:
    """Translate a line of an old JSONL file. The first line of the file describes the session, the
    others are messages."""
    if "role" in native or "content" in native:
        _message(native, record, state)
    else:
        _session(native, record, state)
        record.usage = _usage(native, record, state)


def _decoded(text: Any) -> Any:
    try:
        return decode_anything(text.encode()) if isinstance(text, str) else None
    except ValueError:
        return None


def _session(row: dict[str, Any], record: Record, state: GooseState) -> None:
    record.bookkeeping = "session"
    record.ts = time_of(row.get("created_at")) or None
    record.cwd = string(row.get("working_dir")) or None
    title = one_line(string(row.get("name")) or string(row.get("description")))
    facts: dict[str, Any] = {}
    if title:
        facts["custom_title" if row.get("user_set_name") else "ai_title"] = title
    if cost := microdollars(row.get("accumulated_cost")):
        facts[SESSION_COSTS] = {"": cost}
    record.facts = facts or None
    state.is_child = row.get("session_type") == _SUBAGENT
    if parent := string(row.get("parent_session_id")):
        record.parent_session = fit_native_id(parent)[0]
    _note_model(row, state)


def _note_model(row: dict[str, Any], state: GooseState) -> None:
    config = mapping(_decoded(row.get("model_config_json")))
    state.model = name_in(config.get("model_name")) or state.model
    state.provider = name_in(row.get("provider_name")) or state.provider


def _message(message: dict[str, Any], record: Record, state: GooseState) -> None:
    role, content = string(message.get("role")), message.get("content")
    record.ts = seconds_as_ms(message.get("created")) or None
    metadata = mapping(message.get("metadata"))
    # Since schema 16, an answer names its model.
    named = name_in(mapping(metadata.get("inference")).get("requestedModel"))
    model = named or state.model or None
    record.events = message_events(role, content, metadata, model, state.shells)
    for call in shell_calls(record.events):
        bounded(state.shells, _MOST_SHELLS)[call] = 1
    if state.is_child:
        for event in record.events:
            event.kind = "lifecycle" if event.kind == "user_msg" else event.kind
    # goose may write all messages of a session again, with the same ids. So the id has a checksum
    # of the content: a changed message is another record.
    own = name_in(message.get("id")) or f"{record.session}@{record.ts}"
    text = without_codes(repr(content))
    record.native_id = fit_native_id(f"{own}.{crc32(text.encode()):08x}")[0]
    if state.last and state.last != record.native_id:
        record.parent_id = state.last
    state.last = record.native_id


def _usage(row: dict[str, Any], record: Record, state: GooseState) -> NativeUsage | None:
    """Return the usage of the session so far; None if the usage of each request is logged.

    The usage of a session so far always has the same id, so only the largest one counts.
    """
    _note_model(row, state)
    if state.has_ledger:
        return None
    names = ("input", "output", "cache_read", "cache_write")
    sums = {f"{name}_tokens": row.get(f"accumulated_{name}_tokens") for name in names}
    return _counted(f"goose@{record.session}", sums, state.model, state)


def _request(row: dict[str, Any], record: Record, state: GooseState) -> NativeUsage | None:
    """Return the usage of one request, a row of the table ``usage_ledger``.

    If a session began before goose had this table, the session's first row in the table has the
    sums until then. The usage of this row gets the id of the session's sums, so that they count
    once.
    """
    state.has_ledger = True
    record.ts = seconds_as_ms(row.get("created_timestamp")) or None
    name = f"goose@{record.session}"
    if row.get("cost_source") != _CARRIED:
        name = f"{name}@{row.get('id')}"
    return _counted(name, row, name_in(row.get("model")) or state.model, state)


def _counted(name: str, row: dict[str, Any], model: str, state: GooseState) -> NativeUsage | None:
    """Return the tokens of a row as a usage with the id ``name``; None if there are none. The row's
    input includes the tokens that were read from a cache and written to it."""
    sent, given = count_of(row.get("input_tokens")), count_of(row.get("output_tokens"))
    read = count_of(row.get("cache_read_tokens"))
    written = count_of(row.get("cache_write_tokens"))
    if not sent and not given:
        return None
    return NativeUsage(
        name,
        model_sold_by(state.provider, model or "unknown"),
        input_tokens=without(sent, together(read, written)),
        output_tokens=given,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
