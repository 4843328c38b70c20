"""Translate one line of an opencode session into one record. A line has rows of the database."""

from typing import Any

from session_memory.adapters.base import NativeEvent, Record, SourceRef
from session_memory.adapters.conversation import word
from session_memory.adapters.handed_copies import MARK, mark_copy
from session_memory.adapters.json_records import (
    items,
    mapping,
    name_in,
    new_record,
    object_in_line,
    string,
)
from session_memory.adapters.opencode.messages import (
    children,
    message_blocks,
    own_command,
    tells_own_command,
    usages,
)
from session_memory.adapters.opencode.next_messages import next_message
from session_memory.adapters.opencode.state import OpencodeState
from session_memory.adapters.opencode.units import (
    created_at,
    data_of,
    is_unfinished,
    parts_of,
    time_of,
)
from session_memory.adapters.row_messages import add_blocks
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line

# The name in a part's metadata under which a handoff puts its mark.
PLACE_OF_MARK = "sessionMemory"
# Until a model has written a title for a session, the title begins with one of these texts.
_NO_TITLES = ("New session - ", "Child session - ")


def from_line(
    ref: SourceRef, state: OpencodeState, offset: int, length: int, line: bytes | None
) -> Record:
    """Return the record of one line of the journal (`row_journal`). Update ``state``, which the
    next lines need."""
    record = new_record(offset, length, escaped(ref.session))
    native = object_in_line(record, line)
    if native is None:
        return record
    blocks: list[str] = []
    match native.get("table"):
        case "session":
            _session(native, record, state)
        case "message":
            row = mapping(native.get("row"))
            info, parts = (
                {**data_of(row), "id": row.get("id")},
                parts_of(items(native.get("parts"))),
            )
            is_open, again = native.get("open") is True, native.get("again") is True
            back = _back_before(name_in(native.get("removed")), record, state)
            blocks = add_message(record, state, info, parts, is_open=is_open, again=again)
            record.events = [*back, *record.events] if record.events else []
        case "todo":
            record.bookkeeping = "todo"
        case table:
            row = mapping(native.get("row"))
            if table == "session_message" and (message := next_message(row)) is not None:
                blocks = add_message(record, state, *message, is_open=native.get("open") is True)
            else:
                _other(word(table), row, record)
    state.journal.note(native, blocks)
    return record


def _copied_from(parts: list[dict[str, Any]]) -> object:
    """Return the session that a handoff copied a message from; None if not all of its parts have
    the same mark."""
    marks = [mapping(mapping(part.get("metadata")).get(PLACE_OF_MARK)).get(MARK) for part in parts]
    return marks[0] if marks and all(mark == marks[0] for mark in marks) else None


def _other(table: str, row: dict[str, Any], record: Record) -> None:
    """Add the event of a row from a table that this release does not know."""
    kind = f"{table}/{word(row.get('type'))}"
    text = string(row.get("data"))
    record.ts = time_of(row.get("time_created")) or None
    record.events.append(NativeEvent("lifecycle", "system", one_line(text), kind, body=text))


# ---------------------------------------------------------------- the session


def _session(native: dict[str, Any], record: Record, state: OpencodeState) -> None:
    row = mapping(native.get("row"))
    info = session_info(row)
    project = mapping(native.get("project"))
    add_session(record, state, info, string(native.get("first")))
    _copied_child(record, state, info)
    message = name_in(mapping(info.get("revert")).get("messageID"))
    _take_back(record, state, message, is_restored=native.get("restored") is True)
    root = string(project.get("worktree"))
    if project.get("vcs") and root not in ("", "/"):
        record.facts = {**(record.facts or {}), "repository_root": root}


