"""Read documents that an agent rewrites as a whole.

A small document beside a log is one record (`read_document`). A document with the messages of a
session is stored as lines: each version adds lines for the messages that are new or changed, and
each line is a record (`read_messages`).
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from session_memory.adapters.base import Cursor, NativeEvent, Readable, Record, SourceRef
from session_memory.adapters.cursor_state import StateText, read_lines
from session_memory.adapters.json_records import mapping, new_record, object_in_line, string
from session_memory.adapters.jsonl import decode_anything

LONGEST_DOCUMENT = 1024 * 1024
DOCUMENT_KINDS = frozenset({"head", "tail", "generation"})
"""The kinds of bookkeeping that `read_messages` gives. An agent whose adapter uses it must list
them in ``Agent.bookkeeping``."""

S = TypeVar("S", bound=msgspec.Struct)


def read_document(
    source: Readable, cursor: Cursor, from_body: Callable[[SourceRef, bytes], Record]
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the single record of a document; nothing if it is empty or was read before."""
    with source.open(cursor.offset) as stream:
        body = stream.read(LONGEST_DOCUMENT)
    # An empty document was only just created, and the agent has not written it yet.
    if body and not cursor.offset:
        yield Cursor(len(body)), from_body(source.ref, body)


def object_in(body: bytes, record: Record) -> dict[str, Any] | None:
    """Return the JSON object in a document. For anything else, set the problem of ``record`` and
    return None."""
    try:
        value = decode_anything(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    record.problem = "malformed document"
    return None


class DocumentReader(msgspec.Struct, Generic[S]):
    """The functions of an adapter that translate the lines of a document for `read_messages`.

    - ``session(ref, state)``: returns the native id of the session.
    - ``message(ref, state, record, message)``: fills in the record of a new or changed message.
    - ``around(ref, state, record, members)``: fills in the record of the document's fields before
      or after its list of messages. ``members`` are these fields.
    - ``back(ref, state, record, message)``: fills in the record for a document that lost its last
      messages. ``message`` is the last message that is left, which was read before; None if no
      message is left.
    """

    session: Callable[[SourceRef, S], str]
    message: Callable[[SourceRef, S, Record, dict[str, Any]], None]
    around: Callable[[SourceRef, S, Record, dict[str, Any]], None]
    back: Callable[[SourceRef, S, Record, dict[str, Any] | None], None]


def read_messages(
    source: Readable, cursor: Cursor, texts: StateText[S], reader: DocumentReader[S]
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records after ``cursor`` of a document that is stored as lines (a source with the
    role ``rewritten``)."""

    def from_line(ref: SourceRef, state: S, offset: int, length: int, line: bytes | None) -> Record:
        record = new_record(offset, length, reader.session(ref, state))
        native = object_in_line(record, line)
        if native is not None:
            _translate(reader, ref, state, record, native)
        return record

    return read_lines(source, cursor, texts, from_line)


def _translate(
    reader: DocumentReader[S], ref: SourceRef, state: S, record: Record, native: dict[str, Any]
) -> None:
    if "generation" in native:
        record.bookkeeping = "generation"
    elif "head" in native:
        record.bookkeeping = "head"
        reader.around(ref, state, record, _members(string(native["head"]), _ENDINGS))
    elif "tail" in native:
        record.bookkeeping = "tail"
        reader.around(ref, state, record, _members('{"":[' + string(native["tail"]), ("",)))
    elif "back" in native:
        message = _message(native, record) if len(native) > 1 else None
        if record.problem is None:
            text = "back to an earlier message"
            record.events.append(NativeEvent("human_intervention", "user", text, "back"))
            reader.back(ref, state, record, message)
    else:
        message = _message(native, record)
        if message is not None:
            reader.message(ref, state, record, message)


# The head of a document ends with the opening bracket of its list of messages. These texts make it
# valid JSON. A head without a list of messages is valid already, so the last text is empty.
_ENDINGS = ("]}", "]", "")


def _members(text: str, endings: tuple[str, ...]) -> dict[str, Any]:
    """Return the members of a JSON object that is cut off at its list of messages: ``text`` is
    completed with the first of ``endings`` that makes it valid."""
    for ending in endings:
        try:
            return mapping(decode_anything((text + ending).encode("utf-8", "surrogatepass")))
        except ValueError:
            continue
    return {}


def _message(native: dict[str, Any], record: Record) -> dict[str, Any] | None:
    """Return the message of a line. If it is no object, set the problem of ``record`` and return
    None."""
    message = native.get("message")
    try:
        if "text" in native:
            body = string(native["text"]).encode("utf-8", "surrogatepass")
            message = decode_anything(body)
        if not isinstance(message, dict):
            raise ValueError(f"a JSON {type(message).__name__}, not an object")
    except ValueError as error:
        record.problem, record.problem_detail = "malformed message", str(error)[:120]
        return None
    return message
