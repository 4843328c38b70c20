"""The session store for asyncio: every operation runs in a thread of the store.

A cancelled caller returns at once. Its operation still completes or rolls back, so no transaction
stays open.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from session_memory.live.erasing import HIDE
from session_memory.live.rows import MessageRow
from session_memory.live.store import SessionStore
from session_memory.live.subscribe import LONGEST_POLL_S, POLL_S, is_over
from session_memory.live.threads import Threads

# A server handles many operations at once. A file has one writer anyway.
SERVER_THREADS = 8

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    operation: Callable[Concatenate[SessionStore, P], T],
) -> Callable[Concatenate["AsyncSessionStore", P], Coroutine[Any, Any, T]]:
    """Turn an operation of `SessionStore` into a coroutine."""

    async def run(self: "AsyncSessionStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        outcome: asyncio.Future[T] = self._threads.run(
            partial(operation, self._store, *args, **kwargs)
        )
        return await outcome

    update_wrapper(run, operation)
    return run


def _close_opened(opening: "Future[SessionStore]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class AsyncSessionStore:
    """The session store for asyncio: every operation of `SessionStore` is a coroutine."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        if store.path.startswith("postgresql:"):
            self._threads = Threads(SERVER_THREADS, "session-memory")
        else:
            self._threads = Threads(1, "session-memory", store._batch)

    @classmethod
    async def open(
        cls, path: str | Path | None = None, *, durability: str = "full", closing: str = HIDE
    ) -> "AsyncSessionStore":
        thread = ThreadPoolExecutor(1, thread_name_prefix="session-memory-open")
        how = {"durability": durability, "closing": closing}
        opening = thread.submit(partial(SessionStore.open, path, **how))
        try:
            return cls(await asyncio.wrap_future(opening))
        except asyncio.CancelledError:
            # The store may still open after the caller was cancelled. Then it is closed.
            opening.add_done_callback(_close_opened)
            raise
        finally:
            thread.shutdown(wait=False)

    @property
    def path(self) -> str:
        return self._store.path

    @property
    def closing(self) -> str:
        """Whether closing a session hides or erases it."""
        return self._store.closing

    # These two do not use the database, so they need no thread.
    def draft_session(self, **fields: Any) -> Any:
        return self._store.draft_session(**fields)

    should_compact = staticmethod(SessionStore.should_compact)

    create_session = _awaited(SessionStore.create_session)
    get_session = _awaited(SessionStore.get_session)
    list_sessions = _awaited(SessionStore.list_sessions)
    latest_session = _awaited(SessionStore.latest_session)
    list_children = _awaited(SessionStore.list_children)
    archive_session = _awaited(SessionStore.archive_session)
    unarchive_session = _awaited(SessionStore.unarchive_session)
    update_session_prompt = _awaited(SessionStore.update_session_prompt)
    rename_session = _awaited(SessionStore.rename_session)
    close_session = _awaited(SessionStore.close_session)
    erase_session = _awaited(SessionStore.erase_session)
    reopen_session = _awaited(SessionStore.reopen_session)
    finish_subagent = _awaited(SessionStore.finish_subagent)

    append_message = _awaited(SessionStore.append_message)
    append_messages = _awaited(SessionStore.append_messages)
    load_active_messages = _awaited(SessionStore.load_active_messages)
    load_path = _awaited(SessionStore.load_path)
    load_all_messages = _awaited(SessionStore.load_all_messages)
    load_tail = _awaited(SessionStore.load_tail)
    get_message = _awaited(SessionStore.get_message)
    head = _awaited(SessionStore.head)
    messages_after = _awaited(SessionStore.messages_after)

    rewind = _awaited(SessionStore.rewind)
    undo_rewind = _awaited(SessionStore.undo_rewind)
    return_to = _awaited(SessionStore.return_to)
    clear_session = _awaited(SessionStore.clear_session)
    fork_session = _awaited(SessionStore.fork_session)

    plan_compaction = _awaited(SessionStore.plan_compaction)
    record_compaction = _awaited(SessionStore.record_compaction)
    undo_compaction = _awaited(SessionStore.undo_compaction)
    list_compactions = _awaited(SessionStore.list_compactions)

    pending = _awaited(SessionStore.pending)
    resume_plan = _awaited(SessionStore.resume_plan)
    repair = _awaited(SessionStore.repair)
    abort_pending = _awaited(SessionStore.abort_pending)
    get_state = _awaited(SessionStore.get_state)
    set_round_index = _awaited(SessionStore.set_round_index)
    set_pending = _awaited(SessionStore.set_pending)

    acquire_lease = _awaited(SessionStore.acquire_lease)
    renew_lease = _awaited(SessionStore.renew_lease)
    release_lease = _awaited(SessionStore.release_lease)
    lease_holder = _awaited(SessionStore.lease_holder)

    begin_send = _awaited(SessionStore.begin_send)
    record_usage = _awaited(SessionStore.record_usage)
    list_usage = _awaited(SessionStore.list_usage)
    usage_totals = _awaited(SessionStore.usage_totals)

    _revision = _awaited(SessionStore._revision)

    async def events(
        self,
        session_id: str,
        *,
        after: int = 0,
        quiet_for: float | None = None,
        poll: float = POLL_S,
    ) -> AsyncIterator[MessageRow]:
        """Like `SessionStore.events`, but no thread is used while it waits."""
        quiet_since, wait = time.monotonic(), poll
        seen: int | None = None
        while True:
            revision, status = await self._revision(session_id)
            if revision != seen:
                seen = revision
                for message in await self.messages_after(session_id, after):
                    after = message.seq
                    quiet_since, wait = time.monotonic(), poll
                    yield message
            elif status == "closed" or is_over(quiet_since, quiet_for):
                return
            else:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, max(poll, LONGEST_POLL_S))

    async def close(self) -> None:
        """Wait for the operations that have started, then close the store."""
        await asyncio.to_thread(self._threads.close)
        await asyncio.to_thread(self._store.close)

    async def __aenter__(self) -> "AsyncSessionStore":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
