"""Server-sent events: which sessions changed. A page that is open asks for what is new itself."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Hashable
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from session_memory.memory import Memory
from session_memory.store.address import is_postgres
from session_memory.store.page_memory import limit_pages

MOST_OPEN = 8
LOOKS_A_SECOND = 10
LOOK_EVERY_S = 1 / LOOKS_A_SECOND
AT_MOST_EVERY_S = 0.25
PING_S = 15.0
LONGEST_UID = 500
PAGES_KIB = 512


class Changes:
    """Looks at the store while somebody listens, and tells every listener what changed."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        # Each connection has its own count of foreign writes, so one connection does all looking.
        self._memory: Memory | None = None
        self._lock = Lock()
        self._number = 0
        self._open = 0
        self._is_file = False
        self._looked_at = 0.0
        self._last: Hashable = None
        self.is_closing = False

    async def endpoint(self, request: Request) -> Response:
        if self._open >= MOST_OPEN:
            return PlainTextResponse("Too many open pages follow the store.\n", 503)
        uid = request.query_params.get("session", "")[:LONGEST_UID]
        return StreamingResponse(self._stream(request, uid), media_type="text/event-stream")

    async def _stream(self, request: Request, uid: str) -> AsyncIterator[str]:
        self._open += 1
        try:
            seen = await run_in_threadpool(self._look, uid)
            yield f": following\n\nid: {self._number}\n\n"
            looks = 0
            while not self.is_closing:
                await asyncio.sleep(LOOK_EVERY_S)
                looks += 1
                if looks % LOOKS_A_SECOND == 0 and await request.is_disconnected():
                    break
                if await self._is_still(seen["version"]):
                    now = seen
                else:
                    now = await run_in_threadpool(self._look, uid, seen)
                if now != seen:
                    seen, looks = now, 0
                    self._number += 1
                    yield self._event(now)
                    await asyncio.sleep(AT_MOST_EVERY_S - LOOK_EVERY_S)
                elif looks >= PING_S * LOOKS_A_SECOND:
                    looks = 0
                    yield ": still here\n\n"
        finally:
            self._open -= 1

    def _event(self, state: dict[str, Any]) -> str:
        sessions = [state["session"]] if state["session"] else []
        data = json.dumps({"number": self._number, "sessions": sessions})
        return f"id: {self._number}\nevent: changed\ndata: {data}\n\n"

    def mark(self) -> Hashable:
        """A value that is another one after somebody wrote to the store."""
        with self._lock:
            mark = self._connected().store.db.write_mark()
        return mark if isinstance(mark, Hashable) else object()

    async def _is_still(self, version: object) -> bool:
        """Whether nobody wrote since. All open pages share one look, and a look at a file is so
        short that a thread for it would take longer."""
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

    def _look(self, uid: str, before: dict[str, Any] | None = None) -> dict[str, Any]:
        """The state of the store, and of the session that the page shows."""
        with self._lock:
            memory = self._connected()
            version = memory.store.db.write_mark()
            if before is not None and before["version"] == version:
                return before
            found = memory.store.sessions.row(uid) if uid else None
            session = None
            if found is not None:
                last = memory.store.events.last_seq(found.id)
                session = {"uid": uid, "revision": found.revision, "events": last + 1}
            return {"version": version, "session": session}

    def close(self) -> None:
        self.is_closing = True
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None
