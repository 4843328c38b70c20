"""Naming sessions: short names find their session again, whatever the ids are."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.errors import StoreError, UnknownSession
from session_memory.views.lookup import find_session, short_names

PARENT = "claude:7ac31f58-d904-4b6e"
CHILD = f"{PARENT}:a5d20c71e9b3"
OTHER = "claude:7ac3ffff-0000-4b6e"


def holding(*uids: str) -> Any:
    return SimpleNamespace(sessions=SimpleNamespace(uids=lambda: sorted(uids)))


# Ids much alike, with and without subagents, are where short names go wrong.
ids = st.from_regex(r"a{6,13}[bc]?(:(aaaaaa)?[ab]{1,4})?", fullmatch=True)


@settings(deadline=None)
@given(st.sets(ids, min_size=1, max_size=12), st.sets(ids, max_size=4))
def test_a_short_name_finds_its_session(claude: set[str], codex: set[str]) -> None:
    uids = [*(f"claude:{one}" for one in claude), *(f"codex:{one}" for one in codex)]
    names = short_names(uids)
    assert set(names) == set(uids)
    assert len(set(names.values())) == len(uids)
    store = holding(*uids)
    for uid, name in names.items():
        assert find_session(store, uid) == uid
        assert find_session(store, name) == uid


@settings(deadline=None)
@given(st.sets(st.uuids(), min_size=1, max_size=50))
def test_names_of_usual_ids_are_short_and_found_again(found) -> None:
    uids = [f"claude:{one}" for one in found]
    store = holding(*uids)
    for uid, name in short_names(uids).items():
        assert len(name) <= 12
        assert find_session(store, name) == uid


@pytest.mark.parametrize("text", [PARENT, "7ac31f58-d904-4b6e", "7ac31", "claude:7ac31", " 7ac31 "])
def test_a_beginning_shared_with_its_subagents_means_the_session(text) -> None:
    assert find_session(holding(PARENT, CHILD, OTHER), text) == PARENT


@pytest.mark.parametrize("text", [CHILD, "7ac31f58:a5d20c71", "7ac31:a5", f"{PARENT}:a"])
def test_a_subagent_is_named_by_both_beginnings(text) -> None:
    assert find_session(holding(PARENT, CHILD, OTHER), text) == CHILD


def test_a_beginning_of_several_is_refused_with_their_names() -> None:
    with pytest.raises(StoreError) as refused:
        find_session(holding(PARENT, CHILD, OTHER), "7ac3")
    assert "3 sessions begin with '7ac3'" in str(refused.value)
    assert "7ac31f58" in str(refused.value.hint) and "7ac3ffff" in str(refused.value.hint)


def test_a_short_native_id_is_found_when_it_is_whole() -> None:
    assert find_session(holding("claude:x1", PARENT), "x1") == "claude:x1"
    with pytest.raises(StoreError, match="too short"):
        find_session(holding("claude:x1", PARENT), "x")


def test_two_agents_with_one_id_are_told_apart() -> None:
    store = holding("claude:same-id", "codex:same-id")
    with pytest.raises(StoreError, match="2 sessions"):
        find_session(store, "same-id")
    assert find_session(store, "codex:same") == "codex:same-id"
    assert short_names(store.sessions.uids())["codex:same-id"] == "codex:same-id"


@pytest.mark.parametrize("text", ["7ac41f58", "claude:7ac41f58", "7ac31f59"])
def test_what_is_near_is_suggested(text) -> None:
    with pytest.raises(UnknownSession) as refused:
        find_session(holding(PARENT, "claude:ffffffff"), text)
    assert refused.value.hint == "Did you mean 7ac31f58?"


def test_nothing_near_leaves_the_usual_hint() -> None:
    with pytest.raises(UnknownSession) as refused:
        find_session(holding(PARENT), "zzzzzzzz")
    assert refused.value.hint == "List them with: session-memory sessions"
