"""A session that was imported as a live one and its origin are one: they end together."""

from pathlib import Path

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.live_histories import history_at
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.live import SessionStore
from session_memory.live.import_history import import_history
from session_memory.retain.forget import forget
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.retain.verification import verify
from session_memory.store import Store
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.only("sqlite")

NATIVE = "b1" * 16
ORIGIN = f"mycode:{NATIVE}"
HOME = Path(__file__).parent.parent / "data" / "mycode" / "0.21.0" / "home"


def imported(store: Store, *, with_log: bool) -> SessionStore:
    live = SessionStore(store.db)
    import_history(live, history_at(HOME / ".mycode" / "sessions" / NATIVE))
    live.append_message(NATIVE, role="user", content="and on")
    collect(store, with_log)
    assert store.sessions.row(ORIGIN) is not None
    assert store.sessions.row(f"live:{NATIVE}") is None
    return live


def collect(store: Store, with_log: bool) -> None:
    places = roots(Config(), (HOME,)) if with_log else []
    sync(store, Config(), places, host="here")


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with its log"])
def test_erasing_it_leaves_the_log_alone(stores: Stores, with_log: bool) -> None:
    with stores.new() as store, stores.new() as other:
        live = imported(store, with_log=with_log)
        assert live.erase_session(NATIVE) == 1
        collect(store, with_log)
        collect(other, with_log)
        assert store.fingerprint() == other.fingerprint()
        assert verify(store).findings == []


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with its log"])
def test_forgetting_the_origin_forgets_its_rows(stores: Stores, with_log: bool) -> None:
    with stores.new() as store:
        live = imported(store, with_log=with_log)
        done = forget(store, Config(), [ORIGIN], 1)
        assert not done.proof.found
        assert live.get_session(NATIVE, with_closed=True) is None
        collect(store, with_log)
        assert store.sessions.row(ORIGIN) is None
        assert store.sessions.row(f"live:{NATIVE}") is None


def test_forgetting_leaves_no_source_of_rows_that_were_never_read(stores: Stores) -> None:
    with stores.new() as store:
        import_history(SessionStore(store.db), history_at(HOME / ".mycode" / "sessions" / NATIVE))
        collect(store, with_log=True)
        assert store.sources.known("")
        forget(store, Config(), [ORIGIN], 1)
        assert store.sources.known("") == {}


@pytest.mark.parametrize("with_log", [False, True], ids=["alone", "with its log"])
def test_a_portable_file_has_both_as_one(stores: Stores, tmp_path: Path, with_log: bool) -> None:
    with stores.new() as store, stores.new() as other:
        imported(store, with_log=with_log)
        export_store(store, tmp_path / "all.smx")
        done = import_store(other, tmp_path / "all.smx", Config())
        assert done.problems == []
        assert other.sessions.uids() == store.sessions.uids()
        ours, theirs = SessionStore(store.db), SessionStore(other.db)
        assert theirs.load_all_messages(NATIVE) == ours.load_all_messages(NATIVE)
        collect(other, with_log=False)
        for table in ("events", "usage"):
            count = f"select count(*) from {table}"
            assert other.db.value(count) == store.db.value(count)
        assert verify(other).findings == []
