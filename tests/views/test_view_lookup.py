"""Naming sessions: short names find their session again, whatever the ids are."""

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.errors import StoreError, UnknownSession
from session_memory.store import Store
from session_memory.store.session_ids import SessionIds
from session_memory.store.sessions import CollectedSession
from session_memory.testing.collecting import new_store
from session_memory.views.lookup import find_session, names_session, suggest_sessions
from session_memory.views.short_names import short_names

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

PARENT = "claude:7ac31f58-d904-4b6e"
CHILD = f"{PARENT}:a5d20c71e9b3"
OTHER = "claude:7ac3ffff-0000-4b6e"


def holding(*uids: str, **titles: str) -> Store:
    """A store with sessions of these uids, and nothing in them."""
    store = new_store()
    with store.transaction():
        for uid in uids:
            flavor, _, native = uid.partition(":")
            title = titles.get(native)
            store.sessions.save(
                CollectedSession(uid=uid, flavor=flavor, native_id=native, title=title)
            )
    return store


# Ids much alike, with and without subagents, are where short names go wrong.
ids = st.builds(
    "{}{}{}".format,
    st.integers(6, 13).map("a".__mul__),
    st.sampled_from(("", "b", "c")),
    st.just("")
    | st.builds(
        ":{}{}".format,
        st.sampled_from(("", "aaaaaa")),
        st.text("ab", min_size=1, max_size=4),
    ),
)


@settings(deadline=None, max_examples=times(60))
@given(st.sets(ids, min_size=1, max_size=12), st.sets(ids, max_size=4))
def test_a_short_name_finds_its_session(claude: set[str], codex: set[str]) -> None:
    uids = [*(f"claude:{one}" for one in claude), *(f"codex:{one}" for one in codex)]
    with holding(*uids) as store:
        names = short_names(store, uids)
        assert set(names) == set(uids)
        assert len(set(names.values())) == len(uids)
        for uid, name in names.items():
            assert short_names(store, [uid]) == {uid: name}
            assert find_session(store, uid) == uid
            assert find_session(store, name) == uid


@settings(deadline=None, max_examples=times(30))
@given(st.sets(st.uuids(), min_size=1, max_size=50))
def test_names_of_usual_ids_are_short_and_found_again(found) -> None:
    uids = [f"claude:{one}" for one in found]
    with holding(*uids) as store:
        for uid, name in short_names(store, uids).items():
            assert len(name) <= 12
            assert find_session(store, name) == uid


def test_a_word_that_all_ids_of_an_agent_begin_with_does_not_shorten_the_name() -> None:
    uids = ["kimi:session_4f0c12ab-77aa", "kimi:session_4f0d12ab-77aa", "opencode:ses_e19ba79d8f"]
    with holding(*uids) as store:
        names = list(short_names(store, uids).values())
        assert names == ["session_4f0c12ab", "session_4f0d12ab", "ses_e19b"]
        assert [find_session(store, name) for name in names] == uids


@pytest.mark.parametrize("text", [PARENT, "7ac31f58-d904-4b6e", "7ac31", "claude:7ac31", " 7ac31 "])
def test_a_beginning_shared_with_its_subagents_means_the_session(database, text) -> None:
    assert find_session(holding(PARENT, CHILD, OTHER), text) == PARENT


@pytest.mark.parametrize("text", [CHILD, "7ac31f58:a5d20c71", "7ac31:a5", f"{PARENT}:a"])
def test_a_subagent_is_named_by_both_beginnings(database, text) -> None:
    assert find_session(holding(PARENT, CHILD, OTHER), text) == CHILD


@pytest.mark.parametrize("text", ["7ac31…:a5d20", "7ac31…0c71"])
def test_an_id_without_its_middle_is_found_as_a_table_shows_it(database, text) -> None:
    assert find_session(holding(PARENT, CHILD, OTHER), text) == CHILD
    with pytest.raises(UnknownSession):
        find_session(holding(PARENT, CHILD, OTHER), "7ac31…zzz")


def test_a_beginning_of_several_is_refused_with_their_names(database) -> None:
    with pytest.raises(StoreError) as refused:
        find_session(holding(PARENT, CHILD, OTHER), "7ac3")
    assert "3 sessions begin with '7ac3'" in str(refused.value)
    assert "7ac31f58" in str(refused.value.hint) and "7ac3ffff" in str(refused.value.hint)


def test_a_short_native_id_is_found_when_it_is_whole(database) -> None:
    assert find_session(holding("claude:x1", PARENT), "x1") == "claude:x1"
    with pytest.raises(StoreError, match="too short"):
        find_session(holding("claude:x1", PARENT), "x")


@BOTH
def test_two_agents_with_one_id_are_told_apart(database) -> None:
    store = holding("claude:same-id", "codex:same-id")
    with pytest.raises(StoreError, match="2 sessions"):
        find_session(store, "same-id")
    assert find_session(store, "codex:same") == "codex:same-id"
    assert short_names(store, store.sessions.uids())["codex:same-id"] == "codex:same-id"


@pytest.mark.parametrize("text", ["7ac41f58", "claude:7ac41f58", "7ac31f59"])
def test_what_is_near_is_suggested(database, text) -> None:
    with pytest.raises(UnknownSession) as refused:
        find_session(holding(PARENT, "claude:ffffffff"), text)
    assert refused.value.hint == "Did you mean 7ac31f58?"