def session_info(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a session with the field names of exports and of old releases' files.

    The columns of the database have other names.
    """
    if "data" in row:
        return data_of(row)
    times = {name: row.get(f"time_{name}") for name in ("created", "updated")}
    revert = data_of({"data": row.get("revert")})
    names = {"parentID": "parent_id", "directory": "directory", "title": "title"}
    return {
        **{name: row.get(column) for name, column in names.items()},
        "version": row.get("version"),
        "time": times,
        "revert": revert,
    }


def add_session(record: Record, state: OpencodeState, info: dict[str, Any], first: str) -> None:
    """Fill in the record of the session's own row as bookkeeping. ``first`` identifies the first
    message of the session."""
    state.lineage = state.lineage or first
    record.bookkeeping = "session"
    record.ts = created_at(info) or None
    record.cwd = string(info.get("directory")) or None
    record.agent_version = string(info.get("version")) or None
    title = string(info.get("title"))
    if title and not title.startswith(_NO_TITLES):
        record.facts = {"ai_title": one_line(title)}
    if parent := string(info.get("parentID")):
        record.parent_session, state.is_child = fit_native_id(parent)[0], True


def _copied_child(record: Record, state: OpencodeState, info: dict[str, Any]) -> None:
    """Add an event to a subagent that a fork copied: a subagent with messages older than itself.

    Kilo copies the subagents of a session with the session. Without a record of its own, the copy
    would look like the origin of the records that both have.
    """
    begun = state.lineage.partition(".")[0]
    if state.last or not state.is_child or not begun.isdecimal():
        return
    if 0 < int(begun) < created_at(info):
        record.bookkeeping = None
        record.events.append(NativeEvent("lifecycle", "system", "copied by a fork", "session/fork"))
        record.native_id = fit_native_id(f"oc@{record.session}@fork")[0]
        state.last = record.native_id


def _take_back(record: Record, state: OpencodeState, message: str, *, is_restored: bool) -> None:
    """Take the session back to before the prompt ``message``.

    If ``message`` is empty and ``is_restored`` is set, the person restored the messages that were
    taken back. If ``message`` is empty and ``is_restored`` is not set, opencode has removed those
    messages, as it does at the next prompt; then the record gets no event.
    """
    before, state.revert = state.revert, message
    if message == before:
        return
    place = state.before.get(message) if message else state.turned
    if place is None or not (message or is_restored):
        return
    event = _taken_back()
    if message:
        state.turned = state.last if not before else state.turned
    else:
        event.kind, event.summary = "lifecycle", "what was taken back is restored"
    record.bookkeeping = None
    record.events.append(event)
    record.follows, record.stands_at, state.last = True, place, place


def _back_before(message: str, record: Record, state: OpencodeState) -> list[NativeEvent]:
    """Go back to before the prompt ``message``, which opencode removed when the next prompt came.
    Return an event for going back; no event if an earlier sync already went back there."""
    place = state.before.get(message)
    if place is None or place == state.last:
        return []
    record.stands_at = state.last = place
    return [_taken_back()]


def _taken_back() -> NativeEvent:
    text = "back to an earlier prompt"
    return NativeEvent("human_intervention", "user", text, "session/revert")


# ---------------------------------------------------------------- messages


def add_message(
    record: Record,
    state: OpencodeState,
    info: dict[str, Any],
    parts: list[dict[str, Any]],
    *,
    is_open: bool = False,
    again: bool = False,
) -> list[str]:
    """Set the events and the usage of a message's record. Return the names of its blocks.

    ``is_open``: opencode is still writing the message. ``again``: only details of its rows changed.
    """
    name, own = name_in(info.get("id")), message_id(state, info)
    record.ts = created_at(info) or None
    record.cwd = string(mapping(info.get("path")).get("cwd")) or None
    blocks = message_blocks(info, parts, is_open=is_open)
    if tells_own_command(parts):
        state.own_command = name
    elif state.own_command and info.get("parentID") == state.own_command:
        blocks = [(block, own_command(one) if one.call_id else one) for block, one in blocks]
    for _, event in blocks:
        event.response_id = own if event.model is not None else None
        if event.kind == "user_msg" and state.is_child:
            event.kind = "lifecycle"
    if not again and any(event.is_prompt for _, event in blocks):
        state.prompt(name)
    is_partial = is_unfinished(info)
    names = add_blocks(record, state, name, own, blocks, is_partial=is_partial, again=again)
    if not again and not is_partial:
        used = usages(info, parts, own)
        record.usage, record.more_usage = (used[0], used[1:]) if used else (None, [])
    if links := children(parts):
        record.link, record.more_links = links[0], links[1:]
    mark_copy(record, _copied_from(parts))
    return names


def message_id(state: OpencodeState, info: dict[str, Any]) -> str:
    """Return the native id of a message, the same in every copy of it.

    opencode gives the copies in a fork other ids. So the native id is made from the session's first
    message and from the time and role of the message itself.
    """
    role = word(info.get("role"))[:1]
    return fit_native_id(f"oc@{state.lineage}@{created_at(info)}{role}")[0]
