"""Live sessions as the surfaces show them: which there are, one of them whole, what was said."""

import json
import math
from typing import Any

import msgspec

from session_memory.core.errors import AmbiguousSession, UnknownLiveSession
from session_memory.core.text import short_repr
from session_memory.live.blocks import calls_in, results_in, text_of
from session_memory.live.compaction import CompactionPlan, plain_summary, plan_compaction
from session_memory.live.connection import SESSION_ID
from session_memory.live.rows import (
    CompactionRow,
    MessageRow,
    PendingCall,
    SessionRow,
    SessionStatus,
)
from session_memory.live.shapes import shaped
from session_memory.live.store import SessionStore
from session_memory.store import Store

DEFAULT_LIMIT = 20
SHORTEST = 4
EVERY = 2**31 - 1
PREFIX = "sess_"
WHICH = ("context", "path", "all")
DEEPEST = 200


class LiveList(msgspec.Struct, frozen=True):
    sessions: list[SessionRow]

    def to_dict(self) -> dict[str, Any]:
        return {"sessions": [jsonable(row) for row in self.sessions]}


class LiveView(msgspec.Struct, frozen=True):
    """One session: where it stands, its messages, and what is open."""

    session: SessionRow
    head: int
    messages: list[MessageRow]
    compactions: list[CompactionRow]
    pending: list[PendingCall]
    usage: dict[str, int]
    children: list[str]

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = jsonable(self)
        return told


class Compacted(msgspec.Struct, frozen=True):
    """What a compaction put behind its note; nothing where there was nothing to fold."""

    session_id: str
    members: tuple[int, ...] = ()
    compact_seq: int | None = None
    note_seq: int | None = None

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = jsonable(self)
        return told


def live_store(store: Store) -> SessionStore:
    """The live sessions of a store that is open."""
    return SessionStore(store.db)


def find_live(live: SessionStore, text: str) -> str:
    """The id of the session that ``text`` is, or is the beginning of."""
    wanted = text.strip()
    if SESSION_ID.fullmatch(wanted) and live.get_session(wanted) is not None:
        return wanted
    if len(wanted) < SHORTEST:
        hint = f"Give at least {SHORTEST} characters; session-memory live list shows them."
        raise AmbiguousSession(f"too short to name a session: {short_repr(text)}", hint)
    ids = [row.session_id for row in live.list_sessions(limit=EVERY, with_subagents=True)]
    found = [one for one in ids if one.startswith((wanted, PREFIX + wanted))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnknownLiveSession(text)
    some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    message = f"{len(found)} live sessions begin with {short_repr(text)}"
    raise AmbiguousSession(message, f"Give more of the one you mean: {some}")


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


def show_live(live: SessionStore, session_id: str, which: str = "context") -> LiveView:
    row = live.get_session(session_id)
    if row is None:
        raise UnknownLiveSession(session_id)
    return LiveView(
        session=row,
        head=live.head(session_id),
        messages=messages_of(live, session_id, which),
        compactions=live.list_compactions(session_id),
        pending=live.pending(session_id),
        usage=live.usage_totals(session_id),
        children=[child.session_id for child in live.list_children(session_id)],
    )


def messages_of(live: SessionStore, session_id: str, which: str) -> list[MessageRow]:
    """What the model is sent, the whole path, or everything that was ever appended."""
    match which:
        case "context":
            return live.load_active_messages(session_id)
        case "path":
            return live.load_path(session_id)
    return live.load_all_messages(session_id)


def exported(live: SessionStore, session_id: str, which: str, shape: str) -> list[Any]:
    """The messages as dicts in one shape, ready to be written as JSON."""
    rows = messages_of(live, session_id, which)
    return [jsonable(one) for row in rows for one in shaped(row, shape)]


def compact_live(
    live: SessionStore, session_id: str, *, keep: int, note: str | None = None
) -> Compacted:
    """Fold all but the last ``keep`` exchanges, behind ``note`` or a summary made without a model.

    Refused when somebody moved the session meanwhile: the note would not say what it stands for.
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


def gist(message: MessageRow) -> str:
    """A message in a few words: what it says, calls and answers."""
    said = [text_of(message.content)]
    said += [f"→ {call.name}({_arguments(call.arguments)})" for call in calls_in(message)]
    said += [f"← {call_id} {_answer(message, call_id)}" for call_id in results_in(message)]
    other = [] if any(said) or not isinstance(message.content, list) else message.content
    said += [f"[{block.get('type')}]" for block in other if isinstance(block, dict)]
    return " ".join(filter(None, said)) or f"({message.name or 'empty'})"


def _answer(message: MessageRow, call_id: str) -> str:
    for block in message.content if isinstance(message.content, list) else ():
        if isinstance(block, dict) and block.get("tool_use_id") == call_id:
            told = block.get("model_text") or block.get("output") or block.get("content")
            return told if isinstance(told, str) else text_of(told)
    return ""


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value))


def jsonable(value: Any, depth: int = 0) -> Any:
    """Rows and what is in them as plain JSON; numbers that JSON lacks become null.

    What lies deeper than anybody nests is named, not opened: printing it would not end well.
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
