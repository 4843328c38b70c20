"""mycode's store as of release 0.21: timelines, the catalog and the lock of a session."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.errors import InvalidId
from session_memory.core.live_errors import NotOnPath, SessionExists
from session_memory.live.mycode_catalog import (
    SessionLockedError,
    SessionStore,
    SessionTotals,
    apply_rewind,
    display_text,
)
from session_memory.live.mycode_messages import assistant_message, text_block, user_text_message
from session_memory.live.store import SessionStore as LiveStore
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")


@pytest.fixture
def store(stores: Stores, tmp_path: Path) -> Iterator[SessionStore]:
    place = stores.place("memory")
    opened = SessionStore(tmp_path / "files", place=place, durability="normal")
    yield opened
    opened.close()


def append(store: SessionStore, session: str, *messages: Any) -> None:
    for message in messages:
        asyncio.run(store.append_message(session, message))


def summary(text: str, **meta: Any) -> dict[str, Any]:
    meta = {"trigger": "manual", "context_window": 1000, **meta}
    return {"role": "compact", "content": [text_block(text)], "meta": meta}


@BOTH
def test_a_timeline_keeps_summaries_and_rewinds_count_them(store: SessionStore) -> None:
    one, two, three = (user_text_message(text) for text in ("one", "two", "three"))
    assert store.load_messages_sync("s") == [] and not store.session_exists("s")
    append(store, "s", one, summary("so far"), two, three)
    assert store.session_exists("s")
    asyncio.run(store.append_rewind("s", 3))
    asyncio.run(store.append_rewind("s", 2))
    append(store, "s", three)
    shown = store.load_messages_sync("s")
    assert shown == [one, summary("so far"), three]
    raw = asyncio.run(store.load_raw_messages("s"))
    assert [record["role"] for record in raw] == [
        *("user", "compact", "user", "user", "rewind", "rewind", "user")
    ]
    assert apply_rewind(raw) == asyncio.run(store.load_messages("s")) == shown
    with pytest.raises(NotOnPath):
        asyncio.run(store.append_rewind("s", 4))
    append(store, "new", summary("first"))
    assert store.load_messages_sync("new") == [summary("first")]


@BOTH
def test_a_session_is_in_the_catalog_once_it_has_a_directory(store: SessionStore) -> None:
    append(store, "s", user_text_message("hello"))
    assert asyncio.run(store.list_sessions()) == []
    assert asyncio.run(store.load_session("s")) is None
    info = asyncio.run(store.create_session("s", cwd="/src/../src"))
    assert (info["cwd"], info["title"]) == ("/src", "hello")
    with pytest.raises(SessionExists):
        asyncio.run(store.create_session("s", cwd="/other"))
    assert asyncio.run(store.load_metadata("s")) == info
    assert asyncio.run(store.list_sessions(cwd="/src")) == [info]
    assert asyncio.run(store.latest_session(cwd="/other")) is None

    asyncio.run(store.delete_session("s"))
    assert asyncio.run(store.list_sessions()) == [] and store.load_messages_sync("s") == []
    turn = asyncio.run(store.record_user_turn("s", cwd="/src", text=""))
    assert turn["title"] == "New chat"
    turn = asyncio.run(store.record_user_turn("s", cwd="/other", text="again\nand again"))
    assert (turn["title"], turn["cwd"]) == ("again and again", "/src")
    asyncio.run(store.touch("s"))
    asyncio.run(store.touch("nobody"))
    data = asyncio.run(store.load_session("s"))
    assert data is not None and data["messages"] == []


def test_totals_count_rewound_answers_and_summaries(store: SessionStore) -> None:
    used = {"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 90}
    answer = assistant_message([text_block("x")], model="gpt-5.5", usage=used)
    answer["meta"]["cost"] = {"total": 0.5, "input": 0.25, "output": 0.25}
    append(store, "s", user_text_message("go"), answer, answer)
    asyncio.run(store.append_rewind("s", 1))
    append(store, "s", summary("sum", usage=used, cost={"total": 1.0}))
    totals = asyncio.run(store.load_totals("s"))
    assert totals.usage == {name: 3 * figure for name, figure in used.items()}
    assert totals.cost == {"total": 2.0}
    assert totals.payload() == {"session_usage": totals.usage, "session_cost": totals.cost}
    assert SessionTotals().payload() == {"session_usage": None, "session_cost": None}
    with LiveStore.open(store._live.path) as live:
        assert live.usage_totals("s")["prompt_tokens"] == 300


def test_a_search_finds_titles_and_visible_texts(store: SessionStore) -> None:
    asyncio.run(store.record_user_turn("s", cwd="/src", text="Refactor the Parser"))
    hidden = text_block("needle", meta={"skill_snapshot": True})
    blocks = [hidden, text_block("a  TokenBucket\nhere"), text_block("and more")]
    append(store, "s", {"role": "user", "content": blocks}, user_text_message("rewound"))
    asyncio.run(store.append_rewind("s", 1))
    (hit,) = asyncio.run(store.search_sessions("tokenbucket here"))
    snippet = {"before": "a ", "match": "TokenBucket here", "after": " and more"}
    assert hit["session"]["id"] == "s" and hit["snippet"] == snippet
    (hit,) = asyncio.run(store.search_sessions("parser"))
    assert hit["snippet"] is None
    for words in ("needle", "rewound", " \n", "a.*b"):
        assert asyncio.run(store.search_sessions(words)) == []
    assert display_text({"role": "rewind"}) == ""


def test_one_holder_has_a_session_open(store: SessionStore) -> None:
    with store.lock("s", "first") as lock:
        with pytest.raises(SessionLockedError, match="first"):
            store.lock("s", "second")
        append(store, "s", user_text_message("hello"))
    lock.release()
    assert not store.session_dir("s").exists()
    again = store.lock("s", "second")
    assert not store.tool_output_dir("s").exists()
    store.tool_output_dir("s").mkdir()
    asyncio.run(store.delete_session("s"))
    assert [path.name for path in store.session_dir("s").iterdir()] == ["lock"]
    again.release()
    assert not store.session_dir("s").exists()
    with pytest.raises(InvalidId):
        store.lock("../s", "third")
