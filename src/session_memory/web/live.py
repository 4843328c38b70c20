"""Server-sent events: they name the sessions that changed. An open page then fetches the news."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from session_memory.memory import Memory
from session_memory.store.address import is_postgres
from session_memory.store.page_memory import limit_pages
from session_memory.store.session_stamps import newest_revisions

MOST_OPEN = 8
LOOKS_A_SECOND = 4
LOOK_EVERY_S = 1 / LOOKS_A_SECOND
AT_MOST_EVERY_S = 0.25
PING_S = 15.0
LONGEST_UID = 500
MOST_NAMED = 50
PAGES_KIB = 512


class StoreState(NamedTuple):
    """A state of the store: ``(revision, events)`` of the newest sessions by uid, and of the
    session that the page ``shows``."""

    version: object
    shows: str
    sessions: dict[str, tuple[int, int]]

    def changed_since(self, before: "StoreState | None") -> list[dict[str, Any]]:
        """Return the sessions that changed since ``before``, and always the one that is shown."""
        known = {} if before is None else before.sessions
        return [
            {"uid": uid, "revision": revision, "events": events}
            for uid, (revision, events) in self.sessions.items()
            if uid == self.shows or before is not None and known.get(uid) != (revision, events)
        ]


class Changes:
    """Looks at the store while somebody listens, and tells every listener what changed."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        # SQLite counts the writes of others for each connection separately. Only counts of the same
        # connection can be compared, so one connection does all the looking.
        self._memory: Memory | None = None
        self._lock = Lock()
        self._number = 0
        self._open = 0
        self._is_file = False
        self._looked_at = 0.0
        self._last: Hashable = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self.is_closing = False

    async def endpoint(self, request: Request) -> Response:
        if self._open >= MOST_OPEN:
            return PlainTextResponse("Too many open pages follow the store.\n", 503)
        uid = request.query_params.get("session", "")[:LONGEST_UID]
        return StreamingResponse(self._stream(request, uid), media_type="text/event-stream")

    async def _stream(self, request: Request, uid: str) -> AsyncIterator[str]:
        self._open += 1
        self._loop = asyncio.get_running_loop()
        try:
            seen = await run_in_threadpool(self._look, uid)
            yield f": following\n\nid: {self._number}\n\n"
            if "last-event-id" in request.headers:
                # The page was connected before, and what changed meanwhile was not sent.
                yield self._event(seen, None)
            looks = 0
            while not self.is_closing:
                await self._pause(LOOK_EVERY_S)
                looks += 1
                if looks % LOOKS_A_SECOND == 0 and await request.is_disconnected():
                    break
                if await self._is_still(seen.version):
                    now = seen
                else:
                    now = await run_in_threadpool(self._look, uid, seen)
                if now != seen:
                    before, seen, looks = seen, now, 0
                    self._number += 1
                    yield self._event(now, before)
                    await asyncio.sleep(AT_MOST_EVERY_S)
                elif looks >= PING_S * LOOKS_A_SECOND:
                    looks = 0
                    yield ": still here\n\n"
        finally:
            self._open -= 1

    async def _pause(self, seconds: float) -> None:
        """Wait for ``seconds``, or until our own process wrote to the store."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    def wake(self) -> None:
        """Look at the store now. A thread of this process that wrote to the store calls this."""
        if self._open and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_streams)

    def _wake_streams(self) -> None:
        self._looked_at = 0.0
        self._news.set()
        self._news = asyncio.Event()

    def _event(self, state: StoreState, before: StoreState | None) -> str:
        data = {"number": self._number, "sessions": state.changed_since(before)}
        return f"id: {self._number}\nevent: changed\ndata: {json.dumps(data)}\n\n"

    def mark(self) -> Hashable:
        """Return a value that changes when somebody writes to the store."""
        with self._lock:
            mark = self._connected().store.db.write_mark()
        return mark if isinstance(mark, Hashable) else object()

    async def _is_still(self, version: object) -> bool:
        """Whether nobody wrote to the store since ``version``.

        All open pages share one look. For a store in a file no thread is used, because the look is
        shorter than starting one.
        """
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S / 2:
            self._looked_at = now
            self._last = self.mark() if self._is_file else await run_in_threadpool(self.mark)
        return bool(self._last == version)

    def _connected(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened()
            limit_pages(self._memory.store.db, PAGES_KIB)
            self._is_file = not is_postgres(self._memory.place)
        return self._memory

    def _look(self, uid: str, before: StoreState | None = None) -> StoreState:
        with self._lock:
            memory = self._connected()
            version = memory.store.db.write_mark()
            if before is not None and before.version == version:
                return before
            sessions = newest_revisions(memory.store.db, MOST_NAMED)
            found = memory.store.sessions.row(uid) if uid else None
            if found is not None:
                last = memory.store.events.last_seq(found.id)
                sessions[uid] = (found.revision, last + 1)
            return StoreState(version, uid, sessions)

    def end(self) -> None:
        """End all event streams, so that the server need not wait for them when it stops."""
        self.is_closing = True

    def close(self) -> None:
        self.end()
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
