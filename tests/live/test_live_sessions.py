"""Sessions: ids, drafts, titles, lists, subagents, archive and close, on both databases."""

import dataclasses
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from session_memory.core.errors import InvalidId, InvalidRecord, StoreError
from session_memory.core.live_errors import (
    SessionClosed,
    SessionExists,
    SpawnTooDeep,
    UnknownLiveSession,
)
from session_memory.live import (
    MAX_SPAWN_DEPTH,
    SessionKind,
    SessionStatus,
    SessionStore,
    SubagentLifecycle,
)
from session_memory.store import Store

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

BAD_IDS = [
    "",
    ".",
    "..",
    "../../x",
    "a..b",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    "a b",
    "a\nb",
    "x" * 10_000,
    "sess_\u00e9",
    "\u202esess",
    "\ud800",
    "-rf",
    "%2e%2e",
    7,
    b"sess",
]
each_bad_id = pytest.mark.parametrize("bad", BAD_IDS, ids=lambda bad: repr(bad)[:20])


@each_bad_id
def test_an_id_that_could_be_a_path_is_refused_when_a_session_is_made(
    live: SessionStore, bad: str
) -> None:
    for make in (
        lambda: live.create_session(session_id=bad),
        lambda: live.draft_session(session_id=bad),
        lambda: live.fork_session(live.create_session(), new_id=bad),
    ):
        with pytest.raises(InvalidId, match="session_id"):
            make()


@each_bad_id
def test_an_id_that_could_be_a_path_names_no_session(live: SessionStore, bad: str) -> None:
    kept = live.create_session()
    assert live.get_session(bad) is None
    assert live.get_state(bad) is None
    assert live.get_message(bad, 1) is None
    assert live.list_children(bad) == []
    assert live.close_session(bad) == 0
    for ask in (
        lambda: live.append_message(bad, role="user", content="x"),
        lambda: live.load_active_messages(bad),
        lambda: live.rewind(bad, 0),
        lambda: live.create_session(parent_session_id=bad),
        lambda: live.acquire_lease(bad, "me"),
        lambda: live.record_usage(bad, round_index=0),
        lambda: next(live.events(bad)),
    ):
        with pytest.raises(UnknownLiveSession):
            ask()
    assert [row.session_id for row in live.list_sessions()] == [kept]


def test_an_id_is_as_long_as_a_native_one_may_be(live: SessionStore) -> None:
    name = "A1._:@+-" * 25
    assert live.create_session(session_id=name) == name
    assert live.append_message(name, role="user", content="x") == 1


def test_a_row_says_what_the_session_was_made_with(live: SessionStore) -> None:
    fields = {
        "system_prompt": "be \0 kind \ud800",
        "model": "m",
        "config": {"temperature": 0.5},
        "metadata": {"a": [1, None]},
        "provider": "p",
        "cwd": "/a",
        "api_base": "https://example.invalid",
    }
    row = live.get_session(live.create_session(**fields))  # type: ignore[arg-type]
    assert row is not None
    fields["system_prompt"] = "be \\u0000 kind \\ud800"
    assert {name: getattr(row, name) for name in fields} == fields
    assert (row.status, row.kind, row.spawn_depth) == ("active", "root", 0)
    assert row.created_at == row.updated_at > 1_700_000_000_000
    assert row.session_id.startswith("sess_") and len(row.session_id) == 29


def test_creating_an_existing_id_leaves_it_as_it_is(live: SessionStore) -> None:
    live.create_session(session_id="one", model="first", system_prompt="p")
    live.append_message("one", role="user", content="hello")
    before = live.get_session("one")
    with pytest.raises(SessionExists, match="one"):
        live.create_session(session_id="one", model="second")
    assert live.get_session("one") == before
    assert len(live.load_active_messages("one")) == 1


# ------------------------------------------------------------ drafts and titles


def test_a_draft_is_nothing_until_its_first_message(live: SessionStore) -> None:
    draft = live.draft_session(model="m", cwd="/a")
    assert live.list_sessions() == [] and live.get_session(draft.session_id) is None
    assert live.append_message(draft, role="user", content="go") == 1
    assert live.append_message(draft, role="assistant", content="gone") == 2
    row = live.get_session(draft.session_id)
    assert row is not None and (row.model, row.cwd, row.title) == ("m", "/a", "go")


