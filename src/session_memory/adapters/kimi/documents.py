"""Read ``state.json``, which Kimi rewrites as a whole: the title, directory and origin of a
session."""

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import object_in
from session_memory.adapters.json_records import new_record, string
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped


def from_document(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts in a ``state.json``."""
    record = new_record(0, len(body), escaped(ref.session))
    state = object_in(body, record)
    if state is None:
        return record
    title, origin = string(state.get("title")), string(state.get("forkedFrom"))
    own = title if state.get("isCustomTitle") is True else ""
    # kimi-cli calls every title custom, even one that it made from a prompt.
    title = title or string(state.get("custom_title"))
    # Until Kimi finds a better title, a fork has the title of the session that it came from.
    is_made_up = state.get("titleKind") == "replaceable"
    facts = {
        "custom_title": own or None,
        "title": None if own or is_made_up else title or None,
        "cwd": string(state.get("cwd")) or None,
    }
    if origin:
        facts |= {"relation": "fork", "parent": fit_native_id(origin)[0]}
    record.facts = facts
    return record
