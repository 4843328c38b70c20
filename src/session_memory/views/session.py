"""One session with its events, for programs: own events, inherited ones, usage and children."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Session, SessionEvent, Usage
from session_memory.pricing import Amount, session_amounts, tree_amounts
from session_memory.store import Store
from session_memory.views.evicted import MissingEvents, readable_events
from session_memory.views.payloads import Payload, Payloads


class EventSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to show, and how much of each. No ``kinds`` means all kinds."""

    kinds: tuple[str, ...] = ()
    inherited: bool = False
    full: bool = False
    first: int | None = None
    last: int | None = None

    def admits(self, shown: "ShownEvent") -> bool:
        if self.first is not None and shown.seq < self.first:
            return False
        if self.last is not None and shown.seq > self.last:
            return False
        return not self.kinds or any(shown.event.is_a(kind) for kind in self.kinds)


class ShownEvent(msgspec.Struct, frozen=True):
    """An event at its place in this session. ``owner`` is the session that an inherited event
    belongs to; None for an own event."""

    event: SessionEvent
    seq: int
    owner: str | None = None
    payload: Payload | None = None

    def to_dict(self) -> dict[str, Any]:
        values = self.event.to_dict()
        if self.owner is not None:
            values |= {"inherited": True, "seq_here": self.seq}
        if self.payload is not None:
            values["payload"] = self.payload.record
            if self.payload.spilled is not None:
                values["spilled"] = self.payload.spilled
        return values


class SessionView(msgspec.Struct, frozen=True):
    """One session with its events in order. ``inherits`` counts the inherited events by owner.

    ``missing`` says why there are no events: the session was evicted, and its archive cannot be
    read.
    """

    session: Session
    events: list[ShownEvent]
    usage: list[Usage]
    children: list[Session]
    inherits: dict[str, int]
    calls: dict[str, int]
    amount: Amount
    with_subagents: Amount
    missing: MissingEvents | None = None

    def to_dict(self) -> dict[str, Any]:
        missing = {} if self.missing is None else {"missing": msgspec.to_builtins(self.missing)}
        return {
            "session": self.session.to_dict(),
            "events": [shown.to_dict() for shown in self.events],
            "usage": [usage.to_dict() for usage in self.usage],
            "children": [child.session_uid for child in self.children],
            "amount": msgspec.to_builtins(self.amount),
            "with_subagents": msgspec.to_builtins(self.with_subagents),
            **missing,
        }

    @property
    def subagents(self) -> list[Session]:
        return [child for child in self.children if child.relation == "subagent"]

    def started_at_seq(self, child: Session) -> int | None:
        """The seq of the call that started ``child``; None if this session's log names none."""
        return self.calls.get(child.spawn_call_id or "")

    def offspring(self) -> Iterator[Session]:
        """Children that are not subagents: forks, resumes and handoffs."""
        return (child for child in self.children if child.relation != "subagent")


def show_session(store: Store, uid: str, selection: EventSelection) -> SessionView:
    """Return a session with the events that ``selection`` admits.

    Of its children (subagents, forks), the rows are included, but not the events.
    """
    session, row = store.sessions.get(uid), store.sessions.row(uid)
    if session is None or row is None:
        raise UnknownSession(uid)
    read, missing = readable_events(store, uid)
    own, others = _own_and_inherited(read, uid)
    inherits: dict[str, int] = {}
    for shown in others:
        inherits[str(shown.owner)] = inherits.get(str(shown.owner), 0) + 1
    held = sorted([*own, *others] if selection.inherited else own, key=lambda shown: shown.seq)
    admitted = [shown for shown in held if selection.admits(shown)]
    return SessionView(
        session=session,
        events=with_payloads(read, uid, admitted) if selection.full else admitted,
        usage=store.usage.of(row.id, uid),
        children=children_of(store, uid),
        inherits=inherits,
        calls=_calls(own),
        amount=session_amounts(store, [uid])[uid],
        with_subagents=tree_amounts(store, [uid])[uid],
        missing=missing,
    )


def _own_and_inherited(store: Store, uid: str) -> tuple[list[ShownEvent], list[ShownEvent]]:
    row = store.sessions.row(uid)
    if row is None:
        # The archive is read with the present adapter, which may find no such session in the log.
        return [], []
    own = [ShownEvent(event, event.seq) for event in store.events.of(row.id, uid)]
    others = [
        ShownEvent(event, seq, owner=event.session_uid)
        for seq, event in store.events.inherited(row.id)
    ]
    return own, others


def with_payloads(store: Store, uid: str, events: Iterable[ShownEvent]) -> list[ShownEvent]:
    payloads = Payloads(store, uid)
    return [msgspec.structs.replace(shown, payload=payloads.of(shown.event)) for shown in events]


def is_compaction(event: SessionEvent) -> bool:
    """Whether this event says that a summary replaced the context of the model."""
    return event.kind == "lifecycle" and "compact" in (event.native_kind or "")


def _calls(events: Iterable[ShownEvent]) -> dict[str, int]:
    return {
        shown.event.call_id: shown.seq
        for shown in events
        if shown.event.call_id and shown.event.is_a("tool_call")
    }


def children_of(store: Store, uid: str) -> list[Session]:
    """Return the subagents, forks, resumes and handoffs of a session, in the order they started."""
    found = (store.sessions.get(child) for child in store.sessions.children(uid))
    return [child for child in found if child is not None]
