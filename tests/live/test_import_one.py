"""An imported live session and its origin are one session, in whatever order they are collected."""

# SWITCHING 2.78, 3.100

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory.collect.live_histories import history_at
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.core.time import now_ms
from session_memory.live.import_history import import_again, import_history
from session_memory.live.store import SessionStore
from session_memory.retain.forget import forget
from session_memory.retain.forget_plan import with_relatives
from session_memory.retain.native_files import restore_native
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store import Store, open_store
from session_memory.testing.collecting import (
    check_sound,
    collect,
    events_of,
    inherited_by,
    rebuilt,
    usage_of,
)
from session_memory.testing.stores import Stores
from session_memory.views.lookup import find_session

# Of those on both databases, a server sees each with one of the three programs.
pytestmark = [pytest.mark.only("sqlite"), pytest.mark.every(3)]

DATA = Path(__file__).parent.parent / "data"
MYCODE = {"0.4.2": "a0" * 16, "0.21.0": "b1" * 16}
ROOT = "sess_000000000000000000abc000"
KID = "sess_000000000000000000abc001"


class Origin:
    """A session of mycode or power-loop in a home of its own."""

    def __init__(self, name: str, directory: Path) -> None:
        self.flavor, _, release = name.partition(" ")
        self.home = directory / "origin"
        if self.flavor == "mycode":
            shutil.copytree(DATA / "mycode" / release / "home", self.home)
            self.native = MYCODE[release]
            self.log = self.home / ".mycode" / "sessions" / self.native / "messages.jsonl"
            self.place = self.log.parent
        else:
            self.home.mkdir()
            self.native, self.place = ROOT, self.home / "kiln.db"
            db = apsw.Connection(str(self.place))
            db.execute((DATA / "power_loop" / release / "database.sql").read_text())
            db.close()

    @property
    def uid(self) -> str:
        return f"{self.flavor}:{self.native}"

    def history(self) -> Any:
        return history_at(self.place, self.native)

    def collect(self, store: Store) -> None:
        collect(store, self.home, flavor=self.flavor)

    def grow(self, said: str) -> None:
        """Its own runtime goes on."""
        if self.flavor == "mycode":
            line = {"role": "user", "content": [{"type": "text", "text": said}], "meta": {}}
            with self.log.open("a") as log:
                log.write(json.dumps(line) + "\n")
            return
        db = apsw.Connection(str(self.place))
        db.execute(
            "insert into messages (session_id, seq, role, content, state, created_at)"
            " select session_id, max(seq) + 1, 'user', ?, 'active', max(created_at) + 1000"
            " from messages where session_id = ?",
            (said, ROOT),
        )
        db.close()


@pytest.fixture(params=("mycode 0.4.2", "mycode 0.21.0", "power_loop 0.2.0"))
def origin(request: pytest.FixtureRequest, tmp_path: Path) -> Origin:
    return Origin(request.param, tmp_path)


def facts(store: Store, uid: str) -> tuple[Any, ...]:
    """What the rest of the system knows of a session."""
    session = store.sessions.get(uid)
    assert session is not None
    about = session.to_dict()
    for name in ("discovered_at", "ingested_at", "revision", "analyzed_revision", "analyzed_at"):
        about.pop(name, None)
    events = [event.to_dict() for event in events_of(store, uid)]
    return about, events, usage_of(store, uid)


def alone(origin: Origin, stores: Stores) -> tuple[Any, ...]:
    """The session as its runtime's own data gives it."""
    with open_store(stores.place("alone"), durability="normal") as store:
        origin.collect(store)
        return facts(store, origin.uid)


@pytest.mark.parametrize("order", ("origin first", "import first", "live first"))
def test_an_imported_session_and_its_origin_are_one(
    origin: Origin, stores: Stores, order: str
) -> None:
    expected = alone(origin, stores)
    place = stores.place("both")
    with open_store(place, durability="normal") as store:
        if order == "origin first":
            origin.collect(store)
        import_history(SessionStore(store.db), origin.history())
        if order == "live first":
            sync(store, Config(), [])
            assert [uid for uid in store.sessions.uids() if KID not in uid] == [origin.uid]
        origin.collect(store)
        assert facts(store, origin.uid) == expected
        assert [uid for uid in store.sessions.uids() if KID not in uid] == [origin.uid]
        check_sound(store)
        assert facts(rebuilt(store), origin.uid) == expected


def test_what_is_said_after_the_import_continues_the_session(
    origin: Origin, stores: Stores
) -> None:
    _, before, _ = alone(origin, stores)
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.abort_pending(origin.native, reason="another day")
        live.append_message(origin.native, role="user", content="go on")
        origin.collect(store)
        events = [event.to_dict() for event in events_of(store, origin.uid)]
        assert [event["summary"] for event in events][-1] == "go on"
        assert [e["branch"] for e in events[: len(before)]] == [e["branch"] for e in before]
        assert [e["summary"] for e in events[: len(before)]] == [e["summary"] for e in before]
        # Going back to an imported message abandons what came after it.
        live.rewind(origin.native, 1)
        live.append_message(origin.native, role="user", content="differently")
        origin.collect(store)
        events = [event.to_dict() for event in events_of(store, origin.uid)]
        assert {e["summary"]: bool(e["branch"]) for e in events}["go on"]
        assert not events[-1]["branch"] and not events[0]["branch"]
        check_sound(store)
        assert store.sessions.uids().count(origin.uid) == 1


