"""Several writers at ``full``: they share syncs, and each returns only after one of them."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from session_memory.core.errors import StoreError
from session_memory.core.live_errors import UnknownLiveSession
from session_memory.live import AsyncSessionStore, SessionStore
from session_memory.store.late_sync import LateSync
from session_memory.store.sqlite import Sqlite

WRITERS, APPENDS = 6, 5

pytestmark = pytest.mark.only("sqlite")


@pytest.fixture
def crowded(tmp_path: Path) -> SessionStore:
    """A store whose next commit is synced late."""
    store = SessionStore.open(tmp_path / "memory.db")
    store._db.crowd()
    store.create_session(session_id="s")
    store._db.crowd()
    return store


def late_sync_of(store: SessionStore) -> LateSync:
    assert isinstance(store._db, Sqlite)
    return store._db.late_sync


def test_a_single_writer_syncs_within_its_commit(tmp_path: Path) -> None:
    with SessionStore.open(tmp_path / "memory.db") as store:
        store.create_session(session_id="s")
        with store._writing():
            assert store._db.value("pragma synchronous") == 2
            assert not late_sync_of(store).is_late


def test_writers_that_wait_sync_after_their_commits(crowded: SessionStore) -> None:
    with crowded as store:
        with store._writing():
            assert store._db.value("pragma synchronous") == 1
        with store._db.transaction():
            # What is not a live session is synced as ever.
            assert store._db.value("pragma synchronous") == 2


def test_threads_notice_each_other_and_lose_nothing(tmp_path: Path) -> None:
    with SessionStore.open(tmp_path / "memory.db") as store:
        session, was_late = store.create_session(), set()

        def write(name: int) -> None:
            for number in range(APPENDS):
                store.append_message(session, role="user", content=f"{name} {number}")
                was_late.add(late_sync_of(store)._crowded_until > 0)

        threads = [threading.Thread(target=write, args=(name,)) for name in range(WRITERS)]
        with store._writing():
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(60)
        texts = [message.content for message in store.load_active_messages(session)]
        assert was_late == {True}
    for name in range(WRITERS):
        own = [f"{name} {number}" for number in range(APPENDS)]
        assert [text for text in texts if str(text).startswith(f"{name} ")] == own


def test_a_process_that_waits_for_another_notices_it(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with SessionStore.open(place) as one, SessionStore.open(place) as other:
        session = one.create_session()
        with one._writing():
            thread = threading.Thread(
                target=other.append_message, args=(session,), kwargs={"role": "user"}
            )
            thread.start()
            thread.join(0.01)
        thread.join(60)
        with other._writing():
            assert late_sync_of(other).is_late


def test_a_sync_that_fails_is_reported_and_the_store_goes_on(crowded: SessionStore) -> None:
    with crowded as store:
        late_sync = late_sync_of(store)
        assert late_sync._log is not None
        log, nowhere = late_sync._log, os.pipe()
        # A pipe cannot be synced.
        late_sync._log = nowhere[0]
        with pytest.raises(StoreError, match="did not confirm") as found:
            store.append_message("s", role="user", content="unconfirmed")
        assert "key" in (found.value.hint or "")
        late_sync._log = log
        assert store.append_message("s", role="user", content="confirmed") == 2
        for end in nowhere:
            os.close(end)


def test_a_child_opens_the_log_itself(crowded: SessionStore) -> None:
    with crowded as store:
        child = os.fork()
        if not child:
            store.append_message("s", role="user", content="from the child")
            # Its own first commit finds the log again.
            os._exit(0 if late_sync_of(store)._log is not None else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.append_message("s", role="user", content="from the parent") == 2


def test_tasks_share_a_sync_and_an_error_costs_only_its_own_call(tmp_path: Path) -> None:
    async def appended() -> tuple[list[object], list[object]]:
        async with await AsyncSessionStore.open(tmp_path / "memory.db") as store:
            await store.create_session(session_id="s")
            calls = [
                store.append_message(
                    "s" if number % 3 else "unknown", role="user", content=str(number)
                )
                for number in range(12)
            ]
            results = await asyncio.gather(*calls, return_exceptions=True)
            again = await asyncio.gather(*(store.head("s") for _ in range(3)))
            assert late_sync_of(store._store)._log is not None
            texts = [message.content for message in await store.load_path("s")]
            assert again == [8, 8, 8]
            return list(results), list(texts)

    results, texts = asyncio.run(appended())
    assert texts == [str(number) for number in range(12) if number % 3]
    assert [result for result in results if isinstance(result, int)] == list(range(1, 9))
    assert all(isinstance(results[number], UnknownLiveSession) for number in range(0, 12, 3))


def test_tasks_whose_sync_fails_are_told_and_readers_are_not(tmp_path: Path) -> None:
    async def appended() -> list[object]:
        async with await AsyncSessionStore.open(tmp_path / "memory.db") as store:
            await store.create_session(session_id="s")
            store._store._db.crowd()
            await store.append_message("s", role="user", content="first")
            late_sync, nowhere = late_sync_of(store._store), os.pipe()
            log, late_sync._log = late_sync._log, nowhere[0]
            calls = [
                store.append_message("s", role="user", content="lost?"),
                store.head("s"),
                store.append_message("s", role="user", content="lost?"),
            ]
            found = await asyncio.gather(*calls, return_exceptions=True)
            late_sync._log = log
            for end in nowhere:
                os.close(end)
            return list(found)

    first, head, second = asyncio.run(appended())
    assert isinstance(first, StoreError)
    assert isinstance(second, StoreError)
    assert head == 2
