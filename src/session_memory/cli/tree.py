"""A session with its subagents: each below the call that started it, as deep as they go."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from session_memory.cli.transcript import Names, Transcript, header, rule
from session_memory.views.figures import count
from session_memory.views.lookup import short_names
from session_memory.views.session import SessionView, Wanted, show_session

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.store import Store

AT_THE_END = 1 << 62
DEEPEST = 20


class Tree:
    """Turns one session into lines; the store is asked for the subagents as they come."""

    def __init__(
        self, store: "Store", wanted: Wanted, limit: int | None, *, open_children: bool
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._limit = limit
        self._open_children = open_children
        self._short = short_names(store.sessions.uids())
        self._opened: set[str] = set()

    @property
    def names(self) -> Names:
        return lambda uid: self._short.get(uid, uid)

    def lines(self, view: SessionView) -> Iterator[str]:
        yield from header(view, self.names)
        yield ""
        yield from self._body(view, 0, "")

    def _body(self, view: SessionView, depth: int, day: str) -> Iterator[str]:
        waiting = sorted(
            ((self._place(view, child), child) for child in view.subagents),
            key=lambda placed: placed[0],
            reverse=True,
        )
        transcript = Transcript(view, self.names, self._limit, day)
        for shown, line in transcript.lines(depth):
            while shown is not None and waiting and waiting[-1][0] < shown.seq:
                yield from self._child(waiting.pop()[1], depth + 1, transcript.day)
            yield line
        while waiting:
            yield from self._child(waiting.pop()[1], depth + 1, transcript.day)

    @staticmethod
    def _place(view: SessionView, child: "Session") -> int:
        seq = view.started_at_seq(child)
        return AT_THE_END if seq is None else seq

    def _child(self, child: "Session", depth: int, day: str) -> Iterator[str]:
        if not self._open_children or depth > DEEPEST or child.session_uid in self._opened:
            yield self._rule(child, depth)
            return
        # Logs may claim that two sessions started each other.
        self._opened.add(child.session_uid)
        view = show_session(self._store, child.session_uid, self._wanted)
        if self._wanted.kinds and not view.events and not view.subagents:
            return
        yield self._rule(child, depth)
        yield from self._body(view, depth, day)

    def _rule(self, child: "Session", depth: int) -> str:
        name = f"subagent {self.names(child.session_uid)} {child.title or ''}".rstrip()
        tokens = f"{count(child.cost.output_tokens)} tokens out"
        return rule(f"{name} ({child.model or 'no model'}, {tokens})", depth)
