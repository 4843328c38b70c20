"""Live sessions as sessions of the store: collected bit by bit, derived anew, proven, shown."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from effort import times

from session_memory.collect.live_sessions import LiveSync
from session_memory.core.errors import SessionMemoryError, UnsafePath
from session_memory.core.roles import TABLE
from session_memory.derive.reindex import ensure_index
from session_memory.live.store import SessionStore
from session_memory.retain.native_files import restore_native
from session_memory.store.live_order import FOLD, MESSAGE, MOVE, USAGE, LiveItem, in_order
from session_memory.store.live_rows import LiveHead
from session_memory.store.sources import SourceRow
from session_memory.store.store import open_store
from session_memory.testing.collecting import (
    check_same,
    check_sound,
    collect,
    contents,
    events_of,
    inherited_by,
    rebuilt,
    usage_of,
)
from session_memory.testing.stores import Stores
from session_memory.views.payloads import Payloads
from session_memory.views.transcript import Transcript
from session_memory.views.transcript_items import TranscriptEvent, TranscriptOptions

pytestmark = pytest.mark.every(3)  # Its cases give a server the same statements.


class Home:
    """A live store and the store that collects it, in the same place."""

    def __init__(self, place: str, logs: Path) -> None:
        self.live = SessionStore.open(place, durability="normal")
        self.store = open_store(place, durability="normal")
        self._place, self._logs = place, logs

    def sync(self) -> Any:
        return collect(self.store, self._logs).report

    def sync_alone(self) -> None:
        """As another process would: with a connection of its own."""
        with open_store(self._place, durability="normal") as store:
            collect(store, self._logs)

    def close(self) -> None:
        self.live.close()
        self.store.close()


@pytest.fixture
def home(stores: Stores, tmp_path: Path) -> Iterator[Home]:
    logs = tmp_path / "no-logs"
    logs.mkdir()
    made = Home(stores.place("live"), logs)
    yield made
    made.close()


def call(number: int) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"call_{number}", "name": "bash", "input": {"command": "ls"}}
    return {"role": "assistant", "content": [{"type": "text", "text": "I look."}, block]}


@pytest.mark.only("sqlite")
def test_what_was_appended_is_collected_and_nothing_twice(home: Home) -> None:
    session = home.live.create_session(model="mock", cwd="/home/mira/code/kiln")
    home.live.append_message(session, role="user", content="how hot is it?")
    first = home.sync()
    assert (first.discovered, first.ingested, first.events) == (1, 1, 1)
    home.live.append_messages(
        session,
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "cat t"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "900"},
            {"role": "assistant", "content": "900 degrees."},
        ],
    )
    assert home.sync().events == 3
    idle = home.sync()
    assert (idle.discovered, idle.ingested, idle.unchanged, idle.events) == (1, 0, 1, 0)
    uid = f"live:{session}"
    collected = home.store.sessions.get(uid)
    assert collected is not None
    assert (collected.flavor, collected.cwd, collected.model, collected.title) == (
        *("live", "/home/mira/code/kiln", "mock", "how hot is it?"),
    )
    items = [(e.kind, e.tool, e.call_id) for e in events_of(home.store, uid)]
    assert items == [
        ("user_msg", None, None),
        ("tool_call", "bash", "c1"),
        ("tool_result", "bash", "c1"),
        ("assistant_msg", None, None),
    ]
    check_sound(home.store)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("change", ["rename", "archive", "close"])
def test_a_change_without_a_new_row_is_collected_once(home: Home, change: str) -> None:
    session = home.live.create_session(model="mock", cwd="/home/mira/code/kiln")
    home.live.append_message(session, role="user", content="how hot is it?")
    home.sync()
    match change:
        case "rename":
            home.live.rename_session(session, "The kiln")
        case "archive":
            home.live.archive_session(session)
        case "close":
            home.live.close_session(session)
    assert home.sync().ingested == 1
    idle = home.sync()
    assert (idle.ingested, idle.unchanged) == (0, 1)
    assert [event.kind for event in events_of(home.store, f"live:{session}")] == ["user_msg"]
    check_sound(home.store)


@pytest.mark.only("sqlite")
def test_a_call_without_texts_is_shown_with_its_arguments(home: Home) -> None:
    session = home.live.create_session()
    given = '{"n": 1, "deep": true, "of": [1, 2], "rest": null}'
    calls = [
        {"id": "c1", "function": {"name": "count", "arguments": given}},
        {"id": "c2", "function": {"name": "stop", "arguments": "{}"}},
        {"id": "c3", "function": {"name": "look", "arguments": '{"query": "kiln", "n": 2}'}},
    ]
    home.live.append_message(session, role="assistant", tool_calls=calls)
    home.sync()
    items = Transcript(home.store, TranscriptOptions()).items(f"live:{session}")
    titles = [one.title for one in items if isinstance(one, TranscriptEvent)]
    assert titles == ["n=1, deep=true, of=…, rest=null", "", "kiln"]


@pytest.mark.parametrize("first", [True, False], ids=["new", "grown"])
def test_only_one_of_two_syncs_takes_the_same_rows(
    home: Home, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """The other sync reads them after this one looked, and before it reads."""
    session = home.live.create_session(model="mock")
    home.live.append_message(session, role="user", content="one")
    if not first:
        home.sync()
        home.live.append_message(session, role="user", content="two")
    read, calls = LiveSync._read_rows, 0

    def overtaken(self: LiveSync, row: SourceRow, head: LiveHead) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            home.sync_alone()
        read(self, row, head)

    monkeypatch.setattr(LiveSync, "_read_rows", overtaken)
    assert home.sync().events == 0
    assert calls == 2
    (table,) = [row for row in home.store.sources.every() if row.role == TABLE]
    account = home.store.sources.account()[table.id]
    rows = 1 if first else 2
    assert (account.lines, account.events, account.copies) == (rows, rows, 0)
    # A sync that writes nothing new leaves the revision, and so the analysis, as it is.
    collected = home.store.sessions.row(f"live:{session}")
    assert collected is not None and collected.revision == rows
    check_sound(home.store)


def test_its_rows_are_its_raw_and_no_pack_holds_them(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="a word nobody else says: quokka")
    home.sync()
    assert home.store.db.value("select count(*) from packs") == 0
    uid = f"live:{session}"
    (event,) = events_of(home.store, uid)
    assert Payloads(home.store, uid).of(event).record["content"].endswith("quokka")


@pytest.mark.only("sqlite")
def test_a_long_message_comes_back_whole(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="x" * 200_000)
    home.sync()
    (event,) = events_of(home.store, f"live:{session}")
    payload = Payloads(home.store, f"live:{session}").of(event)
    assert payload.record["content"] == "x" * 200_000


def test_what_a_rewind_left_is_marked_and_an_undo_takes_the_mark_away(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="one")
    home.live.append_message(session, role="assistant", content="two")
    home.live.append_message(session, role="user", content="three")
    home.sync()
    home.live.rewind(session, 2)
    home.sync()
    uid = f"live:{session}"

    def left() -> list[str]:
        said = [event for event in events_of(home.store, uid) if event.native_kind.endswith("text")]
        return [event.summary for event in said if event.branch]

    assert left() == ["three"]
    home.live.append_message(session, role="user", content="four")
    home.sync()
    assert left() == ["three"]
    home.live.undo_rewind(session)
    home.sync()
    assert left() == ["four"]
    home.live.clear_session(session)
    home.sync()
    assert left() == ["one", "two", "three", "four"]
    check_sound(home.store)


def test_a_fold_is_told_and_takes_nothing_away(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="one")
    home.live.append_message(session, role="assistant", content="two")
    home.live.record_compaction(session, from_seq=1, to_seq=2, note_content="one and two")
    home.live.append_message(session, role="user", content="three")
    home.sync()
    items = [(e.native_kind, e.summary, e.branch) for e in events_of(home.store, f"live:{session}")]
    assert items == [
        ("user/text", "one", None),
        ("assistant/text", "two", None),
        ("fold", "one and two", None),
        ("user/text", "three", None),
    ]


def test_a_fork_inherits_what_it_shares_and_pays_for_its_own_alone(home: Home) -> None:
    origin = home.live.create_session(model="mock")
    home.live.append_message(origin, role="user", content="one")
    home.live.append_message(origin, role="assistant", content="two")
    home.live.record_usage(origin, round_index=0, prompt_tokens=10, completion_tokens=2)
    fork = home.live.fork_session(origin)
    home.live.append_message(fork, role="user", content="another way")
    home.live.append_message(origin, role="user", content="this way")
    home.sync()
    uid = f"live:{fork}"
    session = home.store.sessions.get(uid)
    assert session is not None
    assert (session.parent_uid, session.relation) == (f"live:{origin}", "fork")
    assert [event.summary for _, event in inherited_by(home.store, uid)] == ["one", "two"]
    assert [event.summary for event in events_of(home.store, uid)] == ["another way"]
    assert usage_of(home.store, uid) == []
    assert [used.output_tokens for used in usage_of(home.store, f"live:{origin}")] == [2]
    check_sound(home.store)


def said(home: Home, uid: str) -> list[str]:
    """The contents of a session's messages, read from its rows."""
    payloads = Payloads(home.store, uid)
    return [payloads.of(event).record["content"] for event in events_of(home.store, uid)]


