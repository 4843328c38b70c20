"""One session as a reader follows it: said, thought, called, printed, with subagents in their
place and the cost of each turn behind it.

A stream of small values, made as they are asked for: nothing holds a whole session, so a long one
begins at once. Every surface and every export shows these and nothing else.
"""

import heapq
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from session_memory.core.changes import Change
from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Cost, Session, SessionEvent
from session_memory.core.time import parse_time
from session_memory.derive.agents import changes_asked
from session_memory.derive.bodies import Bodies
from session_memory.derive.detecting import command_of
from session_memory.pricing import Amount, session_amounts, tree_amounts
from session_memory.store import Store
from session_memory.views.payloads import Image, Payload, Payloads
from session_memory.views.session import is_compaction
from session_memory.views.spending import Spending

LEVELS = ("user", "assistant", "tool", "full")
DEEPEST = 20
MOST_OPEN_CALLS = 10_000
_PERSON = ("user_msg", "human_intervention", "decision")
# What is worth a word beside an event; that every call is a tool_call is not.
_TELLING = frozenset({"human_intervention", "decision", "retry", "test_run", "error"})


class TranscriptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a session is wanted: ``level`` is one of ``LEVELS``, no ``kinds`` means all.

    ``first`` and ``last`` are places in the session asked for; its subagents have their own.
    """

    level: str = "tool"
    kinds: tuple[str, ...] = ()
    inherited: bool = False
    native: bool = False
    children: bool = True
    first: int | None = None
    last: int | None = None

    def admits(self, event: SessionEvent) -> bool:
        if self.kinds:
            return any(event.is_a(kind) for kind in self.kinds)
        if self.level in ("tool", "full"):
            return True
        if event.role != "tool" and any(event.is_a(kind) for kind in _PERSON):
            return True
        return self.level == "assistant" and (
            event.is_a("assistant_msg") or (event.kind == "error" and event.role != "tool")
        )


class SessionStart(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """A session begins: the one asked for at depth 0, its subagents below it."""

    depth: int
    session: Session
    own: Amount
    total: Amount
    inherits: dict[str, int] = {}
    with_inherited: bool = False
    children: tuple[Session, ...] = ()
    is_closed: bool = False


class TranscriptEvent(msgspec.Struct, frozen=True, kw_only=True, tag="piece"):
    """One event. ``sort`` is ``prompt``, ``answer``, ``thinking``, ``call``, ``result`` or
    ``note``; ``owner`` is set on what was inherited."""

    depth: int
    sort: str
    seq: int
    event: SessionEvent
    text: str = ""
    title: str = ""
    command: str | None = None
    arguments: Any = None
    changes: tuple[Change, ...] = ()
    images: tuple[Image, ...] = ()
    marks: tuple[str, ...] = ()
    duration_ms: int | None = None
    owner: str | None = None
    payload: Payload | None = None


class TurnTotals(msgspec.Struct, frozen=True, kw_only=True, tag="turn"):
    """What the answer to one prompt took, everything the model did until the next one.

    ``number`` is 0 where nobody wrote a prompt: in a subagent, or before the first.
    """

    depth: int
    number: int
    cost: Cost
    amount: Amount
    seconds: float | None = None


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True, tag="closed"):
    depth: int
    session: Session


TranscriptItem = SessionStart | TranscriptEvent | TurnTotals | SessionEnd


class Transcript:
    """Reads one session, and the subagents as they come."""

    def __init__(self, store: Store, reading: TranscriptOptions) -> None:
        self._store = store
        self._reading = reading
        self._opened: set[str] = set()
        self.pieces = 0
        """How many were handed out so far."""

    def items(self, uid: str, depth: int = 0) -> Iterator[TranscriptItem]:
        session, row = self._store.sessions.get(uid), self._store.sessions.row(uid)
        if session is None or row is None:
            raise UnknownSession(uid)
        # Logs may claim that two sessions started each other.
        self._opened.add(uid)
        children = tuple(children_of(self._store, uid))
        yield SessionStart(
            depth=depth,
            session=session,
            own=session_amounts(self._store, [uid])[uid],
            total=tree_amounts(self._store, [uid])[uid],
            inherits=self._store.events.inherits(row.id),
            with_inherited=self._reading.inherited,
            children=children,
        )
        waiting = [child for child in children if child.relation == "subagent"]
        yield from self._body(session, row.id, waiting, depth)
        yield SessionEnd(depth=depth, session=session)

    def _body(
        self, session: Session, row_id: int, waiting: list[Session], depth: int
    ) -> Iterator[TranscriptItem]:
        pieces = EventReader(self._store, session, self._reading, depth)
        turns = TurnCounter(self._store, session, depth)
        first, last = (self._reading.first, self._reading.last) if not depth else (None, None)
        for seq, owner, event in self._events(session, row_id):
            if last is not None and seq > last:
                return
            is_shown = first is None or seq >= first
            if owner is None and not self._reading.kinds:
                ended = list(turns.before(seq, event))
                yield from ended if first is None or seq > first else ()
            if is_shown and self._reading.admits(event):
                self.pieces += 1
                yield pieces.of(seq, owner, event)
            if event.call_id and event.is_a("tool_call"):
                if not is_shown:
                    waiting[:] = [one for one in waiting if one.spawn_call_id != event.call_id]
                started = [one for one in waiting if one.spawn_call_id == event.call_id]
                for child in started:
                    waiting.remove(child)
                    yield from self._child(child, depth + 1)
        for child in waiting:
            yield from self._child(child, depth + 1)
        if not self._reading.kinds:
            yield from turns.rest()

    def _events(
        self, session: Session, row_id: int
    ) -> Iterator[tuple[int, str | None, SessionEvent]]:
        events = self._store.events
        own = ((e.seq, None, e) for e in events.each_of(row_id, session.session_uid))
        if not self._reading.inherited:
            return own
        others = ((seq, e.session_uid, e) for seq, e in events.each_inherited(row_id))
        return heapq.merge(own, others, key=lambda placed: placed[0])

    def _child(self, child: Session, depth: int) -> Iterator[TranscriptItem]:
        uid = child.session_uid
        if not self._reading.children or depth > DEEPEST or uid in self._opened:
            if not self._reading.kinds:
                yield self._named(child, depth)
            return
        items = self.items(uid, depth)
        opened = next(items)
        first = next((item for item in items if isinstance(item, TranscriptEvent)), None)
        if first is None:
            # Nothing of it is wanted; where all is, that it ran is worth a line.
            if not self._reading.kinds and self._reading.level in ("tool", "full"):
                yield self._named(child, depth)
            return
        yield from chain((opened, first), items)

    def _named(self, child: Session, depth: int) -> SessionStart:
        uid = child.session_uid
        own, total = session_amounts(self._store, [uid]), tree_amounts(self._store, [uid])
        return SessionStart(
            depth=depth,
            session=child,
            own=own[uid],
            total=total[uid],
            is_closed=True,
        )


class EventReader:
    """Turns the events of one session into pieces, each with what it says in full."""

    def __init__(
        self, store: Store, session: Session, reading: TranscriptOptions, depth: int
    ) -> None:
        self._store = store
        self._session = session
        self._reading = reading
        self._depth = depth
        self._bodies = Bodies(store)
        self._payloads: dict[str, Payloads] = {}
        self._called: dict[str, int] = {}

    def of(self, seq: int, owner: str | None, event: SessionEvent) -> TranscriptEvent:
        holder = owner or self._session.session_uid
        body = self._bodies.of(event)
        payloads = self._reader(holder)
        sort = sort_of(event)
        text, command = body.text, None
        changes: tuple[Change, ...] = ()
        if self._reading.level == "full":
            text = payloads.spilled(event) or text
        if sort == "call":
            command = command_of(event.tool or "", body.arguments)
            if event.is_a("edit"):
                changes = tuple(
                    changes_asked(event.session_uid, body.arguments, body.text, event.path)
                )
        return TranscriptEvent(
            depth=self._depth,
            sort=sort,
            seq=seq,
            event=event,
            text=text,
            title=event.summary or _unsaid(event, sort),
            command=command,
            arguments=body.arguments,
            changes=changes,
            images=payloads.images(event) if sort in ("prompt", "result") else (),
            marks=self._marks(event, owner),
            duration_ms=self._duration(event, sort),
            owner=owner,
            payload=payloads.of(event) if self._reading.native else None,
        )

    def _reader(self, uid: str) -> Payloads:
        if uid not in self._payloads:
            self._payloads[uid] = Payloads(self._store, uid)
        return self._payloads[uid]

    def _marks(self, event: SessionEvent, owner: str | None) -> tuple[str, ...]:
        """What sets an event apart: other kinds it is of, and where it lies."""
        marks = [mark for mark in (event.kind, *event.marks) if mark in _TELLING]
        if owner is not None:
            marks.append("inherited")
        if event.branch is not None:
            marks.append("abandoned branch")
        if event.is_sidechain and self._session.relation != "subagent":
            marks.append("sidechain")
        if is_compaction(event):
            marks.append("compaction")
        return tuple(dict.fromkeys(marks))

    def _duration(self, event: SessionEvent, sort: str) -> int | None:
        if event.call_id and event.ts and sort == "call" and len(self._called) < MOST_OPEN_CALLS:
            self._called[event.call_id] = parse_time(event.ts)
        if sort != "result":
            return event.duration_ms
        started = self._called.pop(event.call_id or "", None)
        if event.duration_ms is not None or started is None or not event.ts:
            return event.duration_ms
        return max(parse_time(event.ts) - started, 0)


def _unsaid(event: SessionEvent, sort: str) -> str:
    """What to call an event of which the log says nothing."""
    if sort == "thinking":
        return "(the log keeps none of it)"
    return f"({event.native_kind})" if event.native_kind and sort == "note" else ""


class TurnCounter:
    """Adds up what the model used between one prompt and the next."""

    def __init__(self, store: Store, session: Session, depth: int) -> None:
        self._spending = Spending(store, session.session_uid)
        self._depth = depth
        self._number = 0
        self._began: int | None = None
        self._last: int | None = None

    def before(self, seq: int, event: SessionEvent) -> Iterator[TurnTotals]:
        """The turn that ends where ``event`` stands, if it is a prompt."""
        if event.is_a("user_msg"):
            yield from self._ended(seq)
            self._number += 1
            self._began = parse_time(event.ts) if event.ts else None
        elif event.ts:
            self._last = parse_time(event.ts)

    def rest(self) -> Iterator[TurnTotals]:
        yield from self._ended(None)

    def _ended(self, seq: int | None) -> Iterator[TurnTotals]:
        spent = self._spending.until(seq)
        if spent is None:
            return
        seconds = None
        if self._began is not None and self._last is not None and self._last >= self._began:
            seconds = (self._last - self._began) / 1000
        yield TurnTotals(
            depth=self._depth,
            number=self._number,
            cost=spent.cost,
            amount=spent.amount,
            seconds=seconds,
        )


def sort_of(event: SessionEvent) -> str:
    if event.is_a("tool_call"):
        return "call"
    if event.is_a("tool_result"):
        return "result"
    if event.kind == "thinking":
        return "thinking"
    if event.role == "user" and any(event.is_a(kind) for kind in _PERSON):
        return "prompt"
    return "answer" if event.is_a("assistant_msg") else "note"


def children_of(store: Store, uid: str) -> list[Session]:
    """Subagents, forks, resumes and handoffs, in the order they began."""
    found = (store.sessions.get(child) for child in store.sessions.children(uid))
    return [child for child in found if child is not None]