def test_nothing_near_leaves_the_usual_hint(database) -> None:
    with pytest.raises(UnknownSession) as refused:
        find_session(holding(PARENT), "zzzzzzzz")
    assert refused.value.hint == "List them with: session-memory sessions"


def test_a_title_or_its_beginning_names_a_session(database) -> None:
    store = holding(PARENT, CHILD, OTHER, **{"7ac31f58-d904-4b6e": "Repair the CSV import"})
    for text in ("Repair the CSV import", "repair the csv", "REPA"):
        assert find_session(store, text) == PARENT
    assert not names_session(store, "repair the csv")
    for text in ("Repair%", "Repair_the", "CSV import", "Rep"):
        with pytest.raises(StoreError):
            find_session(store, text)


def test_a_title_of_several_sessions_is_refused_with_their_names(database) -> None:
    titles = {"7ac31f58-d904-4b6e": "Add tests", "7ac3ffff-0000-4b6e": "add tests for dates"}
    store = holding(PARENT, OTHER, **titles)
    assert find_session(store, "add tests") == PARENT
    with pytest.raises(StoreError, match="title that begins with 'add te'") as refused:
        find_session(store, "add te")
    assert "7ac31f58" in str(refused.value.hint) and "7ac3ffff" in str(refused.value.hint)


@BOTH
def test_titles_in_any_script_are_named_newest_first(database) -> None:
    ends = {"claude:old-one": 1, "claude:new-one": 3, "claude:mid-one": 2}
    titles = {"old-one": "Été in the city", "new-one": "Été at sea", "mid-one": "été of ice"}
    with holding(*ends, **titles) as store:
        with store.transaction():
            for uid, ended in ends.items():
                row = store.sessions.row(uid)
                assert row is not None
                row.ended_at = ended
                store.sessions.save(row)
        ids = SessionIds(store.db)
        assert ids.titled("été", 2) == ["claude:new-one", "claude:mid-one"]


@BOTH
def test_a_title_in_a_script_without_capital_letters_names_one_session(database) -> None:
    titles = {"7ac31f58-d904-4b6e": "修复 truncate", "7ac3ffff-0000-4b6e": "année de glace"}
    with holding(PARENT, OTHER, **titles) as store:
        assert find_session(store, "修复 truncate") == find_session(store, "修复 TR") == PARENT
        assert find_session(store, "Année de") == OTHER


@BOTH
def test_a_given_name_or_its_beginning_names_a_session(database) -> None:
    with holding(PARENT, CHILD, OTHER, **{"7ac31f58-d904-4b6e": "Zebra"}) as store:
        with store.transaction():
            store.given_names.set(OTHER, "Zebra crossing", 1)
            store.given_names.set(CHILD, "Éclair", 1)
        assert find_session(store, "zebra crossing") == find_session(store, "Zebra c") == OTHER
        assert find_session(store, "zebra") == PARENT
        assert find_session(store, "écla") == CHILD


@BOTH
def test_a_title_names_its_session_although_another_is_equal_in_ascii(database) -> None:
    """In lower case, both titles are spelled with "ss"."""
    with holding("claude:with-ss", "claude:sharp", sharp="Straße", **{"with-ss": "Strasse"}) as one:
        assert set(SessionIds(one.db).titled("Straße", 2)) == {"claude:with-ss", "claude:sharp"}


def test_a_long_title_is_told_from_one_that_begins_like_it(database) -> None:
    alike = "x" * 3000
    titles = {"7ac31f58-d904-4b6e": f"{alike}a", "7ac3ffff-0000-4b6e": f"{alike}b"}
    store = holding(PARENT, OTHER, **titles)
    assert find_session(store, f"{alike}A") == PARENT
    assert find_session(store, f"{alike}b") == OTHER


def test_what_no_id_can_hold_names_no_session(database) -> None:
    store = holding(PARENT)
    for text in ("\x00\x00\x00\x00", "\ud800abc", "ä" * 300, "%%%%", "____", "\U0010ffff" * 4):
        with pytest.raises(StoreError):
            find_session(store, text)


def test_ids_of_several_agents_are_shortened_where_they_differ(database) -> None:
    ids = ["claude:019f5500-0feb-71", "codex:019f5500-c2a3-72", "grok:019f5501-aacb-73"]
    names = short_names(holding(*ids), ids)
    assert list(names.values()) == ["019f5500-0feb", "019f5500-c2a3", "019f5501"]


def test_a_session_that_is_not_in_the_store_keeps_its_whole_uid(database) -> None:
    assert short_names(holding(PARENT), [PARENT, OTHER]) == {PARENT: "7ac31f58", OTHER: OTHER}


def test_names_are_completed_from_what_was_typed(database) -> None:
    store = holding(PARENT, CHILD, OTHER, **{"7ac31f58-d904-4b6e": "Repair"})
    assert suggest_sessions(store, "7ac31", 50) == [
        ("7ac31f58", "Repair"),
        ("7ac31f58:a5d20c71", ""),
    ]
    assert len(suggest_sessions(store, "", 50)) == 3
    assert suggest_sessions(store, "zzz", 50) == []