def test_a_draft_whose_message_is_refused_stays_nothing(live: SessionStore) -> None:
    draft = live.draft_session(parent_session_id="nobody")
    with pytest.raises(UnknownLiveSession, match="nobody"):
        live.append_message(draft, role="user", content="go")
    draft = live.draft_session()
    with pytest.raises(StoreError):
        live.append_message(draft, role="user", content="go", expect=5)
    assert live.list_sessions() == []


def test_a_draft_takes_only_what_a_session_has(live: SessionStore) -> None:
    with pytest.raises(InvalidRecord, match="colour"):
        live.draft_session(colour="red")


def test_the_title_is_the_first_real_user_text_in_48_characters(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="system", content="rules")
    live.append_message(session, role="user", content="made up", meta={"synthetic": True})
    block = {"type": "tool_result", "tool_use_id": "c", "model_text": "x"}
    live.append_message(session, role="user", content=[block])
    assert live.get_session(session).title is None  # type: ignore[union-attr]
    live.append_message(session, role="user", content="fix\nthe   webhook " + "x" * 100)
    live.append_message(session, role="user", content="another")
    row = live.get_session(session)
    assert row is not None and row.title == ("fix the webhook " + "x" * 100)[:48]


@BOTH
def test_a_title_that_was_given_stays(live: SessionStore) -> None:
    session = live.create_session(title="mine")
    live.append_message(session, role="user", content="hello")
    assert live.get_session(session).title == "mine"  # type: ignore[union-attr]
    live.rename_session(session, "better")
    assert live.get_session(session).title == "better"  # type: ignore[union-attr]


@BOTH
def test_the_title_comes_from_a_text_block_too(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="user", content=[{"type": "text", "text": "hello there"}])
    assert live.get_session(session).title == "hello there"  # type: ignore[union-attr]


# ------------------------------------------------------------ lists


def test_sessions_are_listed_newest_first_by_directory_and_status(live: SessionStore) -> None:
    old = live.create_session(cwd="/a")
    other = live.create_session(cwd="/b")
    new = live.create_session(cwd="/a")
    live.archive_session(other)
    assert [row.session_id for row in live.list_sessions(cwd="/a")] == [new, old]
    assert [r.session_id for r in live.list_sessions(status=SessionStatus.ARCHIVED)] == [other]
    latest = live.latest_session(cwd="/a")
    assert latest is not None and latest.session_id == new
    assert live.latest_session(cwd="/nowhere") is None
    last = live.get_session(old)
    assert last is not None
    assert live.list_sessions(until=last.created_at) == []
    assert len(live.list_sessions(since=last.created_at)) == 3


@BOTH
def test_pages_miss_none_though_all_were_changed_in_the_same_moment(
    live: SessionStore, opened: Store
) -> None:
    made = {live.create_session() for _ in range(25)}
    with opened.transaction():
        opened.db.execute("update live_sessions set updated_at = 1234")
    seen: list[str] = []
    page = live.list_sessions(limit=10)
    while page:
        seen += [row.session_id for row in page]
        page = live.list_sessions(limit=10, after=page[-1])
    assert len(seen) == 25 and set(seen) == made


def test_subagents_are_listed_below_their_parent_and_where_asked_for(live: SessionStore) -> None:
    parent = live.create_session()
    child = live.create_session(parent_session_id=parent, spawn_tool_call_id="c1")
    assert [row.session_id for row in live.list_sessions()] == [parent]
    assert len(live.list_sessions(with_subagents=True)) == 2
    [row] = live.list_children(parent)
    assert (row.session_id, row.kind, row.spawn_depth) == (child, SessionKind.SUBAGENT, 1)
    assert row.spawn_tool_call_id == "c1"


# ------------------------------------------------------------ subagents, archive, close


def test_a_subagent_needs_a_parent_that_is_there_and_at_most_three_levels(
    live: SessionStore,
) -> None:
    with pytest.raises(ValueError, match="nobody"):
        live.create_session(parent_session_id="nobody")
    deepest = live.create_session()
    for _ in range(3):
        deepest = live.create_session(parent_session_id=deepest)
    with pytest.raises(SpawnTooDeep, match="4"):
        live.create_session(parent_session_id=deepest)
    assert len(live.list_sessions(with_subagents=True)) == 4