# SWITCHING 3.59
def test_a_session_with_the_id_of_a_closed_one_is_another_session(home: Home) -> None:
    live, tokens = home.live, {"prompt_tokens": 10, "completion_tokens": 1}
    parent = live.create_session(session_id="parent")
    live.create_session(session_id="one", model="mock", parent_session_id=parent)
    live.append_messages("one", [{"role": "user", "content": "first"}])
    live.record_usage("one", round_index=0, **tokens)
    live.append_message("one", role="assistant", content="first answer")
    fork = live.fork_session("one", new_id="fork")
    home.sync()
    live.close_session("one")
    # The rows have the same kinds as those that were read before, and more.
    live.create_session(session_id="one", model="other")
    live.append_messages("one", [{"role": "user", "content": "second"}])
    live.record_usage("one", round_index=0, **tokens)
    live.append_message("one", role="assistant", content="second answer")
    live.append_message("one", role="user", content="third")
    # Until the next sync, what was collected is still shown as it was.
    assert said(home, "live:one") == ["first", "first answer"]
    home.sync()
    assert said(home, "live:one") == ["second", "second answer", "third"]
    about = live.get_session(fork)
    assert about is not None
    closed = about.forked_from
    texts = {
        uid: [event.summary for event in events_of(home.store, uid)]
        for uid in ("live:one", f"live:{closed}", "live:fork")
    }
    assert texts == {
        "live:one": ["second", "second answer", "third"],
        f"live:{closed}": ["first", "first answer"],
        "live:fork": [],
    }
    again, before = (home.store.sessions.get(uid) for uid in ("live:one", f"live:{closed}"))
    assert again is not None and before is not None
    assert (again.model, again.parent_uid, before.parent_uid) == ("other", None, "live:parent")
    assert (again.cost.input_tokens, before.cost.input_tokens) == (10, 10)
    check_sound(home.store)
    fingerprint = home.store.fingerprint()
    assert rebuilt(home.store).fingerprint() == fingerprint


