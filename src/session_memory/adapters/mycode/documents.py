"""``meta.json``, which mycode rewrites as a whole: what a session is called and where it ran."""

from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.jsonl import decode_anything
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

UNNAMED = "New chat"


def from_document(ref: SourceRef, body: bytes) -> Record:
    record = Record(0, len(body), fit_native_id(ref.session)[0])
    try:
        told = decode_anything(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        record.problem = "malformed document"
        return record
    title = _text(told, "title")
    record.facts = {
        "title": None if title == UNNAMED else title,
        "cwd": _text(told, "cwd"),
        "model": _text(told, "model"),
    }
    return record


def _text(told: dict[str, Any], name: str) -> str | None:
    value = told.get(name)
    return escaped(value) if isinstance(value, str) and value else None