@BOTH
def test_closing_takes_linked_and_ephemeral_along_and_lets_detached_go(live: SessionStore) -> None:
    root = live.create_session()
    linked = live.create_session(parent_session_id=root, lifecycle=SubagentLifecycle.LINKED)
    free = live.create_session(parent_session_id=root, lifecycle=SubagentLifecycle.DETACHED)
    below = live.create_session(parent_session_id=linked)
    live.record_usage(root, round_index=0, prompt_tokens=5, completion_tokens=2)
    assert live.close_session(root) == 3
    assert live.close_session(root) == 0
    for gone in (root, linked, below):
        assert live.get_session(gone) is None
        assert live.get_session(gone, with_closed=True) is not None
    row = live.get_session(free)
    assert row is not None and row.parent_session_id is None
    assert live.usage_totals(root)["total_tokens"] == 7
    with pytest.raises(SessionClosed):
        live.append_message(root, role="user", content="x")


@BOTH
def test_closing_without_cascade_left_dangling_parents(live: SessionStore) -> None:
    root = live.create_session()
    child = live.create_session(parent_session_id=root, lifecycle=SubagentLifecycle.LINKED)
    assert live.close_session(root, cascade=False) == 1
    row = live.get_session(child)
    assert row is not None and row.parent_session_id is None
    live.reopen_session(root)
    row = live.get_session(child)
    assert row is not None and row.parent_session_id == root


def test_a_closed_parent_takes_no_new_children(live: SessionStore) -> None:
    root = live.create_session()
    live.close_session(root)
    with pytest.raises(UnknownLiveSession):
        live.create_session(parent_session_id=root)


@BOTH
def test_archived_sessions_accepted_appends(live: SessionStore) -> None:
    session = live.create_session()
    live.append_message(session, role="user", content="x")
    live.archive_session(session)
    for change in (
        lambda: live.append_message(session, role="user", content="y"),
        lambda: live.rewind(session, 0),
        lambda: live.clear_session(session),
        lambda: live.repair(session),
        lambda: live.set_round_index(session, 3),
        lambda: live.begin_send(session),
        lambda: live.record_compaction(session, from_seq=1, to_seq=1, note_content="n"),
    ):
        with pytest.raises(SessionClosed, match="archived"):
            change()
    assert [m.content for m in live.load_active_messages(session)] == ["x"]
    live.unarchive_session(session)
    assert live.append_message(session, role="user", content="y") == 2


def test_finishing_closes_an_ephemeral_subagent_that_completed(live: SessionStore) -> None:
    root = live.create_session()
    child = live.create_session(parent_session_id=root)
    linked = live.create_session(parent_session_id=root, lifecycle=SubagentLifecycle.LINKED)
    assert live.finish_subagent(child, completed=False) is False
    assert live.get_session(child) is not None
    assert live.finish_subagent(child) is True
    assert live.get_session(child) is None
    assert live.finish_subagent(linked) is False
    assert live.finish_subagent(root) is False
    with pytest.raises(UnknownLiveSession):
        live.finish_subagent("nobody")


@pytest.mark.only("sqlite")
def test_an_unknown_durability_is_refused(database: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="ful"):
        SessionStore.open(tmp_path / "memory.db", durability="ful")
    assert not (tmp_path / "memory.db").exists()


@pytest.mark.only("sqlite")
def test_without_a_path_it_is_the_store_of_the_environment(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(tmp_path / "told.db"))
    with SessionStore.open() as live:
        assert live.path == str(tmp_path / "told.db")


