"""The Claude Agent SDK keeps its transcripts here: its own conformance suite, and what it omits."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from late import Late

from session_memory.core.live_errors import SessionClosed
from session_memory.live.store import SessionStore
from session_memory.testing.stores import Stores

if TYPE_CHECKING:
    from session_memory.integrations.claude_agent_sdk import ClaudeSessionStore

claude_agent_sdk = Late("claude_agent_sdk")
conformance = Late("claude_agent_sdk.testing")
integration = Late("session_memory.integrations.claude_agent_sdk")

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

KEY = {"project_key": "-home-ada-engine", "session_id": "3f0c7a52-0000-4000-8000-000000000001"}
SUB = {**KEY, "subpath": "subagents/agent-a1"}

Test = Callable[[Callable[[], Awaitable["ClaudeSessionStore"]]], Awaitable[None]]


def run(stores: Stores, test: Test) -> None:
    """Run a test that opens stores of its own; all are closed at its end."""
    opened: list[ClaudeSessionStore] = []
    names = itertools.count()

    async def new(name: str | None = None) -> "ClaudeSessionStore":
        place = stores.place(name or f"store-{next(names)}")
        opened.append(await integration.ClaudeSessionStore.open(place, durability="normal"))
        return opened[-1]

    async def whole() -> None:
        try:
            await test(new)
        finally:
            for store in opened:
                await store.close()

    asyncio.run(whole())


def entry(uuid: str | None, **fields: Any) -> dict[str, Any]:
    record = {"type": "user", "timestamp": "2026-07-01T10:00:00.000Z", **fields}
    return record if uuid is None else {**record, "uuid": uuid}


def said(uuid: str, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return entry(uuid, type=role, message={"role": role, "content": content}, **fields)


@BOTH
def test_it_passes_the_conformance_suite_that_the_sdk_ships(stores: Stores) -> None:
    run(stores, conformance.run_session_store_conformance)


def test_an_entry_is_stored_once_however_often_it_is_sent(stores: Stores) -> None:
    async def test(new: Any) -> None:
        store, other = await new("one"), await new("one")
        first, second, mark = entry("a"), entry("b"), {"type": "mode", "mode": "plan"}
        await store.append(KEY, [first, first, mark])
        await other.append(KEY, [first, second, mark])
        await store.append(KEY, [second])
        assert await store.load(KEY) == [first, mark, second, mark]

    run(stores, test)


@BOTH
def test_writers_in_two_stores_at_once_lose_and_double_nothing(stores: Stores) -> None:
    async def test(new: Any) -> None:
        writers = [await new("one"), await new("one")]
        batches = [
            [entry(f"{place}-{number}") for number in range(batch, batch + 3)]
            for place in range(2)
            for batch in range(0, 15, 2)
        ]
        order = zip(itertools.cycle(writers), batches, strict=False)
        await asyncio.gather(*(store.append(KEY, batch) for store, batch in order))
        loaded = [one["uuid"] for one in await writers[0].load(KEY)]
        assert sorted(loaded) == sorted({one["uuid"] for batch in batches for one in batch})

    run(stores, test)


def test_entries_come_back_equal_whatever_is_in_them(stores: Stores) -> None:
    strange = [
        said("1", "user", "plain words"),
        said("2", "user", "a NUL \0 and half a pair \ud800"),
        said("3", "assistant", [{"type": "text", "text": "\0\udfff", "n": 1e300}]),
        said("4", "assistant", []),
        said("5", "user", None),
        said("6", "user", ["not a block"]),
        entry("7", message="no dict"),
        entry("8", type="summary", summary="x" * 200_000),
        said("9", "user", "y" * 200_000, toolUseResult={"stdout": "z" * 100_000}),
        entry(None, type=None, deep=[[{"a": [1, 2.5, True, None]}]]),
        {"type": "x"},
    ]

    async def test(new: Any) -> None:
        store = await new("one")
        await store.append(KEY, strange)
        assert await store.load(KEY) == strange
        assert await (await new("one")).load(KEY) == strange

    run(stores, test)


def test_a_deleted_session_is_gone_and_its_key_can_begin_again(stores: Stores) -> None:
    async def test(new: Any) -> None:
        store, other = await new("one"), await new("one")
        for number in range(3):
            await store.append(KEY, [entry(f"main-{number}")])
            await store.append(SUB, [entry(f"sub-{number}")])
            assert await other.load(KEY) == [entry(f"main-{number}")]
            assert await other.list_subkeys(KEY) == [SUB["subpath"]]
            await other.delete(KEY)
            assert await store.load(KEY) is None
            assert await store.load(SUB) is None
            assert await store.list_sessions(KEY["project_key"]) == []

    run(stores, test)


@BOTH
def test_a_deletion_between_two_batches_does_not_bring_the_first_back(stores: Stores) -> None:
    async def test(new: Any) -> None:
        store, other = await new("one"), await new("one")
        await store.append(KEY, [entry("a")])
        await other.delete(KEY)
        await store.append(KEY, [entry("b")])
        assert await store.load(KEY) == [entry("b")]

    run(stores, test)


def test_an_archived_session_refuses_entries_and_says_so(stores: Stores) -> None:
    async def test(new: Any) -> None:
        store = await new("one")
        await store.append(KEY, [entry("a")])
        with SessionStore.open(stores.place("one")) as live:
            live.archive_session(live.list_sessions()[0].session_id)
        with pytest.raises(SessionClosed, match="archived"):
            await store.append(KEY, [entry("b")])
        assert await store.load(KEY) == [entry("a")]

    run(stores, test)


def test_keys_that_look_alike_or_like_paths_are_kept_apart(stores: Stores) -> None:
    keys = [
        {"project_key": "a", "session_id": "b/c"},
        {"project_key": "a/b", "session_id": "c"},
        {"project_key": "a", "session_id": "b", "subpath": "c"},
        {"project_key": "../..", "session_id": "../../etc/passwd"},
        {"project_key": "", "session_id": ""},
        {"project_key": "a", "session_id": "x" * 10_000},
        {"project_key": "a", "session_id": "\0\ud800"},
    ]

    async def test(new: Any) -> None:
        store = await new("one")
        for number, key in enumerate(keys):
            await store.append(key, [entry(str(number))])
        for number, key in enumerate(keys):
            assert await store.load(key) == [entry(str(number))]

    run(stores, test)


def test_the_sdk_lists_sessions_with_titles_that_follow_a_rewind(stores: Stores) -> None:
    async def test(new: Any) -> None:
        store = await new("one")
        cwd = "/home/ada/engine"
        await store.append(KEY, [said("1", "user", "mill the cards", cwd=cwd)])
        await store.append(KEY, [entry("2", type="custom-title", customTitle="Cards")])

        async def titles() -> list[str]:
            return [
                one.summary
                for one in await claude_agent_sdk.list_sessions_from_store(store, directory=cwd)
            ]

        assert await titles() == ["Cards"]
        with SessionStore.open(stores.place("one")) as live:
            (row,) = live.list_sessions()
            live.rewind(row.session_id, 1)
        assert await titles() == ["mill the cards"]

    run(stores, test)


def test_what_the_sdk_wrote_is_a_live_session_like_any_other(stores: Stores) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}

    async def test(new: Any) -> None:
        store = await new("one")
        asked = said("1", "user", "build the engine")
        await store.append(KEY, [said("0", "user", "a reminder", isMeta=True), asked])
        await store.append(KEY, [said("2", "assistant", [call])])
        await store.append(SUB, [said("s", "user", "look around")])
        with SessionStore.open(stores.place("one")) as live:
            (row,) = live.list_sessions()
            assert (row.title, row.provider) == ("build the engine", "claude-agent-sdk")
            assert [one.call_id for one in live.pending(row.session_id)] == ["toolu_1"]
            assert [one.title for one in live.list_children(row.session_id)] == ["look around"]
            live.repair(row.session_id)
        # The answer is ours, not an entry of the SDK, which would not know it.
        assert [one["uuid"] for one in await store.load(KEY)] == ["0", "1", "2"]

    run(stores, test)


@pytest.fixture(autouse=True)
def _on_both(database: str) -> None:
    """Every test here runs on both databases."""
