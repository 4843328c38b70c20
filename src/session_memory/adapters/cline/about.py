"""Read the facts about a session from the document that Cline CLI keeps beside its messages."""

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import object_in
from session_memory.adapters.json_records import mapping, string
from session_memory.adapters.reported_costs import SESSION_COSTS, microdollars
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped, one_line
from session_memory.core.time import time_or_none


def from_document(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts of a session: its directory, title, model, branch, times
    and cost."""
    record = Record(0, len(body), fit_native_id(escaped(ref.session))[0])
    document = object_in(body, record)
    if document is None:
        return record
    more = mapping(document.get("metadata"))
    record.facts = {
        "title": one_line(string(more.get("title"))) or None,
        "cwd": string(document.get("cwd")) or None,
        "git_branch": string(mapping(more.get("git")).get("branch")) or None,
        "model": string(document.get("model")) or None,
        "agent_version": string(mapping(more.get("sessionHistoryOrigin")).get("version")) or None,
        "begun_at": time_or_none(document.get("started_at")),
        "updated_at": time_or_none(document.get("ended_at")),
    }
    cost = microdollars(more.get("totalCost"))
    if cost:
        # Cline logs 0 for a model whose price it does not know, so a cost of 0 is left out.
        record.facts[SESSION_COSTS] = {record.facts["model"] or "": cost}
    return record
