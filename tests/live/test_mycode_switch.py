"""Code that was written for mycode's store runs here after a change of its import.

The comments name the rows of the comparison with mycode. What is expected here is what mycode 0.4.2
itself did; its own tests run with tools/peer_suites/run_mycode.
"""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.errors import InvalidId, InvalidRecord
from session_memory.core.live_errors import SessionClosed
from session_memory.live import mycode
from session_memory.live.mycode import (
    SessionMeta,
    SessionStore,
    assistant_message,
    build_compact_event,
    build_message,
    build_rewind_event,
    flatten_message_text,
    should_compact,
    text_block,
    user_text_message,
)
from session_memory.live.store import SessionStore as LiveStore
from session_memory.memory import Memory
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

TOLD: dict[str, Any] = {"provider": "p", "model": "gpt-5.5", "cwd": "/src", "api_base": None}


@pytest.fixture
def place(stores: Stores) -> str:
    return stores.place("memory")


@pytest.fixture
def store(place: str) -> Iterator[SessionStore]:
    opened = SessionStore(place, durability="normal")
    yield opened
    opened.close()


@pytest.fixture
def shared(place: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store of the command line."""
    monkeypatch.setenv("SESSION_MEMORY_STORE", place)
    return place


def append(store: SessionStore, session: str, *messages: Any) -> None:
    for message in messages:
        asyncio.run(store.append_message(session, message, **TOLD))


def messages_of(store: SessionStore, session: str = "s") -> list[dict[str, Any]]:
    data = store.load_session_sync(session)
    assert data is not None
    return data["messages"]


def ids(store: SessionStore) -> list[str]:
    return [session["id"] for session in asyncio.run(store.list_sessions())]


def title_of(store: SessionStore, session: str = "s") -> str:
    data = store.load_session_sync(session)
    assert data is not None
    return str(data["session"]["title"])


# ---------------------------------------------------------------- directories


def test_a_directory_has_its_own_store_and_mycodes_paths(tmp_path: Path) -> None:
    # SWITCHING 2.31, 2.32
    mine, other = SessionStore(data_dir=tmp_path / "a"), SessionStore(tmp_path / "b")
    append(mine, "s", user_text_message("hello"))
    assert mine.data_dir == tmp_path / "a"
    assert mine.session_dir("s") == tmp_path / "a" / "s"
    assert mine.messages_path("s") == tmp_path / "a" / "s" / "messages.jsonl"
    assert mine.meta_path("s") == tmp_path / "a" / "s" / "meta.json"
    assert ids(other) == []
    mine.close()
    again = SessionStore(data_dir=tmp_path / "a")
    assert ids(again) == ["s"]
    for opened in (again, other):
        opened.close()


def test_large_outputs_have_a_private_directory_until_the_session_is_deleted(
    tmp_path: Path,
) -> None:
    # SWITCHING 2.4
    store = SessionStore(data_dir=tmp_path)
    append(store, "s", user_text_message("hello"))
    outputs = store.session_dir("s") / "tool-output"
    assert outputs == store.tool_output_dir("s") and outputs.stat().st_mode & 0o777 == 0o700
    (outputs / "bash-1.log").write_text("x" * 100_000)
    asyncio.run(store.delete_session("s"))
    assert not store.session_dir("s").exists()
    with pytest.raises(InvalidId):
        store.tool_output_dir("../s")

    data = asyncio.run(store.create_session(None, session_id="t", **TOLD))
    assert (store.session_dir("t") / "tool-output").is_dir() and data["messages"] == []
    store.messages_path("t").write_text("{}\n")
    asyncio.run(store.delete_session("t"))
    # mycode's own log is there; it may refer to the outputs.
    assert (store.session_dir("t") / "tool-output").is_dir()
    store.close()


def test_the_default_is_the_shared_store_with_the_sessions_of_this_home(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # SWITCHING 2.5, 2.6, 2.31
    stores = []
    for name in ("one", "two"):
        home = tmp_path / name / "mycode"
        monkeypatch.setenv("MYCODE_HOME", str(home))
        assert mycode.resolve_mycode_home() == home
        assert mycode.resolve_sessions_dir() == home / "sessions"
        stores.append(SessionStore())
        assert stores[-1].data_dir == home / "sessions" and stores[-1].data_dir.is_dir()
        append(stores[-1], name, user_text_message("hello"))
    # mycode's agent opens the store again by its directory.
    stores.append(SessionStore(data_dir=mycode.resolve_sessions_dir()))
    assert [ids(one) for one in stores] == [["one"], ["two"], ["two"]]
    (tmp_path / "one").rename(tmp_path / "moved")
    assert ids(stores[1]) == ["two", "one"]
    for one in stores:
        one.close()
    with LiveStore.open(shared) as live:
        assert {row.session_id for row in live.list_sessions()} == {"one", "two"}
        # A session of another runtime is not mycode's; one that was imported from mycode is.
        live.create_session(session_id="other", metadata={"imported_from": "power_loop:other"})
        live.create_session(session_id="imported", metadata={"imported_from": "mycode:imported"})
    again = SessionStore()
    assert sorted(ids(again)) == ["imported", "one", "two"]
    again.close()
    monkeypatch.setenv("MYCODE_HOME", "")
    assert mycode.resolve_mycode_home() == Path.home() / ".mycode"


def test_a_place_and_a_directory_can_both_be_given(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    for store in (SessionStore(place), SessionStore(place=place)):
        append(store, "s", user_text_message("hello"))
        assert store.data_dir == tmp_path / "memory.sessions"
        assert not store.data_dir.exists()
        store.close()
    both = SessionStore(tmp_path / "files", place=place)
    assert (len(messages_of(both)), both.data_dir) == (2, tmp_path / "files")
    both.close()


def test_nothing_is_stored_if_the_directory_cannot_be_made(tmp_path: Path) -> None:
    # SWITCHING 2.4
    store = SessionStore(data_dir=tmp_path)
    (tmp_path / "s").write_text("in the way")
    with pytest.raises(OSError, match="exists"):
        append(store, "s", user_text_message("hello"))
    with pytest.raises(OSError, match="exists"):
        asyncio.run(store.create_session(None, session_id="s", **TOLD))
    assert ids(store) == []
    store.close()


# ---------------------------------------------------------------- names


def test_mycodes_names_are_here(store: SessionStore) -> None:
    # SWITCHING 2.11, 2.28, 2.29, 2.30
    assert mycode.COMPACT_SUMMARY_PROMPT
    assert mycode.ConversationMessage == mycode.ContentBlock == dict[str, Any]
    assert mycode.SessionData.__required_keys__ == {"session", "messages"}
    draft = store.draft_session("mine", **TOLD)
    assert asdict(SessionMeta(**draft["session"])) == draft["session"]
    meta: mycode.SessionMetaDict = draft["session"]
    assert meta["title"] == "mine"


def test_a_flat_text_has_no_attachments() -> None:
    # SWITCHING 2.28
    attached = text_block("FILE CONTENTS", meta={"attachment": True, "path": "a.py"})
    blocks = [attached, text_block(" one \n"), mycode.thinking_block("hm"), text_block("two")]
    message = build_message("user", [*blocks, {"type": "text"}, "rubbish"])  # type: ignore[list-item]
    assert flatten_message_text(message) == "one hm two"
    assert flatten_message_text(message, include_thinking=False) == "one two"
    assert flatten_message_text({"role": "rewind"}) == ""


# ---------------------------------------------------------------- compaction


@pytest.mark.parametrize("threshold", [0, 0.0, -1, float("nan")])
def test_a_threshold_of_zero_switches_compaction_off(threshold: float) -> None:
    # SWITCHING 2.18
    assert not should_compact({"input_tokens": 99_999}, 100_000, threshold)
    assert not should_compact(None, 100, threshold)
    assert not LiveStore.should_compact({"input_tokens": 99_999}, 100_000, threshold)


def test_figures_may_be_texts_or_one_number() -> None:
    # SWITCHING 2.20
    assert should_compact({"input_tokens": "90"}, 100, 0.8)
    assert should_compact({"input_tokens": " 90.0 "}, 100, 0.8)
    assert not should_compact({"input_tokens": "79"}, 100, 0.8)
    for rubbish in ("many", "-90", "9e99", "nan", "", "٩٠"):
        assert not should_compact({"input_tokens": rubbish}, 100, 0.8)
    assert should_compact(80, 100, 0.8) and not should_compact(79, 100, 0.8)
    with pytest.raises(InvalidRecord):
        should_compact("90", 100, 0.8)  # type: ignore[arg-type]


@BOTH
def test_a_summary_may_come_first(store: SessionStore) -> None:
    # SWITCHING 2.57
    event = build_compact_event("so far", provider="p", model="m", compacted_count=0)
    append(store, "s", event, user_text_message("go on"))
    shown = messages_of(store)
    assert shown[0]["content"][0]["text"].endswith("so far") and len(shown) == 3
    asyncio.run(store.append_rewind("s", 2))
    assert len(messages_of(store)) == 2
    asyncio.run(store.clear_session("s"))
    append(store, "s", event)
    assert len(messages_of(store)) == 2
    append(store, "t", build_rewind_event(0))
    assert messages_of(store, "t") == []


# ---------------------------------------------------------------- sessions


def test_one_session_of_a_newer_format_costs_only_itself(place: str, store: SessionStore) -> None:
    # SWITCHING 2.40
    append(store, "old", user_text_message("hello"))
    with LiveStore.open(place) as live:
        for number, version in enumerate((999, "5", None, [5])):
            metadata = {"message_format_version": version}
            live.create_session(session_id=f"new-{number}", cwd="/src", metadata=metadata)
        for number in range(60):
            live.create_session(session_id=f"newer-{number}", metadata=metadata, cwd="/src")
    assert ids(store) == ["old"]
    latest = asyncio.run(store.latest_session(cwd="/src"))
    assert latest is not None and latest["id"] == "old"


@BOTH
def test_a_deleted_id_begins_again(place: str, store: SessionStore) -> None:
    # SWITCHING 2.51
    append(store, "s", user_text_message("before"), build_message("assistant", []))
    asyncio.run(store.delete_session("s"))
    append(store, "s", user_text_message("after"))
    assert [m["content"][0]["text"] for m in messages_of(store)] == ["after"]
    assert title_of(store) == "after" and ids(store) == ["s"]
    asyncio.run(store.delete_session("s"))
    data = asyncio.run(store.create_session("mine", session_id="s", **TOLD))
    assert (data["session"]["title"], data["messages"]) == ("mine", [])
    asyncio.run(store.delete_session("s"))
    append(store, "s", build_compact_event("so far", provider="p", model="m", compacted_count=0))
    assert len(messages_of(store)) == 2
    with LiveStore.open(place) as live:
        live.archive_session("s")
    with pytest.raises(SessionClosed):
        append(store, "s", user_text_message("no"))


def test_deletes_beside_appends_lose_no_message(tmp_path: Path) -> None:
    # SWITCHING 2.4, 2.51
    def work(number: int) -> None:
        store = SessionStore(data_dir=tmp_path, durability="normal")
        for turn in range(8):
            append(store, "s", user_text_message(f"{number}-{turn}"))
            if turn % 3 == number % 3:
                asyncio.run(store.delete_session("s"))
        store.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    with open_store(tmp_path / "memory.db") as store:
        assert store.db.value("select count(*) from live_messages", {}) == 4 * 8


def test_attached_files_give_no_title(store: SessionStore) -> None:
    # SWITCHING 2.61
    for session, size in (("small", 10), ("large", 100_000)):
        files = [text_block("x" * size, meta={name: True}) for name in ("attachment", "job")]
        append(store, session, build_message("user", files))
        assert title_of(store, session) == "New chat"
        append(store, session, build_message("user", [*files, text_block("real question")]))
        assert title_of(store, session) == "real question"


def test_the_default_title_is_replaced_by_the_first_text(store: SessionStore) -> None:
    # SWITCHING 2.62
    for title, shown in (("New chat", "hello"), ("", "hello"), (None, "hello"), ("My", "My")):
        data = asyncio.run(store.create_session(title, **TOLD))
        session = data["session"]["id"]
        assert data["session"]["title"] == (title or "New chat")
        append(store, session, user_text_message("hello"))
        assert title_of(store, session) == shown


# ---------------------------------------------------------------- whole messages

WHOLE: list[dict[str, Any]] = [
    {"role": "user", "content": [text_block("a")], "ts": 1, "extra": {"deep": [None, 1.5]}},
    {"role": "assistant", "content": []},
    {"role": "assistant", "content": None},
    {"role": "assistant"},
    {"role": "user", "content": "plain text"},
    {"role": "user", "content": {"odd": True}},
    {"role": "user", "content": [text_block("a")], "meta": {}},
    {"role": "user", "content": [text_block("a")], "meta": None},
    {"role": "user", "content": [text_block("a")], "meta": {"message_keys": {"x": 1}, "y": 2}},
    {"role": "user", "content": [text_block("a")], "name": "n", "tool_calls": [1], "seq": 7},
    {"role": "note", "content": [text_block("x" * 100_000)], "ts": "caf\udce9 \0"},
]


@BOTH
def test_messages_come_back_whole(store: SessionStore) -> None:
    # SWITCHING 2.63, 2.64
    append(store, "s", *WHOLE)
    assert messages_of(store) == WHOLE


def test_append_messages_drops_no_field(place: str) -> None:
    # SWITCHING 2.63
    with LiveStore.open(place) as live:
        session = live.create_session()
        live.append_messages(
            session,
            [{"role": "user", "content": "a", "ts": 1}, {"role": "user", "content": "b"}],
        )
        first, second = live.load_path(session)
        assert (first.meta, second.meta) == ({"message_keys": {"ts": 1}}, {})
        with pytest.raises(InvalidRecord):
            live.append_messages(session, [{"role": "user", "ts": 1, "meta": "rubbish"}])


# ---------------------------------------------------------------- usage


USED = {"input_tokens": 1000, "output_tokens": 50}
APART = {"input_tokens": 10, "cache_read_input_tokens": 900, "output_tokens": 7}
WITHIN = {"input_tokens": 1000, "cache_read_tokens": 900, "output_tokens": 7}
ODD: list[Any] = [{}, "rubbish", [1], None, {"input_tokens": 1e300}, {"output_tokens": 1 << 62}]
NAMED = {"model": "claude-sonnet-4-5", "usage": APART}


@BOTH
def test_usage_of_answers_and_summaries_is_counted(place: str, store: SessionStore) -> None:
    # SWITCHING 2.69
    append(
        store,
        "s",
        user_text_message("hello", meta={"usage": USED}),
        assistant_message([text_block("one")], usage=USED),
        assistant_message([text_block("two")], **NAMED),
        # Release 0.21: the input contains the cached tokens.
        assistant_message([text_block("three")], usage=WITHIN),
        build_compact_event("sum", provider="p", model="m", compacted_count=4, usage=USED),
        *(assistant_message([text_block("x")], usage=odd) for odd in ODD),
    )
    with LiveStore.open(place) as live:
        rows = live.list_usage("s")
    figures = [(r.model, r.prompt_tokens, r.cache_read_tokens, r.completion_tokens) for r in rows]
    assert figures == [
        ("gpt-5.5", 1000, None, 50),
        ("claude-sonnet-4-5", 910, 900, 7),
        ("gpt-5.5", 1000, 900, 7),
        ("m", 1000, None, 50),
    ]


def test_a_session_costs_as_much_here_as_in_mycodes_files(
    place: str, store: SessionStore, tmp_path: Path
) -> None:
    # SWITCHING 2.69
    mine = {"provider": "p", "model": "gpt-5.5", "usage": USED}
    log = [
        user_text_message("hello"),
        assistant_message([text_block("one")], **mine),
        assistant_message([text_block("two")], **NAMED),
        assistant_message([text_block("three")], **{**mine, "usage": WITHIN}),
        build_compact_event("sum", compacted_count=4, **mine),
        user_text_message("more"),
        assistant_message([text_block("four")], **mine),
    ]
    append(store, "s", *log)
    theirs = tmp_path / ".mycode" / "sessions" / "s"
    theirs.mkdir(parents=True)
    (theirs / "messages.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in log))
    with Memory.open(place) as memory:
        memory.sync(tmp_path)
        live, own = (memory.session(uid).cost for uid in ("live:s", "mycode:s"))
    assert live.amount == own.amount and live.microdollars > 0 and not live.unpriced_tokens
    assert asdict(live.tokens) | {"wall_clock_s": 0} == asdict(own.tokens) | {"wall_clock_s": 0}
