"""Imports of copied, damaged and hostile homes, of homes that go on, and two imports at once."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory import Memory, SessionStore
from session_memory.adapters.base import SourceRef
from session_memory.adapters.power_loop.dump import dump
from session_memory.adapters.power_loop.history import history
from session_memory.adapters.power_loop.layout import discover
from session_memory.collect.live_histories import history_at
from session_memory.config import Config
from session_memory.core.history import FoldStep, History, MessageStep
from session_memory.core.live_errors import LiveError
from session_memory.core.time import parse_time
from session_memory.live.import_history import import_again, import_history
from session_memory.live.import_rows import Imported, ImportRows
from session_memory.live.mycode_messages import as_mycode
from session_memory.live.rows import SubagentLifecycle
from session_memory.memory.live_imports import LiveImportResult, import_all
from session_memory.retain.forget import forget
from session_memory.store import open_store
from session_memory.testing.collecting import check_sound, events_of, usage_of
from session_memory.testing.stores import Stores

pytestmark = pytest.mark.only("sqlite")

Line = dict[str, Any]
USED = {"input_tokens": 100, "output_tokens": 10}


def said(role: str, text: str, **meta: Any) -> Line:
    """A message of mycode 0.4, which notes no times."""
    return {"role": role, "content": [{"type": "text", "text": text}], "meta": meta}


def answered(text: str) -> Line:
    return said("assistant", text, usage=USED, model="claude-sonnet-4-5")


TALK = [said("user", "Fire the kiln."), answered("Fired.")]


class Home:
    """A home of mycode. Its sessions have no times and, unless given, no dates."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.place = directory / ".mycode"

    def log(self, name: str) -> Path:
        return self.place / "sessions" / name / "messages.jsonl"

    def write(self, name: str, lines: list[Line], **meta: Any) -> None:
        self.log(name).parent.mkdir(parents=True)
        self.log(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.log(name).with_name("meta.json").write_text(json.dumps({"cwd": "/src/kiln", **meta}))

    def grow(self, name: str, line: Line) -> None:
        with self.log(name).open("a") as log:
            log.write(json.dumps(line) + "\n")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", Config()) as memory:
        yield memory


def imported(memory: Memory, *places: Path) -> LiveImportResult:
    return import_all(memory.store, Config(), places)


def texts(memory: Memory, name: str) -> list[Any]:
    found = SessionStore(memory.store.db).load_all_messages(name)
    return [message.content[0]["text"] for message in found if isinstance(message.content, list)]


def spent(memory: Memory) -> tuple[int, int]:
    totals = memory.cost("model").to_dict()["totals"]
    return totals["responses"], totals["microdollars"]


@pytest.mark.parametrize("collected", (False, True), ids=("import first", "both collected first"))
def test_a_copy_of_a_home_doubles_no_message(home: Home, memory: Memory, collected: bool) -> None:
    home.write("kiln", TALK)
    copy = Home(home.directory.with_name("copy"))
    shutil.copytree(home.directory, copy.directory)
    if collected:
        memory.sync((home.place, copy.place), flavors=("mycode",))
    imported(memory, home.place)
    assert imported(memory, copy.place).unchanged == 1
    copy.grow("kiln", said("user", "Hotter."))
    assert imported(memory, copy.place).grown == 1
    assert texts(memory, "kiln") == ["Fire the kiln.", "Fired.", "Hotter."]
    assert spent(memory) == (1, 450)
    assert SessionStore(memory.store.db).usage_totals("kiln")["prompt_tokens"] == 100
    check_sound(memory.store)


@pytest.mark.parametrize("dated", (False, True), ids=("no date", "another date"))
def test_growing_loses_nothing_whatever_the_date_says(
    home: Home, memory: Memory, dated: bool
) -> None:
    home.write("kiln", TALK, **({"created_at": "2026-03-02T09:00:00+00:00"} if dated else {}))
    imported(memory, home.place)
    begun = SessionStore(memory.store.db).get_session("kiln")
    home.grow("kiln", answered("Again."))
    if dated:
        # Creating an existing id resets its metadata in mycode.
        meta = {"cwd": "/src/kiln", "created_at": "2026-04-02T09:00:00+00:00"}
        home.log("kiln").with_name("meta.json").write_text(json.dumps(meta))
    assert imported(memory, home.place).grown == 1
    after = SessionStore(memory.store.db).get_session("kiln")
    assert begun is not None and after is not None and begun.created_at == after.created_at
    assert spent(memory) == (2, 900)
    assert len(list(events_of(memory.store, "mycode:kiln"))) == 3
    check_sound(memory.store)


def test_what_is_said_here_comes_after_a_log_without_times(home: Home, memory: Memory) -> None:
    home.write("kiln", TALK)
    imported(memory, home.place)
    SessionStore(memory.store.db).append_message("kiln", role="user", content="And again.")
    memory.sync((), flavors=("live",))
    shown = [event.summary for event in events_of(memory.store, "mycode:kiln")]
    assert shown == ["Fire the kiln.", "Fired.", "And again."]
    check_sound(memory.store)


# SWITCHING 2.77
@pytest.mark.parametrize("collected", (True, False), ids=("collected", "live alone"))
def test_a_session_without_times_has_the_dates_of_its_metadata(
    home: Home, memory: Memory, collected: bool
) -> None:
    begun, updated = "2026-03-02T09:00:00+00:00", "2026-03-02T10:00:00+00:00"
    home.write("kiln", TALK, created_at=begun, updated_at=updated)
    live = SessionStore(memory.store.db)
    if collected:
        imported(memory, home.place)
    else:
        import_history(live, history_at(home.log("kiln").parent))
        memory.sync((), flavors=("live",))
    first, last = (live.load_all_messages("kiln")[n].created_at for n in (0, -1))
    assert first == last == parse_time(begun)
    session = memory.store.sessions.get("mycode:kiln")
    assert session is not None and session.started_at == "2026-03-02T09:00:00.000Z"
    [row] = memory.cost("day").to_dict()["rows"]
    assert (row["key"], row["microdollars"]) == ("2026-03-02", 450)
    live.append_message("kiln", role="user", content="And again.")
    memory.sync((), flavors=("live",))
    [row] = memory.cost("day").to_dict()["rows"]
    assert row["key"] == "2026-03-02"
    check_sound(memory.store)


def test_usage_that_was_recorded_here_still_counts_after_the_origin_has_grown(
    home: Home, memory: Memory
) -> None:
    home.write("kiln", TALK)
    imported(memory, home.place)
    live = SessionStore(memory.store.db)
    live.record_usage("kiln", round_index=0, prompt_tokens=7, completion_tokens=1)
    home.grow("kiln", said("user", "Hotter."))
    assert imported(memory, home.place).continued == 1
    assert sum(used.input_tokens for used in usage_of(memory.store, "mycode:kiln")) == 107


def test_a_session_that_was_closed_or_archived_here_stays_so(home: Home, memory: Memory) -> None:
    for name in ("kiln", "loom"):
        home.write(name, TALK)
    imported(memory, home.place)
    live = SessionStore(memory.store.db)
    live.close_session("kiln")
    live.archive_session("loom")
    for name in ("kiln", "loom"):
        home.grow(name, said("user", "Hotter."))
    again = imported(memory, home.place)
    assert (again.continued, again.grown) == (1, 1)
    assert live.get_session("kiln") is None
    loom = live.get_session("loom")
    assert loom is not None and loom.status == "archived"


def test_a_forgotten_session_is_not_brought_back(home: Home, memory: Memory) -> None:
    home.write("kiln", TALK)
    imported(memory, home.place)
    forget(memory.store, Config(), ["mycode:kiln"], 1)
    [reason] = imported(memory, home.place).failed.values()
    assert "forgotten" in reason
    live, history = SessionStore(memory.store.db), history_at(home.log("kiln").parent)
    for take in (import_history, import_again):
        with pytest.raises(LiveError, match="was forgotten") as raised:
            take(live, history)
        assert raised.value.hint == "Allow it again: session-memory forget --lift mycode:kiln"
    assert live.get_session("kiln") is None and memory.store.sessions.uids() == []


def test_a_line_without_a_role_is_kept_and_counted(home: Home, memory: Memory) -> None:
    """mycode shows such lines, so the place of a rewind counts them."""
    odd: Line = {"role": 5, "content": [{"type": "text", "text": "odd"}]}
    rewind = {"role": "rewind", "meta": {"rewind_to": 2}}
    home.write("kiln", [said("user", "one"), odd, said("assistant", "gone"), rewind])
    assert imported(memory, home.place).failed == {}
    live = SessionStore(memory.store.db)
    left = [one for row in live.load_active_messages("kiln") for one in as_mycode(row)]
    assert [message["role"] for message in left] == ["user", 5]


def test_a_hostile_session_costs_no_other(home: Home, memory: Memory) -> None:
    home.write("kiln", TALK)
    model = "m\0\ud800"
    home.write("odd", [said("user", "\0\ud800"), said("assistant", "a", usage=USED, model=model)])
    home.write("-dash", TALK)
    home.write("a..b", TALK)
    home.write("loop", [])
    home.log("loop").unlink()
    home.log("loop").symlink_to(home.log("loop").name)
    result = imported(memory, home.place)
    assert (result.new, list(result.failed)) == (4, [str(home.log("loop"))])
    assert imported(memory, home.place).unchanged == 4
    check_sound(memory.store)


@pytest.mark.parametrize("name", ("none.db", "torn.db"))
def test_a_place_without_a_session_is_named(memory: Memory, tmp_path: Path, name: str) -> None:
    (tmp_path / "none.db").write_bytes(b"")
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0" + b"\0" * 5000)
    [reason] = imported(memory, tmp_path / name).failed.values()
    assert "no session" in reason


TOKENS = {"before_tokens": 9, "after_tokens": 3, "round_index": 1}


def loops(path: Path, *changes: str) -> Path:
    """A database of power-loop with three sessions, and some changes."""
    theirs = pytest.importorskip("power_loop.runtime.session_store")
    store = theirs.SessionStore.open(str(path))
    for name in ("a", "b", "c"):
        store.create_session(session_id=name, model="gpt-5.5")
        store.append_message(name, role="user", content=f"weave {name}")
        store.record_usage(
            name, round_index=0, prompt_tokens=100, completion_tokens=10, total_tokens=110
        )
    store.close()
    db = apsw.Connection(str(path))
    for change in changes:
        db.execute(change)
    db.close()
    return path


DAMAGE = {
    "seq": "update messages set seq = 'x' where session_id = 'a'",
    "state": "update messages set state = 'compacted_out', seq = 'x' where session_id = 'a'",
    "tokens": "insert into compactions values ('a', 1, 9, 1, 1, 'x', 'y', 'z', 5)",
    "round": "update messages set round_index = 'x' where session_id = 'a'",
    "calls": "update messages set tool_calls_json = '{\"a\": 1}' where session_id = 'a'",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_row_costs_no_session(memory: Memory, tmp_path: Path, damage: str) -> None:
    place = loops(tmp_path / "loops.db", damage)
    result = imported(memory, place)
    assert (result.new, result.failed) == (3, {})
    assert imported(memory, place).unchanged == 3
    assert spent(memory)[0] == 3


def test_a_database_of_a_running_program_is_found(memory: Memory, tmp_path: Path) -> None:
    """All of it is in the write-ahead log still."""
    theirs = pytest.importorskip("power_loop.runtime.session_store")
    store = theirs.SessionStore.open(str(tmp_path / "agents.db"))
    store.append_message(store.create_session(session_id="a"), role="user", content="weave")
    assert (tmp_path / "agents.db").stat().st_size <= 4096
    assert imported(memory, tmp_path / "agents.db").new == 1
    store.close()


def test_a_compaction_that_is_being_written_is_imported_later(tmp_path: Path) -> None:
    """The log is newer than the states of its messages."""
    place = loops(tmp_path / "loops.db")
    theirs = pytest.importorskip("power_loop.runtime.session_store").SessionStore.open(str(place))
    [ref] = discover(place)
    assert isinstance(ref, SourceRef)
    old = list(dump(place, ref.companions[1]))
    theirs.append_message("a", role="assistant", content="woven")
    theirs.record_compaction("a", from_seq=1, to_seq=2, note_content="It was woven.", **TOKENS)
    theirs.close()
    db = apsw.Connection(str(place))
    db.execute("update compactions set created_at = created_at + 5000")
    db.execute("update sessions set updated_at = updated_at + 9000")
    db.close()
    log, new = [json.loads(line) for line in dump(place, ref)], dump(place, ref.companions[1])
    before = history(log, [b"".join(old)], "a", "power_loop:a").steps
    after = history(log, [b"".join(new)], "a", "power_loop:a").steps
    assert [type(step).__name__ for step in before] == ["MessageStep"] * 2
    fold = after[2]
    assert after[:2] == before and isinstance(fold, FoldStep) and fold.members == (1, 2)


PARENT = (
    "update sessions set parent_session_id = '{}', lifecycle = 'linked' where session_id = '{}'"
)


@pytest.mark.parametrize("pairs", (("aa",), ("ab", "ba"), ("ab", "bc", "ca")), ids="-".join)
def test_sessions_that_started_each_other_can_be_erased(
    memory: Memory, tmp_path: Path, pairs: tuple[str, ...]
) -> None:
    changes = [PARENT.format(parent, child) for parent, child in pairs]
    imported(memory, loops(tmp_path / "loops.db", *changes))
    live = SessionStore(memory.store.db)
    assert sum(live.erase_session(name) for name in ("a", "b", "c")) == 3


def test_a_ring_of_subagents_in_an_older_store_can_be_erased(memory: Memory) -> None:
    live = SessionStore(memory.store.db)
    linked = SubagentLifecycle.LINKED
    live.create_session(session_id="a")
    live.create_session(session_id="b", parent_session_id="a", lifecycle=linked)
    memory.store.db.execute(
        "update live_sessions set parent_session_id = 'b', lifecycle = 'linked'"
        " where session_id = 'a'"
    )
    assert live.erase_session("a") == 2


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("is_new", (True, False), ids=("new", "grown"))
def test_two_imports_at_once_add_everything_once(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    place = stores.place("both")
    steps = [MessageStep(n, said("user", f"{n}"), f"mycode@kiln@{n}") for n in range(3)]

    def history_of(count: int) -> History:
        return History("mycode:kiln", "kiln", list(steps[:count]), are_whole=True)

    has_looked = threading.Event()
    look = ImportRows.of_origin

    def noted(self: ImportRows, origin: str) -> Imported | None:
        known = look(self, origin)
        if threading.current_thread() is second:
            has_looked.set()
        return known

    monkeypatch.setattr(ImportRows, "of_origin", noted)
    states: list[str] = []

    def import_second() -> None:
        with open_store(place, durability="normal") as other:
            states.append(import_again(SessionStore(other.db), history_of(3)).state)

    second = threading.Thread(target=import_second)
    with open_store(place, durability="normal") as store:
        live = SessionStore(store.db)
        if not is_new:
            import_again(live, history_of(2))
        with live._writing():
            states.append(import_again(live, history_of(3)).state)
            second.start()
            assert has_looked.wait(20)
        second.join(20)
        assert states == ["new" if is_new else "grown", "unchanged"]
        assert len(live.load_all_messages("kiln")) == 3
