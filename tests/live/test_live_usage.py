"""Usage: every model call a row, totals over all sends; subscribers see what anybody appends."""

import asyncio
import gc
import threading

import pytest

from session_memory.core.errors import StoreError
from session_memory.live import AsyncSessionStore, MessageRow, SessionStore
from session_memory.live.threads import Threads
from session_memory.testing.stores import Stores

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


@BOTH
def test_three_sends_left_one_usage_row(live: SessionStore) -> None:
    session = live.create_session()
    for send in range(1, 4):
        assert live.begin_send(session) == send
        for number in range(2):
            live.record_usage(
                session, round_index=number, prompt_tokens=10, completion_tokens=5, total_tokens=15
            )
    rows = live.list_usage(session)
    assert [(row.send_index, row.round_index) for row in rows] == [
        *((1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1))
    ]
    totals = live.usage_totals(session)
    assert (totals["sends"], totals["llm_calls"], totals["total_tokens"]) == (3, 6, 90)


@BOTH
def test_usage_is_taken_from_the_providers_record(live: SessionStore) -> None:
    session = live.create_session()
    anthropic = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    }
    openai = {
        "prompt_tokens": 130,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 100},
    }
    for usage in (anthropic, openai):
        live.record_usage(session, round_index=0, usage=usage, model="m\0")
    first, second = live.list_usage(session)
    assert (first.prompt_tokens, first.completion_tokens, first.total_tokens) == (130, 5, 135)
    assert (first.cache_read_tokens, first.cache_write_tokens) == (100, 20)
    assert (second.prompt_tokens, second.cache_read_tokens) == (130, 100)
    assert second.model == "m\\u0000"
    assert live.usage_totals(session)["cache_read_tokens"] == 200


@BOTH
def test_figures_that_cannot_be_true_do_not_count(live: SessionStore) -> None:
    session = live.create_session(model="gpt-5.5")
    for _ in range(2):
        live.record_usage(session, round_index=0, prompt_tokens=2**63 - 1, completion_tokens=5)
        live.record_usage(session, round_index=0, usage={"input_tokens": 10**300})
    live.record_usage(session, round_index=0, prompt_tokens=-7, completion_tokens=1)
    totals = live.usage_totals(session)
    assert (totals["llm_calls"], totals["prompt_tokens"], totals["completion_tokens"]) == (5, 0, 11)
    assert live.list_usage(session)[0].prompt_tokens == 2**63 - 1


def test_a_late_answer_counts_though_the_session_was_closed(live: SessionStore) -> None:
    session = live.create_session()
    live.close_session(session)
    live.record_usage(session, round_index=0, prompt_tokens=1, completion_tokens=1)
    assert live.usage_totals(session)["llm_calls"] == 1


# ------------------------------------------------------------ subscribe


@BOTH
def test_a_subscriber_sees_history_then_what_another_store_appends(stores: Stores) -> None:
    place = stores.place("events")
    with SessionStore.open(place) as mine, SessionStore.open(place) as other:
        session = mine.create_session()
        mine.append_message(session, role="user", content="a")
        events = mine.events(session, poll=0.001)
        assert next(events).content == "a"
        other.append_message(session, role="user", content="b")
        other.rewind(session, 1)
        other.append_message(session, role="user", content="c")
        assert [next(events).content for _ in range(2)] == ["b", "c"]
        again = mine.events(session, after=2, quiet_for=0)
        assert [message.content for message in again] == ["c"]
        other.close_session(session)
        assert list(events) == []


@BOTH
def test_a_subscriber_of_a_fork_sees_the_past_it_shares(live: SessionStore) -> None:
    session = live.create_session()
    live.append_messages(session, [{"role": "user", "content": str(n)} for n in range(1, 5)])
    live.record_compaction(session, from_seq=1, to_seq=2, note_content="n")
    fork = live.fork_session(session, at=3)
    live.append_message(fork, role="user", content="x")
    seqs = [message.seq for message in live.events(fork, quiet_for=0)]
    assert seqs == [1, 2, 3, 5, 6]
    assert [m.seq for m in live.events(fork, after=3, quiet_for=0)] == [5, 6]


def test_everything_can_be_awaited(stores: Stores) -> None:
    """One implementation: whatever `SessionStore` can do, the other can do."""
    missing = {
        name
        for name in dir(SessionStore)
        if not name.startswith("_") and not hasattr(AsyncSessionStore, name)
    }
    assert missing == set()

    async def run() -> list[MessageRow]:
        async with await AsyncSessionStore.open(stores.place("aio")) as store:
            session = await store.create_session(model="m")
            seqs = await asyncio.gather(
                *(store.append_message(session, role="user", content=str(n)) for n in range(20))
            )
            assert sorted(seqs) == list(range(1, 21))
            assert await store.load_tail(session, 1) == (await store.load_path(session))[-1:]
            draft = store.draft_session()
            assert await store.append_message(draft, role="user", content="x") == 1
            with pytest.raises(ValueError, match="unknown"):
                await store.append_message("nobody", role="user", content="x")
            return [message async for message in store.events(session, quiet_for=0)]

    assert [message.seq for message in asyncio.run(run())] == list(range(1, 21))


def test_a_closed_store_says_so_and_one_left_to_the_garbage_leaves_no_thread(
    stores: Stores,
) -> None:
    async def run() -> None:
        store = await AsyncSessionStore.open(stores.place("left"))
        await store.create_session()
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.create_session()

    asyncio.run(run())
    threads = Threads(2, "left-alone")
    working = list(threads._threads)
    del threads
    gc.collect()
    for thread in working:
        thread.join(60)
    assert not any(thread.is_alive() for thread in working)


def test_an_async_subscriber_sees_what_comes_later(stores: Stores) -> None:
    place = stores.place("aio-events")
    with SessionStore.open(place) as writer:
        session = writer.create_session()

        async def follow() -> list[int]:
            async with await AsyncSessionStore.open(place) as store:
                seen = []
                async for message in store.events(session, poll=0.001):
                    seen.append(message.seq)
                    if len(seen) == 1:
                        await asyncio.to_thread(writer.append_message, session, role="user")
                        await asyncio.to_thread(writer.close_session, session)
                return seen

        writer.append_message(session, role="user", content="a")
        assert asyncio.run(follow()) == [1, 2]


@BOTH
def test_threads_share_one_store(live: SessionStore) -> None:
    session = live.create_session()
    seqs: list[int] = []

    def work() -> None:
        for _ in range(20):
            seqs.append(live.append_message(session, role="user", content="x"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seqs) == list(range(1, 161))
