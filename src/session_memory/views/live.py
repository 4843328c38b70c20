"""Live sessions (kept by an agent runtime in the store), ready to show: a list or one session."""

import json
import math
from typing import Any

import msgspec

from session_memory.core.errors import AmbiguousSession
from session_memory.core.live_errors import UnknownLiveSession
from session_memory.core.text import short_repr
from session_memory.live.blocks import calls_in, results_in, text_of
from session_memory.live.compaction import CompactionPlan, plain_summary, plan_compaction
from session_memory.live.connection import is_usable
from session_memory.live.rows import (
    CompactionRow,
    MessageRow,
    PendingCall,
    SessionRow,
    SessionStatus,
)
from session_memory.live.shapes import in_shape
from session_memory.live.store import SessionStore
from session_memory.store import Store

DEFAULT_LIMIT = 20
SHORTEST = 4
EVERY = 2**31 - 1
PREFIX = "sess_"
LIVE = "live"
WHICH = ("context", "path", "all")
DEEPEST = 200


class LiveList(msgspec.Struct, frozen=True):
    sessions: list[SessionRow]

    def to_dict(self) -> dict[str, Any]:
        return {"sessions": [jsonable(row) for row in self.sessions]}


class LiveSessionView(msgspec.Struct, frozen=True):
    """One live session with its head (the seq of its current message), its messages, compactions,
    pending calls, usage and subagents."""

    session: SessionRow
    head: int
    messages: list[MessageRow]
    compactions: list[CompactionRow]
    pending: list[PendingCall]
    usage: dict[str, int]
    children: list[str]

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = jsonable(self)
        return values


class Compacted(msgspec.Struct, frozen=True):
    """The result of a compaction. ``members`` are the messages that a summary replaces in the
    context; it is empty if there were too few messages."""

    session_id: str
    members: tuple[int, ...] = ()
    compact_seq: int | None = None
    note_seq: int | None = None

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = jsonable(self)
        return values


def live_store(store: Store) -> SessionStore:
    """Return the live sessions of an open store."""
    return SessionStore(store.db)


def find_live(live: SessionStore, text: str) -> str:
    """Return the id of the one live session whose id is ``text`` or starts with it.

    ``text`` may also be its uid (``live:<id>``) or the uid of the session it was imported from. A
    closed session is found only by its whole id or uid.
    """
    name = text.strip()
    if (exact := _exact(live, name)) is not None:
        return exact
    if len(name) < SHORTEST:
        hint = f"Give {SHORTEST} or more characters of an id. List ids: session-memory live list"
        raise AmbiguousSession(f"too short to name a session: {short_repr(text)}", hint)
    rows = live.list_sessions(limit=EVERY, with_subagents=True)
    found = [row.session_id for row in rows if row.metadata.get("imported_from") == name]
    ids = [row.session_id for row in rows]
    found = found or [one for one in ids if one.startswith((name, PREFIX + name))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownLiveSession(text)
    some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    message = f"{len(found)} live sessions begin with {short_repr(text)}"
    raise AmbiguousSession(message, f"Give more of the one you mean: {some}")


def _exact(live: SessionStore, name: str) -> str | None:
    """Return the id of the session with this id or uid, closed or not; None if there is none.

    Raises an error if retention archived the session.
    """
    for one in (name, name.removeprefix(f"{LIVE}:")):
        if not is_usable(one):
            continue
        if live.get_session(one, with_closed=True) is not None:
            return one
        try:
            live.head(one)
        except UnknownLiveSession as error:
            if error.is_archived:
                raise
    return None


def list_live(
    live: SessionStore,
    *,
    cwd: str | None = None,
    status: str | None = None,
    with_subagents: bool = False,
    limit: int = DEFAULT_LIMIT,
) -> LiveList:
    rows = live.list_sessions(
        cwd=cwd,
        status=None if status is None else SessionStatus(status),
        with_subagents=with_subagents,
        limit=limit or EVERY,
    )
    return LiveList(rows)


def show_live(live: SessionStore, session_id: str, which: str = "context") -> LiveSessionView:
    row = live.get_session(session_id, with_closed=True)
    if row is None:
        raise UnknownLiveSession(session_id)
    return LiveSessionView(
        session=row,
        head=live.head(session_id),
        messages=messages_of(live, session_id, which),
        compactions=live.list_compactions(session_id),
        pending=live.pending(session_id),
        usage=live.usage_totals(session_id),
        children=[child.session_id for child in live.list_children(session_id)],
    )


def messages_of(live: SessionStore, session_id: str, which: str) -> list[MessageRow]:
    """Return the messages of a live session. ``which`` is ``context`` (what the model is sent),
    ``path`` (from the first message to the head) or ``all`` (rewound messages too)."""
    match which:
        case "context":
            return live.load_active_messages(session_id)
        case "path":
            return live.load_path(session_id)
    return live.load_all_messages(session_id)


def exported(live: SessionStore, session_id: str, which: str, shape: str) -> list[Any]:
    """Return the messages of a live session in a shape (``blocks`` or ``chat``), as JSON values."""
    rows = messages_of(live, session_id, which)
    return [jsonable(one) for row in rows for one in in_shape(row, shape)]


def compact_live(
    live: SessionStore, session_id: str, *, keep: int, note: str | None = None
) -> Compacted:
    """Replace all but the last ``keep`` exchanges in the context by ``note``.

    Without ``note``, they are replaced by a summary that is made from their texts. The messages
    stay in the store. Raises an error if another writer moved the head meanwhile,
    because the summary would not match the messages.
    """
    head = live.head(session_id)
    context = live.load_active_messages(session_id)
    plan: CompactionPlan = plan_compaction(context, keep)
    if not plan:
        return Compacted(session_id)
    members = set(plan.members)
    folded = [message for message in context if message.seq in members]
    fold, note_seq = live.record_compaction(
        session_id,
        from_seq=plan.from_seq,
        to_seq=plan.to_seq,
        members=plan.members,
        note_content=plain_summary(folded) if note is None else note,
        expect=head,
    )
    return Compacted(session_id, plan.members, fold, note_seq)


def summary_line(message: MessageRow) -> str:
    """Return a message on one line: its text, its calls and its results."""
    parts = [text_of(message.content)]
    parts += [f"→ {call.name}({_arguments(call.arguments)})" for call in calls_in(message)]
    parts += [f"← {call_id} {_answer(message, call_id)}" for call_id in results_in(message)]
    other = [] if any(parts) or not isinstance(message.content, list) else message.content
    parts += [f"[{block.get('type')}]" for block in other if isinstance(block, dict)]
    return " ".join(filter(None, parts)) or f"({message.name or 'empty'})"


def _answer(message: MessageRow, call_id: str) -> str:
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, dict) and block.get("tool_use_id") == call_id:
            result = block.get("model_text") or block.get("output") or block.get("content")
            return result if isinstance(result, str) else text_of(result)
    return ""


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value))


def jsonable(value: Any, depth: int = 0) -> Any:
    """Turn records into plain JSON values. NaN and infinities become null.

    Values nested deeper than `DEEPEST` become "…", because encoding them would overflow the stack.
    """
    if depth > DEEPEST:
        return "…"
    match value:
        case msgspec.Struct():
            fields = value.__struct_fields__
            return {name: jsonable(getattr(value, name), depth + 1) for name in fields}
        case dict():
            return {str(key): jsonable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item, depth + 1) for item in value]
        case float() if not math.isfinite(value):
            return None
        case str():
            return str(value)
    return value
