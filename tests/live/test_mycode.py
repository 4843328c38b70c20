"""mycode's names over the live store: its contract, and each of its proven bugs, here without."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forking import start_script

from session_memory.core.errors import InvalidId, NewerSchema
from session_memory.core.live_errors import NotOnPath, SessionExists
from session_memory.live import mycode
from session_memory.live.mycode import (
    SessionStore,
    apply_compact,
    apply_rewind,
    build_compact_event,
    build_message,
    build_rewind_event,
    text_block,
    tool_result_block,
    tool_use_block,
    user_text_message,
)
from session_memory.live.store import SessionStore as LiveStore
from session_memory.testing.stores import Stores

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

TOLD: dict[str, Any] = {"provider": "anthropic", "model": "m", "cwd": "/src", "api_base": None}


@pytest.fixture
def place(stores: Stores) -> str:
    return stores.place("memory")


@pytest.fixture
def store(place: str) -> Iterator[SessionStore]:
    opened = SessionStore(place, durability="normal")
    yield opened
    opened.close()


def append(store: SessionStore, session: str, *messages: dict[str, Any]) -> None:
    for message in messages:
        asyncio.run(store.append_message(session, message, **TOLD))


def said(*texts: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    blocks = [[text_block(text)] for text in texts]
    return [build_message(roles[n % 2], block) for n, block in enumerate(blocks)]


def calling(*ids: str) -> dict[str, Any]:
    calls = [tool_use_block(tool_id=one, name="bash", input={"command": "ls"}) for one in ids]
    return build_message("assistant", calls)


def answering(one: str, text: str = "ok") -> dict[str, Any]:
    block = tool_result_block(tool_use_id=one, model_text=text, display_text=text)
    return build_message("user", [block])


def loaded(store: SessionStore, session: str = "s") -> list[dict[str, Any]]:
    data = store.load_session_sync(session)
    assert data is not None
    messages: list[dict[str, Any]] = data["messages"]
    return messages


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"][0].get("text") for message in messages]


# ---------------------------------------------------------------- the contract


def test_a_draft_is_on_no_disk_until_its_first_message(store: SessionStore) -> None:
    draft = store.draft_session(None, **TOLD)
    assert list(draft["session"]) == [
        "id",
        "title",
        "provider",
        "model",
        "cwd",
        "api_base",
        "message_format_version",
        "created_at",
        "updated_at",
    ]
    assert draft["session"]["title"] == "New chat"
    assert asyncio.run(store.list_sessions()) == []
    append(store, draft["session"]["id"], *said("hello"))
    (session,) = asyncio.run(store.list_sessions())
    assert session["id"] == draft["session"]["id"]


def test_messages_come_back_as_they_were_appended(store: SessionStore) -> None:
    messages = [
        user_text_message("fix\nthe " + "very " * 20 + "old bug", meta={"created_at": "now"}),
        build_message("assistant", [mycode.thinking_block("hm"), text_block("I will look.")]),
        calling("t1"),
        answering("t1"),
        build_message("user", [mycode.image_block("AAAA", mime_type="image/png", name="a.png")]),
        build_message("user", [mycode.document_block("AAAA", mime_type="application/pdf")]),
    ]
    append(store, "s", *messages)
    assert loaded(store) == messages
    data = asyncio.run(store.load_session("s"))
    assert data is not None and data["messages"] == messages
    words = "fix the very very very very very very very very very"
    assert data["session"]["title"] == words[:48]


def test_lists_are_by_directory_and_newest_first(store: SessionStore) -> None:
    for session, cwd in (("a", "/src"), ("b", "/src/../other"), ("c", "/src/.")):
        message = user_text_message(session)
        asyncio.run(store.append_message(session, message, **{**TOLD, "cwd": cwd}))
    append(store, "a", *said("again"))
    here = [one["id"] for one in asyncio.run(store.list_sessions(cwd="/src/"))]
    assert sorted(here) == ["a", "c"]
    latest = asyncio.run(store.latest_session(cwd="/other"))
    assert latest is not None and latest["id"] == "b"
    assert asyncio.run(store.latest_session(cwd="/nowhere")) is None


def test_a_compact_event_shows_as_a_summary_and_its_acknowledgement(store: SessionStore) -> None:
    event = build_compact_event("all was well", provider="p", model="m", compacted_count=4)
    append(store, "s", *said("one", "two", "three", "four"), event, *said("five", "six"))
    shown = loaded(store)
    assert texts(shown)[0] == "[Conversation Summary]\n\nall was well"
    assert [one.get("meta") for one in shown[:2]] == [{"synthetic": True}] * 2
    assert [one["role"] for one in shown] == ["user", "assistant", "user", "assistant"]
    assert texts(shown)[2:] == ["five", "six"]
    again = build_compact_event("and still is", provider="p", model="m", compacted_count=4)
    append(store, "s", again, *said("seven"))
    assert texts(loaded(store))[0] == "[Conversation Summary]\n\nand still is"
    assert texts(loaded(store))[2:] == ["seven"]


def test_a_rewind_leaves_that_many_of_what_is_visible(store: SessionStore) -> None:
    append(store, "s", *said("one", "two", "three"))
    asyncio.run(store.append_rewind("s", 1))
    append(store, "s", *said("four"))
    assert texts(loaded(store)) == ["one", "four"]
    append(store, "s", build_rewind_event(0))
    assert loaded(store) == []


def test_a_rewind_after_a_compaction_counts_the_summary(store: SessionStore) -> None:
    event = build_compact_event("so far", provider="p", model="m", compacted_count=2)
    append(store, "s", *said("one", "two"), event, *said("three", "four"))
    asyncio.run(store.append_rewind("s", 3))
    assert texts(loaded(store))[2:] == ["three"]
    asyncio.run(store.append_rewind("s", 2))
    assert texts(loaded(store))[0].endswith("so far") and len(loaded(store)) == 2
    append(store, "s", *said("five"))
    assert texts(loaded(store))[2:] == ["five"]
    asyncio.run(store.append_rewind("s", 0))
    assert loaded(store) == []


def test_clearing_and_deleting_hide_and_do_nothing_to_what_is_not_there(
    store: SessionStore,
) -> None:
    append(store, "s", *said("one"))
    asyncio.run(store.clear_session("s"))
    assert loaded(store) == []
    asyncio.run(store.delete_session("s"))
    assert store.load_session_sync("s") is None
    for operation in (store.clear_session, store.delete_session):
        asyncio.run(operation("nobody"))
    asyncio.run(store.append_rewind("nobody", 0))
    assert asyncio.run(store.list_sessions()) == []


def test_the_event_functions_replay_a_raw_log() -> None:
    one, two, three = said("one", "two", "three")
    assert apply_rewind([one, two, build_rewind_event(1), three]) == [one, three]
    event = build_compact_event("so far", provider="p", model="m", compacted_count=2, usage={})
    assert event["meta"] == {"provider": "p", "model": "m", "compacted_count": 2, "usage": {}}
    assert texts(apply_compact([one, event, two, event, three]))[2:] == ["three"]
    assert apply_compact([one]) == [one]
    with pytest.raises(NotOnPath):
        apply_rewind([one, build_rewind_event(-1)])


# ---------------------------------------------------------------- its bugs


@pytest.mark.parametrize("bad", ["", ".", "..", "../x", "/etc", "a/b", "a\\b", "\0", "x" * 10_000])
def test_deleting_an_id_that_is_none_removes_nothing(bad: str, store: SessionStore) -> None:
    append(store, "s", *said("one"))
    for operation in (store.delete_session, store.clear_session, store.load_session):
        with pytest.raises(InvalidId):
            asyncio.run(operation(bad))
    with pytest.raises(InvalidId):
        append(store, bad, *said("one"))
    assert len(asyncio.run(store.list_sessions())) == 1


def test_loading_while_a_tool_runs_writes_nothing(place: str, store: SessionStore) -> None:
    append(store, "s", *said("go"), calling("t1"))
    with LiveStore.open(place) as live:
        before = live.head("s"), live.get_session("s")
        readers = [SessionStore(place) for _ in range(4)]
        for reader in readers * 3:
            assert loaded(reader) == loaded(store)
        assert (live.head("s"), live.get_session("s")) == before
        for reader in readers:
            reader.close()
    append(store, "s", answering("t1", "the true result"))
    assert loaded(store)[-1]["content"][0]["model_text"] == "the true result"


WRITER = """
import asyncio, sys
from session_memory.live.mycode import SessionStore, user_text_message
store = SessionStore(sys.argv[1], durability="normal")
told = dict(provider="p", model="m", cwd="/src", api_base=None)
async def main():
    for number in range(int(sys.argv[3])):
        await store.append_message("s", user_text_message(f"{sys.argv[2]}-{number}"), **told)
        print(number, flush=True)
