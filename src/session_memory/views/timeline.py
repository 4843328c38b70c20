"""What happened when: prompts, turns, calls and subagents with their durations, and gaps."""

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Session, SessionEvent
from session_memory.core.time import format_time, parse_time
from session_memory.store import Store
from session_memory.views.event_reader import sort_of
from session_memory.views.noise import is_bookkeeping
from session_memory.views.session import children_of, is_compaction
from session_memory.views.session_titles import best_title

GAP_MS = 5 * 60_000
DEEPEST = 20


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a timeline. ``sort`` is ``prompt``, ``turn``, ``tool``, ``error``, ``decision``,
    ``compaction``, ``subagent`` or ``gap``. ``state`` is the state of a tool call."""

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
        span = self.span
        return {
            "session": self.session.session_uid,
            "started_at": format_time(span[0]) if span else None,
            "ended_at": format_time(span[1]) if span else None,
            "moments": msgspec.to_builtins(self.moments),
        }


def timeline(store: Store, session: Session) -> Timeline:
    row = store.sessions.row(session.session_uid)
    events = store.events.each_of(row.id, session.session_uid) if row else iter(())
    return Timeline(session, list(_TimelineBuilder(store, session).moments(events)))


class _TimelineBuilder:
    def __init__(self, store: Store, session: Session) -> None:
        self._store = store
        self._uid = session.session_uid
        self._turn: TimelineEntry | None = None
        self._calls: dict[str, TimelineEntry] = {}
        self._counts = [0, 0, 0]
        self._waiting = [c for c in children_of(store, self._uid) if c.relation == "subagent"]
        self._last: int | None = None
        self._number = 0

    def moments(self, events: Iterator[SessionEvent]) -> list[TimelineEntry]:
        found: list[TimelineEntry] = []
        for event in events:
            if is_bookkeeping(event):
                # For example a change of the mode. An agent logs it with the next prompt, long
                # after the turn ended.
                continue
            if event.is_a("user_msg"):
                found += self._turn_ended()
            found += self._gap(event)
            self._counted(event)
            if (moment := self._moment(event)) is not None:
                found.append(moment)
            found += self._started_by(event)
        found += self._turn_ended()
        for child in self._waiting:
            found += self._subagent(child, 1)
        return found

    def _gap(self, event: SessionEvent) -> Iterator[TimelineEntry]:
        if event.ts is None:
            return
        now = parse_time(event.ts)
        if self._last is not None and now - self._last >= GAP_MS and not self._is_waiting():
            at = format_time(self._last)
            yield self._new("gap", at=at, duration_ms=now - self._last)
        self._last = max(now, self._last or 0)

    def _is_waiting(self) -> bool:
        """Whether a call is running: a call that takes an hour is no gap."""
        return any(call.state == "open" for call in self._calls.values())

    def _moment(self, event: SessionEvent) -> TimelineEntry | None:
        sort = sort_of(event)
        if sort == "call":
            call = self._of("tool", event, tool=event.tool, state="open")
            self._calls[event.call_id or ""] = call
            return call
        if sort == "result":
            return self._result(event)
        if sort == "prompt" or event.is_a("decision"):
            self._begin_turn(event)
            return self._of("prompt" if event.role == "user" else "decision", event)
        if is_compaction(event):
            return self._of("compaction", event)
        return self._of("error", event) if event.kind in ("error", "retry") else None

    def _result(self, event: SessionEvent) -> TimelineEntry | None:
        call = self._calls.pop(event.call_id or "", None)
        if call is None:
            return self._of("error", event) if event.is_error else None
        _complete(call, state="failed" if event.is_error else "ok")
        if event.duration_ms is not None:
            _complete(call, duration_ms=event.duration_ms)
        elif event.ts and call.at:
            _complete(call, duration_ms=max(parse_time(event.ts) - parse_time(call.at), 0))
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
        for child in [one for one in self._waiting if one.spawn_call_id == event.call_id]:
            self._waiting.remove(child)
            yield from self._subagent(child, 1)

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


def _complete(entry: TimelineEntry, **values: Any) -> None:
    """Set fields of an entry that were unknown when it was added to the list."""
    for name, value in values.items():
        msgspec.structs.force_setattr(entry, name, value)