@pytest.mark.only("sqlite")
def test_a_fork_without_a_word_of_its_own_inherits_in_any_order(home: Home) -> None:
    origin = home.live.create_session(session_id="origin")
    home.live.append_message(origin, role="user", content="go")
    for name in ("before", "the-origin"):
        home.live.fork_session(origin, new_id=name)
    home.sync()
    held = [home.store.sessions.row(f"live:{one}") for one in ("before", "the-origin")]
    assert all(row is not None and row.started_at for row in held)
    check_sound(home.store)


def test_a_subagent_has_its_parent_its_call_and_its_depth(home: Home) -> None:
    parent = home.live.create_session(cwd="/home/mira/code/kiln")
    home.live.append_messages(parent, [{"role": "user", "content": "go"}, call(1)])
    child = home.live.create_session(parent_session_id=parent, spawn_tool_call_id="call_1")
    home.live.append_message(child, role="user", content="look around")
    home.sync()
    session = home.store.sessions.get(f"live:{child}")
    assert session is not None
    assert (session.parent_uid, session.relation) == (f"live:{parent}", "subagent")
    assert (session.spawn_call_id, session.spawn_depth) == ("call_1", 1)
    # It was given no directory: it works where its parent does.
    assert (session.cwd, session.repo) == ("/home/mira/code/kiln", "kiln")
    elsewhere = home.live.create_session(parent_session_id=parent, metadata={"cwd": "/src/mill"})
    row = home.live.get_session(elsewhere)
    assert row is not None and row.cwd == "/src/mill"
    assert events_of(home.store, f"live:{child}")[0].kind == "lifecycle"
    home.live.close_session(parent, cascade=False)
    home.sync()
    again = home.store.sessions.get(f"live:{child}")
    assert again is not None and again.parent_uid == f"live:{parent}"
    check_sound(home.store)


