"""Read files that ``opencode export`` writes: a session with its messages in one document."""

import re
from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import DocumentReader
from session_memory.adapters.json_records import items, mapping, name_in
from session_memory.adapters.opencode.state import OpencodeState
from session_memory.adapters.opencode.translate import add_message, add_session, message_id
from session_memory.adapters.opencode.units import lineage_of
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

_HEAD = re.compile(rb'\s*\{\s*"info":\s*\{\s*"id":\s*"ses_')


def is_export(head: bytes) -> bool:
    """Whether ``head`` begins like a file of ``opencode export``."""
    return _HEAD.match(head) is not None


def _session(ref: SourceRef, state: OpencodeState) -> str:
    return state.session or escaped(ref.session)


def _message(ref: SourceRef, state: OpencodeState, record: Record, message: dict[str, Any]) -> None:
    info, parts = mapping(message.get("info")), list(map(mapping, items(message.get("parts"))))
    state.lineage = state.lineage or lineage_of(info, parts)
    add_message(record, state, info, parts)


def _around(ref: SourceRef, state: OpencodeState, record: Record, members: dict[str, Any]) -> None:
    info = mapping(members.get("info"))
    if not info:
        return
    state.session = name_in(info.get("id")) or state.session
    if state.session:
        record.session, is_unfit = fit_native_id(state.session)
        record.unfit_name = state.session if is_unfit else None
    add_session(record, state, info, "")


def _back(
    ref: SourceRef, state: OpencodeState, record: Record, message: dict[str, Any] | None
) -> None:
    """Note in the record that a newer export lacks the last messages of the export before, because
    a person took them back. The newer export ends with ``message``."""
    info = mapping(message.get("info")) if message is not None else {}
    state.last = message_id(state, info) if info else ""
    record.follows, record.stands_at = True, state.last


EXPORT = DocumentReader(_session, _message, _around, _back)
