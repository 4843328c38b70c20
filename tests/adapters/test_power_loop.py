"""power-loop: databases that the real package filled, releases 0.2.0 and 8.0.0 (both its stores).

They are kept as SQL; ``ACTIVE.json`` beside each is what the package loaded as its context.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from session_memory.adapters.power_loop import AGENT as adapter
from session_memory.collect.database_copies import copied_database, database_stat
from session_memory.core.errors import UnsafePath
from session_memory.retain.native_files import restore_native
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    rebuilt,
    usage_of,
)

SAMPLES = Path(__file__).parent.parent / "data" / "power_loop"
RELEASES = ("0.2.0", "8.0.0", "8.0.0-async")
ROOT, CHILD = "power_loop:sess_000000000000000000abc000", "power_loop:sess_000000000000000000abc001"
PREFIX = {"0.2.0": "", "8.0.0": "", "8.0.0-async": "pl_"}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def directory(release: str, tmp_path: Path) -> Path:
    filled(tmp_path / "kiln.db", release).close()
    return tmp_path


def filled(path: Path, release: str) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.execute("pragma journal_mode = wal")
    db.execute((SAMPLES / release / "database.sql").read_text())
    return db


class TestTheContract(AdapterContract):
    adapter = adapter
    unknown = b'{"table": "moons", "session_id": "s", "kind": "full"}\n'

    @pytest.fixture(autouse=True)
    def _filled(self, directory: Path) -> Iterator[None]:
        type(self).samples = directory
        yield

    def test_the_head_of_a_log_tells_whose_it_is(self) -> None:
        """A database is known by its tables, not by its first bytes."""
        head = (self.samples / "kiln.db").read_bytes()[:100]
        assert adapter.recognizes(head) and not adapter.recognizes(b"hello")

    def test_logs_gathered_in_a_directory_are_found_as_well(self, tmp_path: Path) -> None:
        below = tmp_path / "gathered" / "deep"
        below.mkdir(parents=True)
        shutil.copyfile(self.samples / "kiln.db", below / "other.db")
        (found,) = adapter.discover(tmp_path / "gathered")
        assert found.path == below / "other.db"

    def test_a_store_of_the_samples_is_sound_and_gives_them_back(self, tmp_path: Path) -> None:
        """What was kept is the rows; the database itself is not written back."""
        with collected(self.samples, flavor="power_loop") as store:
            check_sound(store)
            before = store.fingerprint()
            assert rebuilt(store).fingerprint() == before


def test_messages_calls_and_results_come_out_as_they_went_in(directory: Path) -> None:
    with collected(directory, flavor="power_loop") as store:
        events, session = events_of(store, ROOT), store.sessions.get(ROOT)
    assert session is not None
    assert (session.cwd, session.model) == ("/home/mira/code/kiln", "mock-model")
    found = [(e.kind, e.call_id or e.summary) for e in events]
    assert found == [
        ("user_msg", "make the kiln report its temperature"),
        ("assistant_msg", "I look first."),
        ("test_run", "call_1"),
        ("error", "call_1"),
        ("tool_call", "call_2"),
        ("tool_result", "call_2"),
        ("assistant_msg", "It reports now."),
        ("lifecycle", "The sensor is in the lid."),
        ("lifecycle", "messages 1 to 5 behind 7"),
        ("user_msg", "and in Kelvin"),
        ("assistant_msg", "Yes."),
        ("tool_call", "call_3"),
    ]


def test_a_subagent_has_its_parent_and_its_call(directory: Path) -> None:
    with collected(directory, flavor="power_loop") as store:
        child = store.sessions.get(CHILD)
        prompt = events_of(store, CHILD)[0]
    assert child is not None
    assert (child.parent_uid, child.relation) == (ROOT, "subagent")
    assert (child.spawn_call_id, child.spawn_depth) == ("call_2", 1)
    assert prompt.kind == "lifecycle" and prompt.role == "user"


def test_every_round_that_the_database_kept_is_counted_once(directory: Path, release: str) -> None:
    with collected(directory, flavor="power_loop") as store:
        used = usage_of(store, ROOT)
    # Release 0.2 itself replaced the first round of the first send by that of the second.
    sent = {"0.2.0": [120, 150, 90], "8.0.0": [100, 120, 150, 90], "8.0.0-async": [60, 60, 50, 40]}
    assert sorted(usage.input_tokens for usage in used) == sorted(sent[release])
    cached = sum(usage.cache_read_tokens for usage in used)
    assert cached == (250 if release == "8.0.0-async" else 0)


# SWITCHING 3.79: the loop names no model with its usage, so it was "unknown" and had no price.
def test_usage_without_a_model_belongs_to_the_sessions_model(directory: Path, release: str) -> None:
    db = apsw.Connection(str(directory / "kiln.db"))
    table = f"{PREFIX[release]}usage_rounds"
    db.execute(f"update {table} set model = null where round_index = 0")
    db.execute(f"update {table} set model = 'another' where round_index = 1")
    db.close()
    with collected(directory, flavor="power_loop") as store:
        used = {usage.model for usage in usage_of(store, ROOT)}
        check_sound(store)
    assert used == {"mock-model", "another"}


@pytest.mark.parametrize("release", ["8.0.0", "8.0.0-async"])
def test_what_a_round_used_stands_on_its_answer(directory: Path) -> None:
    with collected(directory, flavor="power_loop") as store:
        tokens = {e.call_id or e.summary: e.tokens for e in events_of(store, ROOT) if e.tokens}
    assert tokens == {"call_1": 10, "call_2": 20, "It reports now.": 7, "call_3": 3}


def test_rows_still_in_the_log_of_the_database_are_read(directory: Path, release: str) -> None:
    """The program has it open, and nothing of ours locks or changes it."""
    with collected(directory, flavor="power_loop") as store:
        before = store.events.count()
        db = apsw.Connection(str(directory / "kiln.db"))
        db.execute("pragma wal_autocheckpoint = 0")
        db.execute(
            f"insert into {PREFIX[release]}messages (session_id, seq, role, content, created_at)"
            " values (?, 10, 'user', 'hurry up', 1763300000000)",
            (ROOT.partition(":")[2],),
        )
        files = {path.name: path.read_bytes() for path in directory.iterdir()}
        assert "kiln.db-wal" in files
        outcome = collect(store, directory, flavor="power_loop")
        assert store.events.count() == before + 1
        assert outcome.report.failed == 0
        assert {path.name: path.read_bytes() for path in directory.iterdir()} == files
        check_sound(store)
        db.close()


def test_a_database_that_grows_is_appended_to_what_was_read(directory: Path, release: str) -> None:
    with collected(directory, flavor="power_loop") as growing:
        db = apsw.Connection(str(directory / "kiln.db"))
        for seq in (10, 11, 12):
            db.execute(
                f"insert into {PREFIX[release]}messages (session_id, seq, role, content,"
                " created_at) values (?, ?, 'user', 'more', ?)",
                (ROOT.partition(":")[2], seq, 1763300000000 + seq),
            )
            db.execute(f"update {PREFIX[release]}sessions set updated_at = {seq}")
            collect(growing, directory, flavor="power_loop")
        db.close()
        logs = [row for row in growing.sources.every() if row.home_path.endswith("messages.jsonl")]
        assert [row.generation for row in logs] == [0]
        collect(growing, directory, flavor="power_loop")
        with collected(directory, flavor="power_loop") as once:
            uids = growing.sessions.uids()
            found = [[e.to_dict() for e in events_of(growing, uid)] for uid in uids]
            again = [[e.to_dict() for e in events_of(once, uid)] for uid in uids]
        check_sound(growing)
    assert found == again


def test_what_the_program_deletes_stays(directory: Path, release: str) -> None:
    with collected(directory, flavor="power_loop") as store:
        before = [event.summary for event in events_of(store, CHILD)]
        db = apsw.Connection(str(directory / "kiln.db"))
        for table in ("messages", "sessions", "usage_rounds"):
            child = CHILD.partition(":")[2]
            db.execute(f"delete from {PREFIX[release]}{table} where session_id = ?", (child,))
        db.close()
        collect(store, directory, flavor="power_loop")
        assert [event.summary for event in events_of(store, CHILD)] == before
        check_sound(store)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "other.db"))
    db.execute("create table messages (id integer, body text); create table sessions (id integer)")
    db.close()
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert list(adapter.discover(tmp_path)) == []


def test_a_damaged_database_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "power_loop_sessions.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with collected(tmp_path, flavor="power_loop") as store:
        assert store.problems.count() == 3
        assert store.sessions.count() == 0


def test_a_database_is_never_written_back_as_lines(directory: Path, tmp_path: Path) -> None:
    with collected(directory, flavor="power_loop") as store:
        (directory / "kiln.db").unlink()
        with pytest.raises(UnsafePath):
            restore_native(store, [ROOT], below=[tmp_path])
        written = restore_native(store, [ROOT], tmp_path / "rows")
    assert {item.path.name for item in written} >= {*("messages.jsonl", "sessions.jsonl")}


def test_a_copy_is_made_while_the_program_goes_on_writing(directory: Path, tmp_path: Path) -> None:
    db = apsw.Connection(str(directory / "kiln.db"))
    db.execute("create table beside (n integer)")
    before = database_stat(directory / "kiln.db")
    (tmp_path / "copy").mkdir()
    copy = copied_database(directory / "kiln.db", tmp_path / "copy")
    db.execute("insert into beside values (1)")
    assert database_stat(directory / "kiln.db") != before
    db.close()
    again = apsw.Connection(str(copy))
    assert again.execute("select count(*) from beside").fetchall() == [(0,)]
    again.close()