# SWITCHING 3.36: `dataclasses.asdict` raised TypeError.
def test_rows_work_with_the_functions_of_dataclasses(live: SessionStore) -> None:
    session = live.create_session(metadata={"a": [1]})
    call = {"id": "a", "function": {"name": "ls"}}
    live.append_message(session, role="user", content="go")
    live.append_message(session, role="assistant", tool_calls=[call])
    live.record_usage(session, round_index=0, prompt_tokens=1, completion_tokens=2)
    about = live.get_session(session)
    assert about is not None
    values = dataclasses.asdict(about)
    assert values["metadata"] == {"a": [1]} and values["metadata"] is not about.metadata
    assert (values["session_id"], values["status"]) == (session, SessionStatus.ACTIVE)
    [_, message] = live.load_active_messages(session)
    assert dataclasses.asdict(message)["tool_calls"] == [call]
    assert dataclasses.replace(message, seq=9).seq == 9
    assert dataclasses.asdict(live.resume_plan(session))["calls"][0]["call_id"] == "a"
    state, [used] = live.get_state(session), live.list_usage(session)
    assert state is not None and dataclasses.asdict(state)["next_seq"] == 3
    assert dataclasses.astuple(used)[1:5] == (0, 0, 1, 2)
    live.repair(session)
    live.record_compaction(session, from_seq=1, to_seq=3, note_content="n")
    [fold] = live.list_compactions(session)
    assert [one.name for one in dataclasses.fields(fold)][:3] == [
        *("session_id", "compact_seq", "note_seq")
    ]


# SWITCHING 3.7: the name was not exported.
def test_the_limit_of_depth_has_a_name(live: SessionStore) -> None:
    session = live.create_session()
    for _ in range(MAX_SPAWN_DEPTH):
        session = live.create_session(parent_session_id=session)
    with pytest.raises(SpawnTooDeep):
        live.create_session(parent_session_id=session)


# SWITCHING 3.59: the id of a closed session was taken for ever.
@BOTH
def test_the_id_of_a_closed_session_can_be_used_again(live: SessionStore) -> None:
    live.create_session(session_id="one", title="First", metadata={"n": 1})
    live.append_message("one", role="user", content="first", key="k")
    live.record_usage("one", round_index=0, prompt_tokens=5, completion_tokens=1)
    linked = live.create_session(
        parent_session_id="one", lifecycle=SubagentLifecycle.LINKED, session_id="linked"
    )
    detached = live.create_session(
        parent_session_id="one", lifecycle=SubagentLifecycle.DETACHED, session_id="detached"
    )
    fork = live.fork_session("one", new_id="fork")
    with pytest.raises(SessionExists):
        live.create_session(session_id="one")
    assert live.close_session("one") == 2

    assert live.create_session(session_id="one") == "one"
    assert live.append_message("one", role="user", content="second", key="k") == 1
    again = live.get_session("one")
    assert again is not None and (again.title, again.metadata) == ("second", {})
    assert [m.content for m in live.load_all_messages("one")] == ["second"]
    assert live.usage_totals("one")["llm_calls"] == 0
    assert live.list_children("one") == []

    # Nothing of the closed one is lost, and what belongs to it still does.
    fork_row, orphan = live.get_session(fork), live.get_session(detached)
    assert fork_row is not None and orphan is not None
    closed = fork_row.forked_from
    assert closed is not None and closed.startswith("one@closed-")
    assert [m.content for m in live.load_path(fork)] == ["first"]
    assert live.usage_totals(closed)["total_tokens"] == 6
    live.reopen_session(closed)
    assert [row.session_id for row in live.list_children(closed)] == [detached]
    assert [m.content for m in live.load_all_messages(closed)] == ["first"]
    child = live.get_session(linked, with_closed=True)
    assert child is not None and child.parent_session_id == closed


def test_an_id_is_used_again_and_again_however_long(live: SessionStore) -> None:
    long = "x" * 200
    for number in range(3):
        live.create_session(session_id=long)
        assert live.append_message(long, role="user", content=str(number)) == 1
        assert live.close_session(long) == 1
    origin = live.create_session()
    assert live.fork_session(origin, new_id=long) == long
    with pytest.raises(SessionExists):
        live.fork_session(long, new_id=long)


@BOTH
def test_one_of_many_gets_the_id_of_a_closed_session(live: SessionStore) -> None:
    live.create_session(session_id="one")
    live.close_session("one")
    won: list[str] = []

    def create() -> None:
        with suppress(SessionExists):
            won.append(live.create_session(session_id="one"))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == ["one"]
