"""Translate threads of Amp into records."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from session_memory.adapters.amp.messages import (
    events_of_message,
    is_unfinished,
    usage_of_message,
)
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.cursor_state import StateText
from session_memory.adapters.documents import DocumentReader, read_messages
from session_memory.adapters.json_records import items, mapping, moment, name_in, string
from session_memory.adapters.written_messages import WrittenMessages
from session_memory.core.ids import fit_native_id
from session_memory.core.remotes import remote_name
from session_memory.core.text import escaped, one_line

_TEXTS = StateText(WrittenMessages)
_BRANCH = "refs/heads/"


def read(source: Readable, cursor: Cursor) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with the cursor after it."""
    return read_messages(source, cursor, _TEXTS, _READER)


def _session(ref: SourceRef, state: WrittenMessages) -> str:
    return state.session or escaped(ref.session)


def _around(
    ref: SourceRef, state: WrittenMessages, record: Record, members: dict[str, Any]
) -> None:
    """Fill in the record of the fields that stand before or after a thread's list of messages:
    id, title, directory, branch, version."""
    if own := name_in(members.get("id")):
        state.session = own
        record.session, is_unfit = fit_native_id(own)
        record.unfit_name = own if is_unfit else None
    if title := string(members.get("title")):
        record.facts = {"ai_title": one_line(title)}
    first = mapping(mapping(members.get("env")).get("initial"))
    tree = mapping(next(iter(items(first.get("trees"))), None))
    record.cwd = _path(string(tree.get("uri")))
    repository = mapping(tree.get("repository"))
    record.git_branch = string(repository.get("ref")).removeprefix(_BRANCH) or None
    if name := remote_name(repository.get("url")):
        record.facts = {**(record.facts or {}), "repository": name}
    version = string(mapping(first.get("platform")).get("clientVersion"))
    record.agent_version = version or None


def _path(address: str) -> str | None:
    """Return the path in a ``file://`` address; None for any other address."""
    path = address.removeprefix("file://")
    return unquote(path) if path != address and path.startswith("/") else None


def _message(
    ref: SourceRef, state: WrittenMessages, record: Record, message: dict[str, Any]
) -> None:
    own = _own(ref, state, message)
    record.ts = moment(mapping(message.get("meta")).get("sentAt")) or moment(
        mapping(message.get("usage")).get("timestamp")
    )
    if is_unfinished(message):
        record.bookkeeping = "partial"
        return
    record.usage = usage_of_message(message, own)
    response = record.usage.usage_id if record.usage is not None else ""
    events = events_of_message(message, response)
    if not events:
        # The message has only results, and the calls of all of them still run.
        record.bookkeeping = "partial"
        return
    state.add(record, own, events)


def _own(ref: SourceRef, state: WrittenMessages, message: dict[str, Any]) -> str:
    number = message.get("messageId")
    is_one = type(number) is int or (isinstance(number, str) and bool(number))
    return name_in(f"{_session(ref, state)}@{number}") if is_one else ""


def _back(
    ref: SourceRef, state: WrittenMessages, record: Record, message: dict[str, Any] | None
) -> None:
    state.go_back(record, "" if message is None else _own(ref, state, message))


_READER: DocumentReader[WrittenMessages] = DocumentReader(_session, _message, _around, _back)
