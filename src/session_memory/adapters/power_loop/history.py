"""Convert sessions of power-loop to histories that live sessions can continue."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from session_memory.adapters import jsonl
from session_memory.adapters.power_loop.translate import decoded, native_row_id, time_of
from session_memory.core.errors import AmbiguousSession, UnknownSession
from session_memory.core.history import (
    FoldStep,
    History,
    HistoryStep,
    MessageStep,
    SessionFacts,
    UsageStep,
)
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

_ENCODING = "content_encoding"
_NOTE = "compact_note"
_OUT = "compacted_out"
# Fields that power-loop's `record_compaction` writes into the metadata of every note.
_NOTE_FIELDS = frozenset(
    {"compacted_at_round", "from_seq", "to_seq", "original_tokens", "summary_tokens"}
)


def history(
    log: Iterable[dict[str, Any]], documents: list[bytes], name: str | None, uid: str | None
) -> History:
    """Return the history of the session ``name``.

    ``name`` may be None if the database holds only one session. ``uid`` is the session's uid in the
    store; None if the session is not in the store.
    """
    sessions = _sessions(documents)
    name = _one_of(list(sessions), name) if uid is None else name or ""
    rows = [row for row in log if row.get("session_id") == name]
    return _history(rows, sessions.get(name, {}), uid or _uid(name))


def histories(log: Iterable[dict[str, Any]], documents: list[bytes]) -> Iterator[History]:
    """Yield the history of each session in a database of power-loop."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in log:
        if isinstance(row.get("session_id"), str):
            rows.setdefault(row["session_id"], []).append(row)
    sessions = _sessions(documents)
    for name in {**rows, **sessions}:
        yield _history(rows.get(name, []), sessions.get(name, {}), _uid(name))


def _sessions(documents: list[bytes]) -> dict[str, dict[str, Any]]:
    about = [row for body in documents for row in jsonl.objects(io.BytesIO(body))]
    named = [row for row in about if row.get("table") == "sessions"]
    return {row["session_id"]: row for row in named if isinstance(row.get("session_id"), str)}


def _uid(name: str) -> str:
    return f"power_loop:{fit_native_id(name)[0]}"


def _history(rows: list[dict[str, Any]], session: dict[str, Any], uid: str) -> History:
    native = uid.partition(":")[2]
    out = {state: _seqs(runs) for state, runs in session.get("out", {}).items()}
    left_out = {state: len(seqs) for state, seqs in out.items() if state != _OUT}
    steps = list(_steps(rows, out, native, _whole(session.get("updated_at"))))
    facts, usage = _facts(rows, session), list(_usage(rows))
    return History(uid, native, steps, _known(session), left_out, facts, usage)


def _one_of(names: list[str], name: str | None) -> str:
    if name is None and len(names) != 1:
        some = ", ".join(map(escaped, names[:5]))
        message = f"the database holds {len(names)} sessions"
        hint = f"Import all of them with --all, or name one with --session: {some}"
        raise AmbiguousSession(message, hint)
    if name is not None and name not in names:
        raise UnknownSession(name, near=[])
    return name or names[0]


def _known(session: dict[str, Any]) -> dict[str, Any]:
    names = ("system_prompt", "model", "spawn_tool_call_id")
    known: dict[str, Any] = {name: session[name] for name in names if session.get(name)}
    metadata = decoded(session.get("metadata_json"))
    known["metadata"] = metadata if isinstance(metadata, dict) else {}
    return known


def _facts(rows: list[dict[str, Any]], session: dict[str, Any]) -> SessionFacts:
    born = next((row for row in rows if row.get("table") == "sessions"), {})
    parent = session.get("parent_session_id") or born.get("parent_session_id")
    depth = session.get("spawn_depth", born.get("spawn_depth"))
    return SessionFacts(
        created_at=time_of(session.get("created_at", born.get("created_at"))),
        updated_at=time_of(session.get("updated_at")),
        is_archived=session.get("status") == "archived",
        is_subagent=(session.get("kind") or born.get("kind")) == "subagent",
        lifecycle=session.get("lifecycle") or born.get("lifecycle"),
        parent=_uid(parent) if isinstance(parent, str) and parent else None,
        spawn_depth=depth if isinstance(depth, int) else 0,
    )


