"""Read the small documents that Grok rewrites as a whole: a session's title and origin, and a
parent's facts about its subagents."""

from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.documents import object_in
from session_memory.adapters.grok.names import fit
from session_memory.core.remotes import remote_name
from session_memory.core.text import escaped

SUBAGENT = "subagent"
# A resumed subagent begins with a copy of an earlier subagent, which is not its parent.
RESUMED = "subagent_resume"


def from_document(ref: SourceRef, body: bytes) -> Record:
    """Return the record with the facts in a session's ``summary.json``, or in a parent's
    ``subagents/<child>/meta.json``."""
    record = Record(0, len(body), fit(ref.agent or ref.session))
    document = object_in(body, record)
    if document is None:
        return record
    if ref.agent:
        _of_a_child(document, record, ref)
    else:
        _of_a_session(document, record)
    return record


def _of_a_child(document: dict[str, Any], record: Record, ref: SourceRef) -> None:
    record.session = fit(_text(document, "child_session_id") or ref.agent)
    record.parent_session = fit(_text(document, "parent_session_id") or ref.session)
    record.facts = {"agent_name": _text(document, "description")}


def _of_a_session(document: dict[str, Any], record: Record) -> None:
    info = document.get("info")
    is_manual = document.get("title_is_manual") is True
    title = _text(document, "generated_title") or _text(document, "session_summary")
    record.facts = {
        "title": None if is_manual else title,
        "custom_title": title if is_manual else None,
        "cwd": _text(info, "cwd") if isinstance(info, dict) else None,
        "git_branch": _text(document, "head_branch"),
        "repository": _remote(document.get("git_remotes")),
        "repository_root": _text(document, "source_workspace_dir")
        or _text(document, "git_root_dir"),
        "model": _text(document, "current_model_id"),
    }
    kind, parent = _text(document, "session_kind") or "", _text(document, "parent_session_id")
    if kind.startswith(SUBAGENT):
        record.facts["relation"] = SUBAGENT
        if kind == RESUMED:
            parent = None
    elif parent:
        record.facts["relation"] = "fork"
    if parent and fit(parent) != record.session:
        record.facts["parent"] = fit(parent)


def _remote(remotes: Any) -> str | None:
    """Return the name of the repository: from its remote ``origin``, else from its first remote
    with a name."""
    match remotes:
        case {"origin": url} | [{"name": "origin", "url": url}, *_]:
            return remote_name(url)
        case dict():
            urls = list(remotes.values())
        case list():
            urls = [one.get("url") if isinstance(one, dict) else one for one in remotes]
        case _:
            return None
    return next(filter(None, map(remote_name, urls)), None)


def _text(document: dict[str, Any], name: str) -> str | None:
    value = document.get(name)
    return escaped(value) if isinstance(value, str) and value else None