@pytest.mark.parametrize("usage_first", [True, False])
def test_what_a_round_used_stands_on_its_answer(home: Home, usage_first: bool) -> None:
    session = home.live.create_session(model="mock")
    home.live.append_message(session, role="user", content="go")
    given = {"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 90}

    def used() -> None:
        home.live.record_usage(session, round_index=0, usage=given, model="mock")

    if usage_first:
        used()
        home.sync()
    home.live.append_message(session, role="assistant", content="gone")
    if not usage_first:
        home.sync()
        used()
    home.sync()
    events = events_of(home.store, f"live:{session}")
    assert [(event.summary, event.tokens) for event in events] == [("go", 0), ("gone", 7)]
    (usage,) = usage_of(home.store, f"live:{session}")
    assert (usage.input_tokens, usage.cache_read_tokens, usage.seq) == (10, 90, 1)
    check_sound(home.store)


# SWITCHING 3.79: such usage was of the model "unknown", which has no price.
def test_usage_without_a_model_belongs_to_the_sessions_model(home: Home) -> None:
    session = home.live.create_session(model="gpt-5.5")
    home.live.append_messages(session, [{"role": "user", "content": "go"}])
    tokens = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    home.live.record_usage(session, round_index=0, **tokens)
    home.live.append_message(session, role="assistant", content="gone")
    home.live.record_usage(session, round_index=1, **tokens, model="gpt-5.5-mini")
    home.live.record_usage(session, round_index=2, **tokens, model="")
    models = [row.model for row in home.live.list_usage(session)]
    assert models == ["gpt-5.5", "gpt-5.5-mini", "gpt-5.5"]
    # Rows of earlier releases have no model.
    home.store.db.execute("update live_usage set model = null where round_index <> 1")
    home.sync()
    used = [usage.model for usage in usage_of(home.store, f"live:{session}")]
    assert sorted(used) == ["gpt-5.5", "gpt-5.5", "gpt-5.5-mini"]
    check_sound(home.store)


# SWITCHING 3.90: the directory in the metadata said nothing.
def test_the_directory_in_the_metadata_tells_the_repository(home: Home) -> None:
    where = {"cwd": "/home/mira/code/kiln", "of": "my runtime"}
    session = home.live.create_session(metadata=where)
    named = home.live.create_session(metadata=where, cwd="/home/mira/code/oven")
    odd = home.live.create_session(metadata={"cwd": 7})
    old = home.live.create_session(metadata=where)
    home.store.db.execute("update live_sessions set cwd = null where session_id = :s", {"s": old})
    for one in (session, named, odd, old):
        home.live.append_message(one, role="user", content="go")
    home.sync()
    found = {one: home.store.sessions.get(f"live:{one}") for one in (session, named, odd, old)}
    repos = [found[one].repo for one in found]  # type: ignore[union-attr]
    assert repos == ["kiln", "oven", None, "kiln"]
    assert [row.session_id for row in home.live.list_sessions(cwd=where["cwd"])] == [session]


@pytest.mark.only("sqlite")
def test_text_that_no_encoding_takes_is_shown_and_breaks_nothing(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="a\0b\ud800c")
    home.live.append_message(
        session, role="assistant", content=[{"type": "text", "text": "\ud800"}]
    )
    home.sync()
    events = events_of(home.store, f"live:{session}")
    assert [event.summary for event in events] == ["a\\u0000b\\ud800c", "\\ud800"]
    check_sound(home.store)


def test_what_came_since_the_last_sync_is_no_damage(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="one")
    home.sync()
    home.live.append_message(session, role="user", content="two")
    home.live.rename_session(session, "another title")
    check_sound(home.store)
    assert len(events_of(home.store, f"live:{session}")) == 1


def test_a_row_that_belongs_among_those_that_were_read_gets_its_place(home: Home) -> None:
    """A clock that was set back: the usage of the first answer comes last."""
    session = home.live.create_session(model="mock")
    for text in ("one", "two"):
        home.live.append_message(session, role="user", content=text)
        home.live.append_message(session, role="assistant", content=f"answer to {text}")
    times = "update live_messages set created_at = seq * 1000"
    home.store.db.execute(times)
    home.sync()
    home.live.record_usage(session, round_index=0, prompt_tokens=5, completion_tokens=3)
    home.store.db.execute("update live_usage set created_at = 2000")
    check_sound(home.store)
    assert home.sync().ingested == 1
    tokens = [event.tokens for event in events_of(home.store, f"live:{session}")]
    assert tokens == [0, 3, 0, 0]
    check_sound(home.store)
    before = contents(home.store)
    check_same(before, contents(rebuilt(home.store)))
    assert home.sync().unchanged == 1


def test_two_that_collect_at_once_count_nothing_twice(home: Home, tmp_path: Path) -> None:
    session = home.live.create_session()
    home.live.append_messages(session, [{"role": "user", "content": str(n)} for n in range(1200)])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: home.sync_alone(), range(4)))
    assert [event.summary for event in events_of(home.store, f"live:{session}")] == [
        str(number) for number in range(1200)
    ]
    check_sound(home.store)