def _steps(
    rows: list[dict[str, Any]], out: dict[str, set[int]], native: str, updated_at: int | None
) -> Iterator[HistoryStep]:
    """Yield the steps of a session.

    ``out`` has the messages that the model does not get any more, as of ``updated_at``. If a
    compaction is newer, its messages may not be in ``out`` yet. Then the steps end before that
    compaction, and the next import reads the rest.
    """
    notes = {row.get("seq"): row for row in rows if _is_note(row)}
    folded = {row.get("note_seq") for row in rows if row.get("table") == "compactions"}
    dropped = set().union(*(seqs for state, seqs in out.items() if state != _OUT))
    for place, row in enumerate(rows, start=1):
        at, seq = time_of(row.get("created_at")), row.get("seq")
        match row.get("table"):
            case "messages" if seq not in folded and seq not in dropped:
                # A damaged row may have no number. It gets a number that no message has.
                number = -place if (known := _whole(seq)) is None else known
                yield MessageStep(number, _message(row), native_row_id(native, seq, at), at)
            case "compactions":
                if _is_later(row, rows, out.get(_OUT, set()), updated_at):
                    return
                yield _compaction(row, notes, out.get(_OUT, set()), native)


def _is_later(
    row: dict[str, Any], rows: list[dict[str, Any]], out: set[int], updated_at: int | None
) -> bool:
    """Whether a compaction is newer than ``updated_at``, and a message that it replaced is not in
    ``out`` yet."""
    at, first, last = (_whole(row.get(name)) for name in ("created_at", "from_seq", "to_seq"))
    if updated_at is None or at is None or first is None or last is None or at <= updated_at:
        return False
    folded = (_whole(one.get("seq")) for one in rows if one.get("table") == "messages")
    return any(seq is not None and first <= seq <= last and seq not in out for seq in folded)


def _is_note(row: dict[str, Any]) -> bool:
    return row.get("table") == "messages" and row.get("name") == _NOTE


def _message(row: dict[str, Any]) -> dict[str, Any]:
    meta = decoded(row.get("meta_json"))
    facts = dict(meta) if isinstance(meta, dict) else {}
    content = row.get("content")
    if facts.get(_ENCODING) == "json":
        del facts[_ENCODING]
        content = decoded(content)
    message = {name: row.get(name) for name in ("role", "tool_call_id", "name")}
    calls = decoded(row.get("tool_calls_json"))
    # Damaged values are left out here; the stored logs have them.
    message |= {"tool_calls": calls if calls and isinstance(calls, list) else None}
    message |= {"round_index": _whole(row.get("round_index"))}
    return {**message, "content": content, "meta": facts}


def _compaction(
    row: dict[str, Any], notes: dict[Any, dict[str, Any]], out: set[int], native: str
) -> FoldStep:
    """Return a compaction with the messages that it replaced: the messages from ``from_seq`` to
    ``to_seq`` that are in ``out``."""
    first, last, note = (_whole(row.get(name)) or 0 for name in ("from_seq", "to_seq", "note_seq"))
    members = tuple(seq for seq in sorted(out) if first <= seq <= last and seq < note)
    noted = notes.get(note, {})
    meta = decoded(noted.get("meta_json"))
    extra = meta.items() if isinstance(meta, dict) else ()
    at = time_of(row.get("created_at"))
    return FoldStep(
        note,
        str(noted.get("content") or ""),
        members,
        _whole(row.get("before_tokens")),
        _whole(row.get("after_tokens")),
        native_row_id(native, f"c{row.get('compact_seq')}", at),
        at,
        _whole(row.get("round_index")),
        {name: value for name, value in extra if name not in _NOTE_FIELDS},
    )


def _usage(rows: list[dict[str, Any]]) -> Iterator[UsageStep]:
    for row in rows:
        if row.get("table") != "usage_rounds":
            continue
        place = f"{row.get('send_index', 0)}.{row.get('round_index')}.{row.get('created_at')}"
        figures = {name: _whole(row.get(name)) for name in _FIGURES}
        yield UsageStep(
            place,
            row.get("model"),
            time_of(row.get("created_at")),
            _whole(row.get("send_index")) or 0,
            _whole(row.get("round_index")) or 0,
            **figures,
            cache_read_tokens=_whole(row.get("cached_tokens")),
        )


_FIGURES = ("prompt_tokens", "completion_tokens", "total_tokens")


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seqs(runs: Any) -> set[int]:
    pairs = ((_whole(first), _whole(last)) for first, last in runs)
    return {
        seq
        for first, last in pairs
        if first is not None and last is not None
        for seq in range(first, last + 1)
    }
