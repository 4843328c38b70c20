"""A session of power-loop as a history that a live session can continue."""

import io
from collections.abc import Iterable
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.power_loop.translate import decoded
from session_memory.core.errors import AmbiguousSession, UnknownSession
from session_memory.core.history import FoldStep, History, HistoryStep, MessageStep
from session_memory.core.text import escaped

_ENCODING = "content_encoding"
_NOTE = "compact_note"
_OUT = "compacted_out"


def history(
    log: Iterable[dict[str, Any]], documents: list[bytes], name: str | None, uid: str | None
) -> History:
    """The history of the session ``name``, which may be left out where there is only one."""
    about = [row for body in documents for row in jsonl.objects(io.BytesIO(body))]
    sessions = {row["session_id"]: row for row in about if row.get("table") == "sessions"}
    name = _one_of(list(sessions), name) if uid is None else name or ""
    rows = [row for row in log if row.get("session_id") == name]
    session = sessions.get(name, {})
    out = {state: _seqs(runs) for state, runs in session.get("out", {}).items()}
    left_out = {state: len(seqs) for state, seqs in out.items() if state != _OUT}
    uid = uid or f"power_loop:{name}"
    return History(uid, uid.partition(":")[2], _steps(rows, out), _known(session), left_out)


def _one_of(names: list[str], name: str | None) -> str:
    if name is None and len(names) != 1:
        some = ", ".join(map(escaped, names[:5]))
        message = f"the database holds {len(names)} sessions"
        raise AmbiguousSession(message, f"Name the one you mean with --session: {some}")
    if name is not None and name not in names:
        raise UnknownSession(name, near=[])
    return name or names[0]


def _known(session: dict[str, Any]) -> dict[str, Any]:
    names = ("system_prompt", "model")
    known: dict[str, Any] = {name: session[name] for name in names if session.get(name)}
    metadata = decoded(session.get("metadata_json"))
    known["metadata"] = metadata if isinstance(metadata, dict) else {}
    return known


def _steps(rows: list[dict[str, Any]], out: dict[str, set[int]]) -> list[HistoryStep]:
    notes = {row["seq"]: row for row in rows if _is_note(row)}
    dropped = set().union(*(seqs for state, seqs in out.items() if state != _OUT))
    steps: list[HistoryStep] = []
    for row in rows:
        match row.get("table"):
            case "messages" if row["seq"] not in notes and row["seq"] not in dropped:
                steps.append(MessageStep(row["seq"], _message(row)))
            case "compactions":
                steps.append(_compaction(row, notes, out.get(_OUT, set())))
    return steps


def _is_note(row: dict[str, Any]) -> bool:
    return row.get("table") == "messages" and row.get("name") == _NOTE


def _message(row: dict[str, Any]) -> dict[str, Any]:
    meta = decoded(row.get("meta_json"))
    facts = dict(meta) if isinstance(meta, dict) else {}
    content = row.get("content")
    if facts.get(_ENCODING) == "json":
        del facts[_ENCODING]
        content = decoded(content)
    facts["created_at"] = row.get("created_at")
    message = {name: row.get(name) for name in ("role", "tool_call_id", "name", "round_index")}
    calls = decoded(row.get("tool_calls_json"))
    return {**message, "content": content, "tool_calls": calls or None, "meta": facts}


def _compaction(row: dict[str, Any], notes: dict[int, dict[str, Any]], out: set[int]) -> FoldStep:
    """A compaction, with exactly those messages between its ends that it replaced."""
    first, last, note = row.get("from_seq", 0), row.get("to_seq", 0), row.get("note_seq", 0)
    members = tuple(seq for seq in sorted(out) if first <= seq <= last and seq < note)
    text = str(notes.get(note, {}).get("content") or "")
    return FoldStep(note, text, members, row.get("before_tokens"), row.get("after_tokens"))


def _seqs(runs: Any) -> set[int]:
    return {seq for first, last in runs for seq in range(first, last + 1)}
