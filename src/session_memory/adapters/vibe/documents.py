"""Read ``meta.json``, which Vibe rewrites as a whole: title, directory, branch, model and parent of
a session."""

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import object_in
from session_memory.adapters.json_records import mapping, new_record, string
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped
from session_memory.core.time import time_or_none


def from_document(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts in a ``meta.json``."""
    record = new_record(0, len(body), escaped(ref.session))
    meta = object_in(body, record)
    if meta is None:
        return record
    title, config = string(meta.get("title")), mapping(meta.get("config"))
    is_own = meta.get("title_source") == "manual"
    facts = {
        "custom_title": (title or None) if is_own else None,
        "title": None if is_own else title or None,
        "cwd": string(mapping(meta.get("environment")).get("working_directory")) or None,
        "git_branch": string(meta.get("git_branch")) or None,
        "model": string(config.get("model_name")) or string(config.get("active_model")) or None,
        "begun_at": time_or_none(meta.get("start_time")),
        "updated_at": time_or_none(meta.get("end_time")),
    }
    if parent := string(meta.get("parent_session_id")):
        facts |= {"relation": "subagent", "parent": fit_native_id(parent)[0]}
    record.facts = facts
    return record
