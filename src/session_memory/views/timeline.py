"""The timeline of a session: prompts, turns, calls and subagents with their durations, and gaps.

The events are read twice. The first reading finds the results of calls and the span of time. The
second makes the entries (moments) one by one. So a session of any length needs little memory.
"""

from array import array
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import msgspec

from session_memory.core.schema import Session, SessionEvent
from session_memory.core.time import format_time, parse_time
from session_memory.derive.archived import readable_store
from session_memory.store import Store
from session_memory.views.event_reader import sort_of
from session_memory.views.noise import is_bookkeeping
from session_memory.views.session import children_of, is_compaction
from session_memory.views.session_titles import best_title

GAP_MS = 5 * 60_000
DEEPEST = 20


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a timeline. ``sort`` is ``prompt``, ``turn``, ``tool``, ``error``, ``decision``,
    ``compaction``, ``subagent`` or ``gap``. ``state`` is that of a tool call: ``ok``, ``failed`` or
    ``open``."""

    sort: str
    at: str | None
    seq: int | None = None
    session_uid: str
    depth: int = 0
    text: str = ""
    tool: str | None = None
    state: str | None = None
    duration_ms: int | None = None
    tokens: int = 0
    is_abandoned: bool = False


class Timeline(msgspec.Struct, frozen=True):
    session: Session
    moments: list[TimelineEntry]

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last moment in milliseconds."""
        times = [(parse_time(m.at), m.duration_ms or 0) for m in self.moments if m.at]
        if not times:
            return None
        return min(at for at, _ in times), max(at + spent for at, spent in times)

    def to_dict(self) -> dict[str, Any]:
        moments = msgspec.to_builtins(self.moments)
        return {**_head(self.session, self.span), "moments": moments}


def timeline(store: Store, session: Session) -> Timeline:
    """Return the whole timeline of a session in memory."""
    return Timeline(session, list(TimelineStream(store, session).moments()))


class TimelineStream:
    """A timeline whose moments (entries) are made while they are read.

    ``span`` is the first and the last moment. ``gaps`` are two arrays: when each gap starts, and
    how long it is. All are in milliseconds.
    """

    def __init__(self, store: Store, session: Session) -> None:
        self.session = session
        self.gaps = array("q"), array("q")
        self._store = store
        self._results = _CallResults()
        self._last_seq = -1
        self.span = self._survey()

    def moments(self) -> Iterator[TimelineEntry]:
        # Events that arrived after the first reading are left out: their results are not known.
        yield from self._made(takewhile(lambda event: event.seq <= self._last_seq, self._events()))

    def head(self) -> dict[str, Any]:
        """Return the timeline as JSON values, without its moments."""
        return _head(self.session, self.span)

    def _made(self, events: Iterator[SessionEvent]) -> Iterator[TimelineEntry]:
        return _TimelineBuilder(self._store, self.session, self._results).moments(events)

    def _survey(self) -> tuple[int, int] | None:
        """Read the session once: its span, its gaps, and the results of its calls."""
        first: int | None = None
        last = 0
        for moment in self._made(self._noted()):
            if moment.at is None:
                continue
            at, spent = parse_time(moment.at), moment.duration_ms or 0
            first, last = (
                (at, at + spent) if first is None else (min(first, at), max(last, at + spent))
            )
            if moment.sort == "gap":
                self.gaps[0].append(at)
                self.gaps[1].append(spent)
        return None if first is None else (first, max(last, self._results.last_end or last))

    def _noted(self) -> Iterator[SessionEvent]:
        for event in self._events():
            self._last_seq = event.seq
            yield event

    def _events(self) -> Iterator[SessionEvent]:
        uid = self.session.session_uid
        store = readable_store(self._store, uid)
        row = store.sessions.row(uid)
        return store.events.each_of(row.id, uid) if row else iter(())


class _CallResults:
    """The states and durations of the calls of a session, in the order of the calls."""

    STATES = ("open", "ok", "failed")

    def __init__(self) -> None:
        self._seqs, self._states, self._durations = array("q"), array("b"), array("q")
        self.last_end: int | None = None
        """When the last call ended, in milliseconds."""

    def of(self, number: int, seq: int) -> tuple[str, int | None]:
        """Return the state and the duration of a call; ``open`` if no result is known yet."""
        if number == len(self._seqs):
            self._seqs.append(seq)
            self._states.append(0)
            self._durations.append(-1)
        elif self._seqs[number] != seq:
            # The session was derived again between the two readings.
            self._seqs[number], self._states[number], self._durations[number] = seq, 0, -1
        spent = self._durations[number]
        return self.STATES[self._states[number]], spent if spent >= 0 else None

    def complete(self, number: int, state: str, at: str | None, spent: int | None) -> None:
        self._states[number] = self.STATES.index(state)
        self._durations[number] = -1 if spent is None else spent
        if at and spent is not None:
            end = parse_time(at) + spent
            self.last_end = end if self.last_end is None else max(self.last_end, end)