@pytest.mark.only("sqlite")
def test_a_live_session_is_not_written_back_as_a_log(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="go")
    home.sync()
    with pytest.raises(UnsafePath, match="live session"):
        restore_native(home.store, [f"live:{session}"])
    assert restore_native(home.store, None) == []


# ---------------------------------------------------------------- any history


class Author:
    """Does whatever may be done to live sessions, and looks in between."""

    def __init__(self, home: Home, seed: int) -> None:
        self._home, self._live = home, home.live
        self._any = random.Random(seed)
        self._sessions = [home.live.create_session(model="mock")]
        self._calls = 0

    def act(self) -> None:
        doings: list[Callable[[str], object]] = [
            *[self._say] * 6,
            *[self._call, self._answer, self._use, self._rewind, self._undo, self._return],
            *[self._fold, self._unfold, self._fork, self._spawn, self._clear, self._repair],
            *[self._close, self._create_again, self._sync, self._sync],
        ]
        session = self._any.choice(self._sessions)
        # Not everything may be done at every moment; that it is refused is tested elsewhere.
        with suppress(SessionMemoryError):
            self._any.choice(doings)(session)

    def _say(self, session: str) -> None:
        role = self._any.choice(["user", "assistant"])
        self._live.append_message(session, role=role, content=f"{role} says")

    def _call(self, session: str) -> None:
        self._calls += 1
        self._live.append_messages(session, [call(self._calls)])

    def _answer(self, session: str) -> None:
        for missing in self._live.pending(session)[:1]:
            self._live.append_message(
                session, role="tool", tool_call_id=missing.call_id, content="done"
            )

    def _use(self, session: str) -> None:
        self._live.record_usage(session, round_index=0, prompt_tokens=5, completion_tokens=1)

    def _rewind(self, session: str) -> None:
        path = [0, *(message.seq for message in self._live.load_path(session))]
        self._live.rewind(session, self._any.choice(path))

    def _undo(self, session: str) -> None:
        self._live.undo_rewind(session)

    def _return(self, session: str) -> None:
        every = [m.seq for m in self._live.load_all_messages(session) if m.name is None]
        self._live.return_to(session, self._any.choice(every or [0]))

    def _fold(self, session: str) -> None:
        seen = [message.seq for message in self._live.load_active_messages(session)]
        if seen:
            first = self._any.randrange(len(seen))
            last = self._any.randrange(first, len(seen))
            self._live.record_compaction(
                session, from_seq=seen[first], to_seq=seen[last], note_content="in short"
            )

    def _unfold(self, session: str) -> None:
        self._live.undo_compaction(session)

    def _fork(self, session: str) -> None:
        if len(self._sessions) < 6:
            path = [message.seq for message in self._live.load_path(session)]
            at = self._any.choice(path) if path else None
            self._sessions.append(self._live.fork_session(session, at=at))

    def _spawn(self, session: str) -> None:
        if len(self._sessions) < 6:
            self._sessions.append(self._live.create_session(parent_session_id=session))

    def _clear(self, session: str) -> None:
        self._live.clear_session(session)

    def _repair(self, session: str) -> None:
        self._live.repair(session)

    def _close(self, session: str) -> None:
        if self._any.random() < 0.1:
            self._live.close_session(session)

    def _create_again(self, session: str) -> None:
        self._live.create_session(session_id=session, model="mock")

    def _sync(self, session: str) -> None:
        self._home.sync()

    def check_paths(self) -> None:
        """What is not marked as left behind is the path, for every session."""
        for session in self._sessions:
            path = self._live.load_path(session)
            item, own, repairs = set(), set(), set()
            payloads = Payloads(self._home.store, f"live:{session}")
            for event in events_of(self._home.store, f"live:{session}"):
                record = payloads.of(event).record
                if record["row"] == "message":
                    (repairs if "stands_after" in record else own).add(record["seq"])
                    item |= {record["seq"]} if event.branch is None else set()
            assert item - repairs == {m.seq for m in path} & own, session


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.only("sqlite")) for n in range(2, times(5)))]
)
def test_any_history_collected_bit_by_bit_is_what_its_rows_give(home: Home, seed: int) -> None:
    author = Author(home, seed)
    for _ in range(120):
        author.act()
    home.sync()
    check_sound(home.store)
    author.check_paths()
    before = contents(home.store)
    rebuilt(home.store)
    check_same(before, contents(home.store))


