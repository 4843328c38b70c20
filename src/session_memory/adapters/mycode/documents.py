"""Read ``meta.json``, which mycode rewrites as a whole: the title, directory and model of a
session."""

from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import object_in
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped
from session_memory.core.time import time_or_none

UNNAMED = "New chat"


def from_document(ref: SourceRef, body: bytes) -> Record:
    record = Record(0, len(body), fit_native_id(ref.session)[0])
    document = object_in(body, record)
    if document is None:
        return record
    title = _text(document, "title")
    record.facts = {
        "title": None if title == UNNAMED else title,
        "cwd": _text(document, "cwd"),
        "model": _text(document, "model"),
        # Releases up to 0.4 write no times in the log.
        "begun_at": time_or_none(document.get("created_at")),
        "updated_at": time_or_none(document.get("updated_at")),
    }
    return record


def _text(document: dict[str, Any], name: str) -> str | None:
    value = document.get(name)
    return escaped(value) if isinstance(value, str) and value else None