class _TimelineBuilder:
    def __init__(self, store: Store, session: Session, results: _CallResults) -> None:
        self._store = store
        self._uid = session.session_uid
        self._turn: TimelineEntry | None = None
        self._results = results
        self._calls = 0
        # The calls without a result so far: call id → number and time.
        self._open: dict[str, tuple[int, str | None]] = {}
        self._counts = [0, 0, 0]
        self._waiting = {
            one.session_uid: one
            for one in children_of(store, self._uid)
            if one.relation == "subagent"
        }
        self._spawned: dict[str | None, list[str]] = {}
        for child in self._waiting.values():
            self._spawned.setdefault(child.spawn_call_id, []).append(child.session_uid)
        self._last: int | None = None
        self._number = 0

    def moments(self, events: Iterator[SessionEvent]) -> Iterator[TimelineEntry]:
        for event in events:
            if is_bookkeeping(event):
                # Such an event, for example a change of the mode, is not counted as a part of the
                # turn: an agent may log it with the next prompt, long after the turn ended.
                continue
            if event.is_a("user_msg"):
                yield from self._turn_ended()
            yield from self._gap(event)
            self._counted(event)
            if (moment := self._moment(event)) is not None:
                yield moment
            yield from self._started_by(event)
        yield from self._turn_ended()
        for child in self._waiting.values():
            yield from self._subagent(child, 1)

    def _gap(self, event: SessionEvent) -> Iterator[TimelineEntry]:
        if event.ts is None:
            return
        now = parse_time(event.ts)
        # A call that takes an hour is no gap.
        if self._last is not None and now - self._last >= GAP_MS and not self._open:
            at = format_time(self._last)
            yield self._new("gap", at=at, duration_ms=now - self._last)
        self._last = max(now, self._last or 0)

    def _moment(self, event: SessionEvent) -> TimelineEntry | None:
        sort = sort_of(event)
        if sort == "call":
            return self._call(event)
        if sort == "result":
            return self._result(event)
        if sort == "prompt" or event.is_a("decision"):
            self._begin_turn(event)
            return self._of("prompt" if event.role == "user" else "decision", event)
        if is_compaction(event):
            return self._of("compaction", event)
        return self._of("error", event) if event.kind in ("error", "retry") else None

    def _call(self, event: SessionEvent) -> TimelineEntry:
        state, spent = self._results.of(self._calls, event.seq)
        self._open[event.call_id or ""] = self._calls, event.ts
        self._calls += 1
        return self._of("tool", event, tool=event.tool, state=state, duration_ms=spent)

    def _result(self, event: SessionEvent) -> TimelineEntry | None:
        number, at = self._open.pop(event.call_id or "", (None, None))
        if number is None:
            return self._of("error", event) if event.is_error else None
        spent = event.duration_ms
        if spent is None and event.ts and at:
            spent = max(parse_time(event.ts) - parse_time(at), 0)
        self._results.complete(number, "failed" if event.is_error else "ok", at, spent)
        if event.is_error:
            self._counts[1] += 1
        return None

    def _begin_turn(self, event: SessionEvent) -> None:
        if event.is_a("user_msg"):
            self._number += 1
            self._counts = [0, 0, 0]
            self._turn = self._of("turn", event)

    def _counted(self, event: SessionEvent) -> None:
        self._counts[0] += event.is_a("tool_call")
        self._counts[2] += event.tokens

    def _turn_ended(self) -> Iterator[TimelineEntry]:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        calls, errors, tokens = self._counts
        spent = None
        if turn.at and self._last is not None:
            spent = max(self._last - parse_time(turn.at), 0)
        words = [f"turn {self._number}", f"{calls} call{'' if calls == 1 else 's'}"]
        if errors:
            words.append(f"{errors} failed")
        text = ", ".join(words)
        yield msgspec.structs.replace(turn, tokens=tokens, duration_ms=spent, text=text)

    def _started_by(self, event: SessionEvent) -> Iterator[TimelineEntry]:
        if not event.call_id or not event.is_a("tool_call"):
            return
        for uid in self._spawned.pop(event.call_id, ()):
            yield from self._subagent(self._waiting.pop(uid), 1)

    def _subagent(self, child: Session, depth: int) -> Iterator[TimelineEntry]:
        spent = None
        if child.started_at and child.ended_at:
            spent = max(parse_time(child.ended_at) - parse_time(child.started_at), 0)
        yield TimelineEntry(
            sort="subagent",
            at=child.started_at,
            session_uid=child.session_uid,
            depth=depth,
            text=best_title(self._store, child.session_uid),
            duration_ms=spent,
            tokens=child.cost.output_tokens,
        )
        for one in children_of(self._store, child.session_uid) if depth < DEEPEST else ():
            if one.relation == "subagent":
                yield from self._subagent(one, depth + 1)

    def _of(self, sort: str, event: SessionEvent, **more: Any) -> TimelineEntry:
        return self._new(
            sort,
            at=event.ts,
            seq=event.seq,
            text=event.summary,
            is_abandoned=event.branch is not None,
            **more,
        )

    def _new(self, sort: str, **values: Any) -> TimelineEntry:
        return TimelineEntry(sort=sort, session_uid=self._uid, **values)


def _head(session: Session, span: tuple[int, int] | None) -> dict[str, Any]:
    return {
        "session": session.session_uid,
        "started_at": format_time(span[0]) if span else None,
        "ended_at": format_time(span[1]) if span else None,
    }
