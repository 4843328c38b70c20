"""The small files that the agent rewrites as a whole: what a session is called, where it came
from, and what a parent knows of its subagents."""

from typing import Any

from session_memory.adapters.base import Record, SourceRef
from session_memory.adapters.grok.names import fit
from session_memory.adapters.jsonl import decode_anything
from session_memory.core.text import escaped

SUBAGENT = "subagent"
# A resumed subagent begins with a copy of an earlier one, which is not who started it.
RESUMED = "subagent_resume"


def from_document(ref: SourceRef, body: bytes) -> Record:
    """The facts in a ``summary.json``, or in a parent's ``subagents/<child>/meta.json``."""
    record = Record(0, len(body), fit(ref.agent or ref.session))
    try:
        told = decode_anything(body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        record.problem = "malformed document"
        return record
    if ref.agent:
        _of_a_child(told, record, ref)
    else:
        _of_a_session(told, record)
    return record


def _of_a_child(told: dict[str, Any], record: Record, ref: SourceRef) -> None:
    record.session = fit(_text(told, "child_session_id") or ref.agent)
    record.parent_session = fit(_text(told, "parent_session_id") or ref.session)
    record.facts = {"agent_name": _text(told, "description")}


def _of_a_session(told: dict[str, Any], record: Record) -> None:
    info = told.get("info")
    is_manual = told.get("title_is_manual") is True
    title = _text(told, "generated_title") or _text(told, "session_summary")
    record.facts = {
        "title": None if is_manual else title,
        "custom_title": title if is_manual else None,
        "cwd": _text(info, "cwd") if isinstance(info, dict) else None,
        "git_branch": _text(told, "head_branch"),
        "model": _text(told, "current_model_id"),
    }
    kind, parent = _text(told, "session_kind") or "", _text(told, "parent_session_id")
    if kind.startswith(SUBAGENT):
        record.facts["relation"] = SUBAGENT
        if kind == RESUMED:
            parent = None
    elif parent:
        record.facts["relation"] = "fork"
    if parent and fit(parent) != record.session:
        record.facts["parent"] = fit(parent)


def _text(told: dict[str, Any], name: str) -> str | None:
    value = told.get(name)
    return escaped(value) if isinstance(value, str) and value else None
