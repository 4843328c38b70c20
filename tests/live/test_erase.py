"""Sessions are erased when somebody asks for it: rows, usage and what was collected of them.

The rows of SWITCHING.md: 3.57 (closing deletes physically), 3.58 (an ephemeral child is deleted
when it returns), 3.59 (its id can be used again).
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect.live_sessions import LiveSync
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import LeaseHeld, LeaseLost, SessionInUse, UnknownLiveSession
from session_memory.live import AsyncSessionStore, SessionStore
from session_memory.live.rows import SubagentLifecycle
from session_memory.retain.forget import compact
from session_memory.retain.verification import verify
from session_memory.store import Store, live_erase, open_store
from session_memory.store.migrations import all_tables
from session_memory.testing.stores import Stores

WORD = "xylophone"


def collect(store: Store) -> None:
    sync(store, Config(), [], host="here")


def rows_of_live(store: Store) -> dict[str, int]:
    tables = [table for table in all_tables() if table.startswith("live_")]
    counts = {table: store.db.value(f"select count(*) from {table}") for table in tables}
    return {table: count for table, count in counts.items() if count}


def child_of(live: SessionStore, parent: str, word: str = WORD, **how: object) -> str:
    child = live.create_session(parent_session_id=parent, spawn_tool_call_id="c1", **how)  # type: ignore[arg-type]
    live.append_message(child, role="user", content=f"look for the {word}")
    live.append_message(child, role="assistant", content="found " + word * 10_000)
    live.record_usage(child, round_index=0, usage={"prompt_tokens": 5, "completion_tokens": 3})
    return child


# SWITCHING 3.57
def test_an_erased_session_leaves_no_row(opened: Store, live: SessionStore) -> None:
    one = child_of(live, live.create_session(session_id="top"))
    live.rewind(one, 1)
    live.record_compaction(one, from_seq=1, to_seq=1, note_content="n")
    live.set_pending(one, {"tool_call_ids": ["x"]})
    assert live.erase_session("top") == 2
    assert rows_of_live(opened) == {}
    assert live.erase_session("top") == 0
    assert live.erase_session("../top") == 0
    with pytest.raises(UnknownLiveSession):
        live.load_all_messages(one)


# SWITCHING 3.57
def test_what_was_collected_of_it_is_erased_too(opened: Store, live: SessionStore) -> None:
    top = live.create_session(session_id="top")
    live.append_message(top, role="user", content="keep me")
    child = child_of(live, top)
    live.close_session(child)
    collect(opened)
    assert opened.sessions.row(f"live:{child}") is not None
    assert live.erase_session(child) == 1
    collect(opened)
    assert opened.sessions.uids() == ["live:top"]
    assert opened.db.value("select count(*) from sources") == 2
    assert opened.db.value("select count(*) from usage") == 0
    assert verify(opened).findings == []
    live.erase_session(top)
    collect(opened)
    assert opened.db.value("select count(*) from sessions") == 0


# SWITCHING 3.57, 3.58: 300 finished ephemeral children kept 5.4 MB, and `compact` freed nothing.
@pytest.mark.only("sqlite")
def test_erased_children_give_their_space_back(tmp_path: Path) -> None:
    with open_store(tmp_path / "memory.db", durability="normal") as store:
        live = SessionStore(store.db)
        live.create_session(session_id="top")
        empty = compact(store, Config(), 1)[1]
        with live._writing():
            children = [child_of(live, "top", f"w{number} ") for number in range(40)]
        for child in children:
            live.finish_subagent(child)
        assert compact(store, Config(), 1)[1] > empty + 40_000
        for child in children:
            live.erase_session(child)
        assert compact(store, Config(), 1)[1] <= empty + 8192
        assert store.retention.tombstones() == {}


# SWITCHING 3.58
@pytest.mark.parametrize("end", ["close_session", "finish_subagent"])
def test_a_store_may_erase_whatever_is_closed(opened: Store, end: str) -> None:
    live = SessionStore(opened.db)
    live.closing = "erase"
    live.create_session(session_id="top")
    live.append_message("top", role="user", content="go")
    before = rows_of_live(opened)
    child = child_of(live, "top")
    below = child_of(live, child)
    live.finish_subagent(below, completed=False)
    assert live.get_session(below) is not None
    getattr(live, end)(child)
    assert rows_of_live(opened) == before
    assert live.get_session(below, with_closed=True) is None
    # SWITCHING 3.59
    assert live.create_session(session_id=child) == child
    assert live.load_all_messages(child) == []


def test_closing_a_parent_erases_no_subagent_that_somebody_works_on(
    opened: Store, live: SessionStore
) -> None:
    live.create_session(session_id="top")
    idle, busy = child_of(live, "top"), child_of(live, "top")
    below = child_of(live, busy)
    live.append_message(busy, role="user", content="half done")
    assert live.acquire_lease(busy, "worker 7", ttl_ms=60_000) is not None
    live.closing = "erase"
    assert live.close_session("top") == 4
    left = [one for one in ("top", idle, busy, below) if live.get_session(one, with_closed=True)]
    assert left == ["top", busy]
    assert live.load_path(busy)[-1].content == "half done"


@pytest.mark.only("sqlite")
def test_opening_says_what_closing_does(tmp_path: Path) -> None:
    with SessionStore.open(tmp_path / "one.db", closing="erase") as live:
        live.close_session(live.create_session(session_id="one"))
        assert live.get_session("one", with_closed=True) is None
    with pytest.raises(InvalidRecord, match="closing is 'burn'"):
        SessionStore.open(tmp_path / "one.db", closing="burn")

    async def story() -> int:
        async with await AsyncSessionStore.open(tmp_path / "one.db", closing="erase") as store:
            await store.close_session(await store.create_session(session_id="one"))
            assert await store.get_session("one", with_closed=True) is None
            return await store.erase_session(await store.create_session())

    assert asyncio.run(story()) == 1


def test_a_session_that_a_fork_continues_stays(opened: Store, live: SessionStore) -> None:
    live.create_session(session_id="top")
    live.append_message("top", role="user", content="go")
    fork = live.fork_session("top")
    with pytest.raises(SessionInUse, match="continues the messages of 'top'"):
        live.erase_session("top")
    live.closing = "erase"
    assert live.close_session("top") == 1
    assert live.get_session("top", with_closed=True) is not None
    assert [row.content for row in live.load_path(fork)] == ["go"]
    live.erase_session(fork)
    assert live.erase_session("top") == 1
    assert rows_of_live(opened) == {}


def test_a_session_that_was_only_restored_can_be_erased(opened: Store, live: SessionStore) -> None:
    session = live.create_session()
    with opened.transaction():
        opened.retention.pin(f"live:{session}", 1, until=2**53)
    assert live.erase_session(session) == 1


def test_a_pinned_session_stays(opened: Store, live: SessionStore) -> None:
    child = child_of(live, live.create_session(session_id="top"))
    with opened.transaction():
        opened.retention.pin(f"live:{child}", 1)
    with pytest.raises(SessionInUse, match="is pinned"):
        live.erase_session("top")
    assert live.get_session("top") is not None
    live.closing = "erase"
    other = child_of(live, "top")
    assert live.close_session("top") == 3
    assert live.get_session(child, with_closed=True) is not None
    assert live.get_session(other, with_closed=True) is None


def test_a_session_that_somebody_works_on_stays(live: SessionStore) -> None:
    child = child_of(live, live.create_session(session_id="top"))
    lease = live.acquire_lease(child, owner="worker")
    for session in ("top", child):
        with pytest.raises(LeaseHeld):
            live.erase_session(session)
    with pytest.raises(LeaseLost):
        live.erase_session(child, fence=lease.fence + 1)
    assert live.erase_session(child, fence=lease.fence) == 1
    assert live.erase_session("top") == 1


def test_subagents_that_stay_lose_their_parent(live: SessionStore) -> None:
    live.create_session(session_id="top")
    detached = child_of(live, "top", lifecycle=SubagentLifecycle.DETACHED)
    child = child_of(live, "top")
    assert live.erase_session("top", cascade=False) == 1
    live.create_session(session_id="top")
    assert live.list_children("top") == []
    for one in (detached, child):
        row = live.get_session(one)
        assert row is not None and row.parent_session_id is None
        assert len(live.load_all_messages(one)) == 2


def test_equal_bodies_of_other_sessions_stay(opened: Store, live: SessionStore) -> None:
    one, two = (child_of(live, live.create_session()) for _ in range(2))
    live.erase_session(one)
    assert live.load_all_messages(two)[1].content == "found " + WORD * 10_000
    assert verify(opened).findings == []


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_a_sync_that_read_it_before_does_not_store_it(
    opened: Store, live: SessionStore, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    child_of(live, live.create_session(session_id="top"))
    if is_known:
        collect(opened)
        live.append_message("top", role="user", content="more")

    def then(read: Callable[..., None]) -> Callable[..., None]:
        def erased_first(*args: object) -> None:
            live.erase_session("top")
            read(*args)

        return erased_first

    monkeypatch.setattr(LiveSync, "read", then(LiveSync.read))
    collect(opened)
    assert opened.db.value("select count(*) from sessions") == 0
    assert opened.db.value("select count(*) from sources") == 0


# SWITCHING 3.57, 3.58, 3.59: the same calls on both stores.
@pytest.mark.only("sqlite")
def test_closing_is_the_same_as_in_power_loop(tmp_path: Path) -> None:
    theirs = pytest.importorskip("power_loop.runtime.session_store").SessionStore
    ours = SessionStore.open(tmp_path / "ours.db", closing="erase")
    assert _ended(ours) == _ended(theirs.open(tmp_path / "theirs.db"))
    ours.close()


def _ended(store: Any) -> list[Any]:
    told: list[Any] = []
    top = store.create_session(session_id="top")
    for life in ("ephemeral", "linked", "detached"):
        kind = {"parent_session_id": top, "lifecycle": SubagentLifecycle(life)}
        child = store.create_session(session_id=life, spawn_tool_call_id="c", **kind)
        store.append_message(child, role="user", content=life)
    for closed in ("ephemeral", "top", "top"):
        told.append(store.close_session(closed))
        told.append([store.get_session(one) is not None for one in ("top", "ephemeral", "linked")])
    detached = store.get_session("detached")
    told.append((detached.parent_session_id, len(store.load_all_messages("detached"))))
    store.create_session(session_id="ephemeral")
    told.append(store.load_all_messages("ephemeral"))
    return told


def test_ten_at_once_lose_nothing_of_the_others(stores: Stores) -> None:
    """Some erase sessions while others append equal long messages, open children and fork."""
    place, body = stores.place("busy"), "long " * 20_000
    with SessionStore.open(place, durability="normal") as live:
        tops = [live.create_session(session_id=f"top{number}") for number in range(5)]
        for top in tops:
            live.append_message(top, role="user", content=body)
        kept = live.create_session(session_id="kept")

        def writes(number: int) -> int:
            for _ in range(4):
                live.append_message(kept, role="user", content=body)
                with suppress(UnknownLiveSession):
                    child_of(live, tops[number], f"{number} ")
                with suppress(UnknownLiveSession):
                    live.fork_session(tops[number])
            return 4

        def erases(number: int) -> int:
            with suppress(SessionInUse):
                return live.erase_session(tops[number]) * 0
            return 0

        with ThreadPoolExecutor(10) as threads:
            jobs = [threads.submit(job, n) for n in range(5) for job in (writes, erases)]
            written = sum(job.result(timeout=60) for job in jobs)
        contents = [row.content for row in live.load_all_messages(kept)]
        assert contents == [body] * written
    with open_store(place) as store:
        assert verify(store).findings == []


def test_an_erase_that_is_stopped_erases_nothing_and_can_be_done_again(
    opened: Store, live: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    child_of(live, live.create_session(session_id="top"))
    collect(opened)
    before = opened.fingerprint()

    def stopped(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live_erase, "delete_live", stopped)
    with pytest.raises(KeyboardInterrupt):
        live.erase_session("top")
    assert opened.fingerprint() == before
    monkeypatch.undo()
    assert live.erase_session("top") == 2
    assert rows_of_live(opened) == {}