# ---------------------------------------------------------------- the order, by itself


def test_a_move_stands_behind_what_it_left_whatever_the_clocks_say() -> None:
    messages = [(1, 7, 100), (2, 7, 100), (3, 8, 100)]
    moves = [(2, 8, 1, 100, "rewind")]
    found = in_order(7, messages, [], moves, [])
    assert found == [
        LiveItem(MESSAGE, 1),
        LiveItem(MESSAGE, 2),
        LiveItem(MOVE, 1),
        LiveItem(MESSAGE, 3),
    ]


def test_back_and_forth_without_a_word_between_stays_in_order() -> None:
    messages = [(1, 7, 100), (2, 7, 100)]
    moves = [(1, 8, 0, 100, "rewind"), (0, 7, 1, 100, "undo")]
    found = in_order(7, messages, [], moves, [])
    assert found == [
        LiveItem(MESSAGE, 1),
        LiveItem(MOVE, 1),
        LiveItem(MOVE, 2),
        LiveItem(MESSAGE, 2),
    ]


def test_a_fold_before_a_message_of_its_lane_comes_before_the_move_away() -> None:
    messages = [(1, 7, 100), (3, 7, 100), (4, 8, 100)]
    folds, moves = [(1, 2, 900)], [(3, 8, 1, 100, "rewind")]
    found = in_order(7, messages, folds, moves, [])
    assert [item.kind for item in found] == [MESSAGE, FOLD, MESSAGE, MOVE, MESSAGE]


def test_usage_stands_behind_everything_that_is_not_later() -> None:
    messages = [(1, 7, 100), (2, 7, 200), (3, 7, 150)]
    found = in_order(7, messages, [], [], [100, 200, 120])
    assert found == [
        *(LiveItem(MESSAGE, 1), LiveItem(USAGE, 1), LiveItem(MESSAGE, 2), LiveItem(MESSAGE, 3)),
        *(LiveItem(USAGE, 2), LiveItem(USAGE, 3)),
    ]


@pytest.mark.only("sqlite")
def test_a_table_is_a_source_like_any_other(home: Home) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="go")
    home.sync()
    (row,) = [row for row in home.store.sources.every() if row.role == TABLE]
    assert (row.path, row.lines, row.kept) == (f"live:{session}/rows", 1, 0)
    account = home.store.sources.account()[row.id]
    assert (account.events, account.unaccounted) == (1, 0)


@pytest.mark.only("sqlite")
def test_a_store_that_was_copied_has_the_same_sessions(home: Home, tmp_path: Path) -> None:
    session = home.live.create_session()
    home.live.append_message(session, role="user", content="go")
    home.live.set_pending(session, {"approval": "Mira"})
    home.sync()
    home.store.backup(tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:
        ensure_index(copy)
        check_sound(copy)
        assert copy.fingerprint() == home.store.fingerprint()
        state = SessionStore(copy.db).get_state(session)
        assert state is not None and state.pending == {"approval": "Mira"}
