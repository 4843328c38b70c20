"""The tool calls of a session, each with its result."""

from collections.abc import Iterator

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.core.time import parse_time
from session_memory.derive.archived import readable_store
from session_memory.store import Store


class ToolCall(msgspec.Struct, frozen=True):
    """A call of a tool with its result. ``result`` is None if the log has none: the call was
    aborted, or is still running."""

    event: SessionEvent
    result: SessionEvent | None = None

    @property
    def state(self) -> str:
        if self.result is None:
            return "open"
        return "failed" if self.result.is_error else "ok"

    @property
    def duration_ms(self) -> int | None:
        """The duration that the agent logged, else the time between call and result."""
        if self.result is None:
            return None
        if self.result.duration_ms is not None:
            return self.result.duration_ms
        if not self.event.ts or not self.result.ts:
            return None
        return max(parse_time(self.result.ts) - parse_time(self.event.ts), 0)


def calls_of(store: Store, uid: str) -> Iterator[ToolCall]:
    """Yield the tool calls that a session made itself, in order, without those of subagents.

    Calls without an id in the log are left out. The calls of an evicted session are read from its
    archive.
    """
    store = readable_store(store, uid)
    row = store.sessions.row(uid)
    if row is None:
        return
    calls: list[SessionEvent] = []
    results: dict[str, SessionEvent] = {}
    for event in store.events.each_of(row.id, uid, calls_only=True):
        if not event.call_id:
            continue
        if event.is_a("tool_call"):
            calls.append(event)
        elif event.is_a("tool_result"):
            results[event.call_id] = event
    for event in calls:
        yield ToolCall(event, results.get(event.call_id or ""))


def with_subagents(store: Store, uid: str) -> Iterator[str]:
    """Yield the uid of a session and of every subagent below it, each once."""
    waiting, seen = [uid], {uid}
    while waiting:
        one = waiting.pop()
        yield one
        below = [child for child in store.sessions.subagents(one) if child not in seen]
        seen.update(below)
        waiting += reversed(below)