asyncio.run(main())
"""


def writer(place: str, name: str, count: int) -> "subprocess.Popen[str]":
    return start_script(WRITER, place, name, str(count), stdout=subprocess.PIPE, text=True)


@BOTH
def test_a_killed_writer_does_not_swallow_the_next_acknowledged_message(
    place: str, store: SessionStore
) -> None:
    acknowledged = 0
    for number in range(3):
        process = writer(place, f"w{number}", 100_000)
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
            acknowledged += 1
        process.kill()
        acknowledged += len(process.stdout.read().splitlines())
        process.stdout.close()
        process.wait()
        append(store, "s", *said("mine"))
    shown = texts(loaded(store))
    assert shown.count("mine") == 3
    # One of each writer may have been written without being acknowledged any more.
    assert acknowledged <= len(shown) - 3 <= acknowledged + 3


@BOTH
def test_four_writers_lose_and_refuse_nothing(place: str, store: SessionStore) -> None:
    writers = [writer(place, f"w{number}", 25) for number in range(4)]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    wanted = {f"w{process}-{number}" for process in range(4) for number in range(25)}
    shown = texts(loaded(store))
    assert set(shown) == wanted and len(shown) == len(wanted)


@BOTH
def test_readers_beside_a_writer_never_meet_a_half_written_session(
    place: str, store: SessionStore
) -> None:
    append(store, "s", *said("first"))
    process = writer(place, "w", 60)
    while process.poll() is None:
        (listed,) = asyncio.run(store.list_sessions())
        assert listed["title"] == "first"
        assert texts(loaded(store))[0] == "first"
    process.communicate()
    assert len(loaded(store)) == 61


@pytest.mark.parametrize("bad", [-1, 4, "2", True, None, 1.0])
def test_a_rewind_to_nowhere_is_refused_and_changes_nothing(bad: Any, store: SessionStore) -> None:
    append(store, "s", *said("one", "two", "three"))
    with pytest.raises(NotOnPath):
        asyncio.run(store.append_rewind("s", bad))
    with pytest.raises(NotOnPath):
        append(store, "s", build_rewind_event(bad))
    assert texts(loaded(store)) == ["one", "two", "three"]


def test_every_interrupted_loop_is_repaired_right_behind_its_call(store: SessionStore) -> None:
    append(store, "s", *said("go"), calling("t1", "t2"), answering("t1"))
    append(store, "s", *said("never mind"), calling("t3"), *said("bye"))
    assert asyncio.run(store.repair_session("s")) == 2
    answered = [
        [block.get("tool_use_id") for block in message["content"] if "tool_use_id" in block]
        for message in loaded(store)
    ]
    assert answered[1:3] in ([[], ["t2"]], [[], ["t1"]])
    shown = loaded(store)
    calls = [n for n, m in enumerate(shown) for b in m["content"] if b.get("id") == "t3"]
    (result,) = shown[calls[0] + 1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("t3", True)
    assert asyncio.run(store.repair_session("s")) == 0


@BOTH
def test_a_lone_surrogate_from_a_shell_keeps_its_message(store: SessionStore) -> None:
    append(store, "s", *said("go"), calling("t1"), answering("t1", "caf\udce9 \0"))
    assert loaded(store)[-1]["content"][0]["model_text"] == "caf\udce9 \0"


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 100, "cache_read_input_tokens": 79_000, "output_tokens": 1000},
        {"input_tokens": 100, "cache_creation_input_tokens": 80_000},
        {"prompt_tokens": 80_000, "prompt_tokens_details": {"cached_tokens": 79_000}},
        {"prompt_token_count": 80_000, "cached_content_token_count": 79_000},
    ],
)
def test_cached_tokens_count_for_should_compact(usage: dict[str, Any]) -> None:
    assert mycode.should_compact(usage, 100_000, 0.8)
    assert not mycode.should_compact(usage, 200_000, 0.8)


def test_creating_an_id_that_exists_changes_nothing(store: SessionStore) -> None:
    asyncio.run(store.create_session("mine", session_id="s", **TOLD))
    append(store, "s", *said("one"))
    with pytest.raises(SessionExists):
        asyncio.run(store.create_session("yours", session_id="s", **{**TOLD, "model": "other"}))
    data = store.load_session_sync("s")
    assert data is not None
    assert (data["session"]["title"], data["session"]["model"]) == ("mine", "m")
    assert len(data["messages"]) == 1


def test_a_format_of_the_future_is_refused(place: str, store: SessionStore) -> None:
    with LiveStore.open(place) as live:
        live.create_session(session_id="s", metadata={"message_format_version": 999})
    with pytest.raises(NewerSchema):
        store.load_session_sync("s")


def test_sessions_that_a_power_loop_runtime_wrote_can_be_read_too(
    place: str, store: SessionStore
) -> None:
    with LiveStore.open(place) as live:
        live.create_session(session_id="s")
        live.append_message("s", role="user", content="flat")
        call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        live.append_message("s", role="assistant", tool_calls=[call])
        live.append_message("s", role="tool", content="files", tool_call_id="c1")
    assert [message["role"] for message in loaded(store)] == ["user", "assistant", "user"]
    assert loaded(store)[1]["content"][0]["input"] == {}
    assert loaded(store)[2]["content"][0]["model_text"] == "files"


def test_the_file_of_the_store_is_private(stores: Stores, store: SessionStore, place: str) -> None:
    if not place.startswith("postgresql:"):
        assert Path(place).stat().st_mode & 0o777 == 0o600


@pytest.fixture(autouse=True)
def _on_both(database: str) -> None:
    """Every test here runs on both databases."""