def test_an_origin_that_grows_later_stays_the_same_session(origin: Origin, stores: Stores) -> None:
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.append_message(origin.native, role="user", content="said here")
        origin.collect(store)
        origin.grow("said there")
        origin.collect(store)
        said = [event.summary for event in events_of(store, origin.uid)]
        assert (said.count("said here"), said.count("said there")) == (1, 1)
        check_sound(store)
        assert import_again(live, origin.history()).state == "continued"


@pytest.mark.only("sqlite", "postgresql")
def test_importing_again_adds_what_is_new_and_nothing_else(origin: Origin, stores: Stores) -> None:
    expected = alone(origin, stores)
    with open_store(stores.place("both"), durability="normal") as store:
        live = SessionStore(store.db)
        assert import_again(live, origin.history()).state == "new"
        origin.collect(store)
        before = store.fingerprint()
        assert import_again(live, origin.history()).state == "unchanged"
        origin.collect(store)
        assert store.fingerprint() == before
        assert facts(store, origin.uid) == expected
        origin.grow("one more")
        assert import_again(live, origin.history()).state == "grown"
        assert import_again(live, origin.history()).state == "unchanged"
        assert live.load_tail(origin.native, 1)[0].content in (
            "one more",
            [{"type": "text", "text": "one more"}],
        )
        origin.collect(store)
        assert [e.summary for e in events_of(store, origin.uid)].count("one more") == 1
        check_sound(store)


def test_the_id_of_an_imported_session_can_be_used_again(origin: Origin, stores: Stores) -> None:
    expected = alone(origin, stores)
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        origin.collect(store)
        live.close_session(origin.native)
        live.create_session(session_id=origin.native)
        live.append_message(origin.native, role="user", content="another one")
        origin.collect(store)
        assert facts(store, origin.uid) == expected
        assert [e.summary for e in events_of(store, f"live:{origin.native}")] == ["another one"]
        check_sound(store)
        assert import_again(live, origin.history()).state == "unchanged"


@pytest.mark.only("sqlite", "postgresql")
def test_subagents_and_forks_of_an_imported_session_belong_to_it(
    origin: Origin, stores: Stores
) -> None:
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.append_message(origin.native, role="user", content="said here")
        live.create_session(session_id="kid", parent_session_id=origin.native)
        live.append_message("kid", role="user", content="look")
        for name, at in (("early", 2), ("late", live.head(origin.native))):
            live.fork_session(origin.native, at=at, new_id=name)
            live.append_message(name, role="user", content="another way")
        origin.collect(store)
        check_sound(store)
        kid, early, late = (store.sessions.get(f"live:{n}") for n in ("kid", "early", "late"))
        assert kid and early and late
        assert (kid.parent_uid, kid.relation) == (origin.uid, "subagent")
        assert (early.parent_uid, early.relation) == (origin.uid, "fork")
        assert (late.cost.input_tokens, early.cost.input_tokens) == (0, 0)
        held = [e.summary for _, e in inherited_by(store, "live:late")]
        assert held[-1] == "said here"
        first = [e.summary for e in events_of(store, origin.uid)]
        short = [e.summary for _, e in inherited_by(store, "live:early")]
        assert short and short == first[: len(short)] and len(short) < len(first)


@pytest.mark.only("sqlite", "postgresql")
def test_forgetting_one_forgets_both(origin: Origin, stores: Stores) -> None:
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.append_message(origin.native, role="user", content="said here")
        origin.collect(store)
        # It answers to the name of the live session, too.
        uid = find_session(store, f"live:{origin.native}")
        assert uid == origin.uid
        uids = with_relatives(store, [uid], subagents=True, forks=True)
        forget(store, Config(), uids, now_ms())
        assert live.get_session(origin.native, with_closed=True) is None
        origin.collect(store)
        assert store.sessions.uids() == []
        check_sound(store)


@pytest.mark.only("sqlite", "postgresql")
def test_erasing_the_live_session_leaves_its_origin(origin: Origin, stores: Stores) -> None:
    expected = alone(origin, stores)
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.append_message(origin.native, role="user", content="said here")
        origin.collect(store)
        live.erase_session(origin.native)
        origin.collect(store)
        assert facts(store, origin.uid) == expected
        check_sound(store)
        assert import_again(live, origin.history()).state == "new"


def test_an_imported_session_is_exported_and_written_back(
    origin: Origin, stores: Stores, tmp_path: Path
) -> None:
    with open_store(stores.place("both"), durability="normal") as store:
        origin.collect(store)
        live = SessionStore(store.db)
        import_history(live, origin.history())
        live.append_message(origin.native, role="user", content="said here")
        origin.collect(store)
        expected = facts(store, origin.uid)
        export_store(store, tmp_path / "all.smx")
        if origin.flavor == "mycode":
            before = origin.log.read_bytes()
            origin.log.unlink()
            restore_native(store, [origin.uid], below=[origin.home], only_missing=True)
            assert origin.log.read_bytes() == before
    with open_store(stores.place("other"), durability="normal") as other:
        import_store(other, tmp_path / "all.smx", Config())
        sync(other, Config(), [])
        assert facts(other, origin.uid) == expected
        check_sound(other)
        other_live = SessionStore(other.db)
        assert import_again(other_live, origin.history()).state == "unchanged"
