"""One session as a reader follows it: messages, thinking, calls and outputs, with subagents at the
calls that started them and the cost after each turn.

Items are made one by one, so a long session is shown at once and needs little memory. The terminal,
the web page and every export show these items.
"""

import heapq
from collections.abc import Iterator
from itertools import chain

from session_memory.core.errors import UnknownSession
from session_memory.core.schema import Session, SessionEvent
from session_memory.pricing import session_amounts, tree_amounts
from session_memory.store import Store
from session_memory.views.event_reader import EventReader
from session_memory.views.evicted import MissingEvents, readable_events
from session_memory.views.session import children_of
from session_memory.views.session_titles import best_title, best_titles
from session_memory.views.session_work import work_ms
from session_memory.views.transcript_items import (
    SessionEnd,
    SessionStart,
    TranscriptEvent,
    TranscriptItem,
    TranscriptOptions,
)
from session_memory.views.turn_counter import TurnCounter

DEEPEST = 20


class Transcript:
    """Reads a session as items, with each subagent after the call that started it."""

    def __init__(self, store: Store, options: TranscriptOptions) -> None:
        self._store = store
        self._options = options
        self._opened: set[str] = set()
        self.events = 0
        """How many events were handed out so far."""
        self.missing: dict[str, MissingEvents] = {}
        """The evicted sessions so far whose archive cannot be read."""
        self.hidden = 0
        """How many events were left out so far: bookkeeping, or events without a text."""

    def items(self, uid: str, depth: int = 0) -> Iterator[TranscriptItem]:
        session, row = self._store.sessions.get(uid), self._store.sessions.row(uid)
        if session is None or row is None:
            raise UnknownSession(uid)
        read, missing = readable_events(self._store, uid)
        # Logs may claim that two sessions started each other. Each session is read once.
        self._opened.add(uid)
        held = read.sessions.row(uid)
        if missing is not None:
            self.missing[uid] = missing
        children = tuple(children_of(self._store, uid))
        titles = best_titles(self._store, [uid, *(child.session_uid for child in children)])
        yield SessionStart(
            depth=depth,
            session=session,
            title=titles[uid],
            own=session_amounts(self._store, [uid])[uid],
            total=tree_amounts(self._store, [uid])[uid],
            inherits={} if held is None else read.events.inherits(held.id),
            with_inherited=self._options.inherited,
            children=children,
            child_titles=tuple(titles[child.session_uid] for child in children),
            work_ms=None if missing else work_ms(read, uid),
            reported=self._store.usage.count_reported(row.id),
            missing=missing,
        )
        waiting = [child for child in children if child.relation == "subagent"]
        yield from self._body(read, session, waiting, depth)
        yield SessionEnd(depth=depth, session=session)

    def _body(
        self, read: Store, session: Session, waiting: list[Session], depth: int
    ) -> Iterator[TranscriptItem]:
        reader = EventReader(read, session, self._options, depth)
        turns = TurnCounter(self._store, session, depth)
        first, last = (self._options.first, self._options.last) if not depth else (None, None)
        is_shown = first is None
        for seq, owner, event in self._events(read, session):
            if last is not None and seq > last:
                return
            is_shown = first is None or seq >= first
            if owner is None and not self._options.kinds:
                ended = list(turns.before(seq, event))
                yield from ended if first is None or seq > first else ()
            if is_shown and self._options.admits(event):
                shown = reader.of(seq, owner, event)
                self.events += shown is not None
                self.hidden += shown is None
                if shown is not None:
                    yield shown
            if event.call_id and event.is_a("tool_call"):
                if not is_shown:
                    waiting[:] = [one for one in waiting if one.spawn_call_id != event.call_id]
                started = [one for one in waiting if one.spawn_call_id == event.call_id]
                for child in started:
                    waiting.remove(child)
                    yield from self._child(child, depth + 1)
        if not is_shown:
            # The session ends before ``first``.
            return
        for child in waiting:
            yield from self._child(child, depth + 1)
        if not self._options.kinds:
            yield from turns.rest()

    def _events(
        self, read: Store, session: Session
    ) -> Iterator[tuple[int, str | None, SessionEvent]]:
        row = read.sessions.row(session.session_uid)
        if row is None:
            return iter(())
        own = ((e.seq, None, e) for e in read.events.each_of(row.id, session.session_uid))
        if not self._options.inherited:
            return own
        others = ((seq, e.session_uid, e) for seq, e in read.events.each_inherited(row.id))
        return heapq.merge(own, others, key=lambda placed: placed[0])

    def _child(self, child: Session, depth: int) -> Iterator[TranscriptItem]:
        uid = child.session_uid
        if not self._options.children or depth > DEEPEST or uid in self._opened:
            if not self._options.kinds:
                yield self._named(child, depth)
            return
        items = self.items(uid, depth)
        opened = next(items)
        first = next((item for item in items if isinstance(item, TranscriptEvent)), None)
        if first is None:
            # No event of the subagent is shown. If calls are shown, one line says that it ran.
            if not self._options.kinds and self._options.level in ("tool", "full"):
                yield self._named(child, depth)
            return
        yield from chain((opened, first), items)

    def _named(self, child: Session, depth: int) -> SessionStart:
        uid = child.session_uid
        own, total = session_amounts(self._store, [uid]), tree_amounts(self._store, [uid])
        return SessionStart(
            depth=depth,
            session=child,
            title=best_title(self._store, uid),
            own=own[uid],
            total=total[uid],
            is_closed=True,
        )
