"""The OpenAI Agents SDK keeps its conversations here: its protocol, its runner, and races.

The SDK's own session tests run against this too: tools/peer_suites/run_openai_agents.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from late import Late

from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import SessionClosed
from session_memory.live.aio import AsyncSessionStore
from session_memory.live.store import SessionStore
from session_memory.testing.stores import Stores

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

agents = Late("agents")
memory = Late("agents.memory")
testing = Late("agents.testing")
responses = Late("openai.types.responses")
ours = Late("session_memory.integrations.openai_agents")

Test = Callable[[AsyncSessionStore], Awaitable[None]]

ITEMS: list[Any] = [
    {"role": "user", "content": "build the engine"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "…"},
    {"type": "function_call", "call_id": "c1", "name": "make", "arguments": "{", "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "done \0 \ud800"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text"}]},
    {"type": "function_call", "call_id": "c3", "name": "no arguments"},
    {"type": "computer_call_output", "call_id": "c4", "output": {"type": "screenshot"}},
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "built", "annotations": []}],
    },
    {"role": "developer", "content": [{"type": "input_text", "text": "x" * 100_000}]},
    {"role": "narrator", "content": "unheard of"},
    {"role": "user", "content": []},
    {"type": "item_reference", "id": "r1", "role": None},
]


def run(stores: Stores, test: Test) -> None:
    async def whole() -> None:
        place = stores.place("memory")
        async with await AsyncSessionStore.open(place, durability="normal") as store:
            await test(store)

    asyncio.run(whole())


def words(text: str) -> Any:
    said = responses.ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
    return responses.ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[said]
    )


@pytest.fixture(autouse=True)
def _on_both(database: str) -> None:
    """Every test here runs on both databases."""


def test_it_is_a_session_by_the_sdks_own_measure(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        assert isinstance(ours.LiveSession("s", store), memory.Session)

    run(stores, test)


def test_items_come_back_equal_whatever_they_are(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store)
        assert await session.get_items() == []
        await session.add_items(ITEMS)
        await session.add_items([])
        assert await session.get_items() == ITEMS
        for item in reversed(ITEMS):
            assert await session.pop_item() == item
        assert await session.pop_item() is None

    run(stores, test)


@pytest.mark.parametrize(
    ("settings", "limit", "expected"),
    [
        (None, None, 12),
        (None, 5, 5),
        (None, 0, 0),
        (None, 99, 12),
        (3, None, 3),
        ({"limit": 3}, None, 3),
        (3, 4, 4),
    ],
)
def test_a_limit_gives_the_latest_items_oldest_first(
    settings: Any, limit: int | None, expected: int, stores: Stores
) -> None:
    if isinstance(settings, int):
        settings = memory.SessionSettings(limit=settings)

    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store, session_settings=settings)
        await session.add_items(ITEMS)
        assert await session.get_items(limit) == ITEMS[len(ITEMS) - expected :]

    run(stores, test)


def test_a_cleared_conversation_is_empty_and_can_be_brought_back(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store)
        await session.clear_session()
        await session.add_items(ITEMS[:2])
        await session.clear_session()
        assert await session.get_items() == []
        await store.undo_rewind("s")
        assert await session.get_items() == ITEMS[:2]

    run(stores, test)


@BOTH
def test_many_who_pop_at_once_get_each_item_once(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        one = ours.LiveSession("s", store)
        async with await AsyncSessionStore.open(stores.place("memory")) as other_store:
            other = ours.LiveSession("s", other_store)
            items = [{"role": "user", "content": str(number)} for number in range(12)]
            await one.add_items(items)
            popped = await asyncio.gather(*(s.pop_item() for s in (one, other) * 7))
        got = [item["content"] for item in popped if item is not None]
        assert sorted(got, key=int) == [item["content"] for item in items]
        assert popped.count(None) == 2

    run(stores, test)


@BOTH
def test_a_failed_append_leaves_nothing_behind(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store)
        with pytest.raises(InvalidRecord):
            await session.add_items([ITEMS[0], {"role": "user", "content": object()}])
        assert await store.get_session("s") is None
        await session.add_items(ITEMS[:1])
        assert await session.get_items() == ITEMS[:1]

    run(stores, test)


def test_ids_that_cannot_be_ours_are_kept_apart(stores: Stores) -> None:
    names = ["", "..", "../../x", "/etc/passwd", "a b", "a  b", "ü", "\0", "\ud800", "y" * 10_000]

    async def test(store: AsyncSessionStore) -> None:
        for name in names:
            await ours.LiveSession(name, store).add_items(
                [{"role": "user", "content": name or "-"}]
            )
        for name in names:
            (item,) = await ours.LiveSession(name, store).get_items()
            assert item["content"] == (name or "-")
        result = {row.metadata["session_id"] for row in await store.list_sessions()}
        assert result == set(names)

    run(stores, test)


def test_a_closed_session_says_so(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store)
        await session.add_items(ITEMS[:1])
        await store.close_session("s")
        with pytest.raises(SessionClosed):
            await session.add_items(ITEMS[:1])

    run(stores, test)


def test_a_compaction_shows_as_its_note(stores: Stores) -> None:
    async def test(store: AsyncSessionStore) -> None:
        session = ours.LiveSession("s", store)
        await session.add_items([{"role": "user", "content": str(n)} for n in range(4)])
        await store.record_compaction("s", from_seq=1, to_seq=3, note_content="three numbers")
        note = {"role": "system", "content": "three numbers"}
        last = {"role": "user", "content": "3"}
        assert await session.get_items() == [note, last]
        assert await session.get_items(1) == [last]

    run(stores, test)


def test_the_runner_goes_on_where_another_process_stopped(stores: Stores) -> None:
    @agents.function_tool
    def turn(by: int) -> str:
        return f"turned by {by}"

    def agent(*outputs: Any) -> tuple[Any, Any]:
        model = testing.ScriptedModel()
        for output in outputs:
            model.enqueue([output])
        return agents.Agent(name="engine", model=model, tools=[turn]), model

    call = responses.ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="turn", arguments='{"by": 3}', id="fc1"
    )

    quiet = agents.RunConfig(tracing_disabled=True)

    async def test(store: AsyncSessionStore) -> None:
        engine, _ = agent(call, words("turned"))
        result = await agents.Runner.run(
            engine, "turn it", session=ours.LiveSession("s", store), run_config=quiet
        )
        assert result.final_output == "turned"
        again, model = agent(words("by three"))
        async with await AsyncSessionStore.open(stores.place("memory")) as other:
            result = await agents.Runner.run(
                again, "by how much?", session=ours.LiveSession("s", other), run_config=quiet
            )
        assert result.final_output == "by three"
        sent = [item.get("output") or item.get("content") for item in model.calls[-1].input]
        assert (sent[0], sent[2], sent[-1]) == ("turn it", "turned by 3", "by how much?")
        assert (await store.pending("s")) == []
        assert (await store.get_session("s")).title == "turn it"

    run(stores, test)


def test_a_session_of_its_own_store_is_opened_and_closed(stores: Stores) -> None:
    async def whole() -> None:
        session = ours.LiveSession("s", stores.place("memory"))
        await session.add_items(ITEMS[:1])
        await session.close()

    asyncio.run(whole())
    with SessionStore.open(stores.place("memory")) as live:
        assert live.head("s") == 1
