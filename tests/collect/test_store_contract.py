"""What a store promises: its schema, its privacy, its copies, and that damage is noticed."""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from on_a_server import cases

from session_memory.core.errors import NewerSchema, StoreError, StoreNotFound, UnsafePath
from session_memory.derive.reindex import ensure_index
from session_memory.retain.verification import verify
from session_memory.store import Store, open_store
from session_memory.store.database import connect
from session_memory.store.migrations import NEWEST, all_steps, migrate, version
from session_memory.testing.claude import ClaudeHome, call, usage
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    new_store,
    rebuilt,
)
from session_memory.testing.stores import Stores

DATABASES = Path(__file__).parent.parent / "data" / "databases"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def any_umask() -> Iterator[None]:
    """Whatever the umask allows, we do not."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def home(claude: ClaudeHome) -> Path:
    log = claude.session()
    log.prompt("make it work")
    log.answer("I look.", call("Bash", command="ls"), used=usage(20))
    log.result("a.py\n" * 50)
    log.answer("done", used=usage(30))
    fork = claude.fork(log, "beta")
    fork.prompt("go on")
    fork.answer("went on", used=usage(40))
    agent = claude.subagent(log, "a1", meta={"toolUseId": log.call_id})
    agent.answer("looked", used=usage(50))
    return claude.write()


@pytest.fixture
def place(stores: Stores) -> str:
    """Where the store is, or will be."""
    return stores.place("memory")


@pytest.fixture
def store(home: Path, place: str) -> Iterator[Store]:
    with collected(home, place) as store:
        yield store


@pytest.fixture
def path(place: str) -> Path:
    """The file, where the store is one."""
    return Path(place)


# ------------------------------------------------------------ migrations


def test_a_new_store_has_the_newest_schema(store: Store) -> None:
    assert version(store.db) == NEWEST == len(all_steps())


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("old", sorted(DATABASES.glob("*.db")), ids=lambda path: path.stem)
def test_a_database_of_an_earlier_release_still_opens(old: Path, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    shutil.copyfile(old, path)
    with open_store(path, create=False) as store:
        assert version(store.db) == NEWEST
        assert store.sessions.uids() == ["claude:alpha", "claude:alpha:a1", "claude:beta"]
        assert {s.cost.output_tokens for s in store.sessions.every()} == {25, 7, 9}
        assert [problem.reason for problem in store.problems.every()] == ["malformed line"]
        check_sound(rebuilt(store))
        assert len(events_of(store, "claude:alpha")) == 5


@pytest.mark.only("sqlite")
def test_every_step_so_far_has_a_database_that_ended_with_it() -> None:
    assert {path.stem for path in DATABASES.glob("*.db")} == {
        f"step-{step + 1}" for step in range(NEWEST)
    }, "run: .venv/bin/python tools/make_fixtures.py --database"


@pytest.mark.parametrize("step", cases(range(1, NEWEST), (1, NEWEST // 2, NEWEST - 1)))
def test_a_store_of_any_earlier_step_is_brought_up_to_date(
    stores: Stores, home: Path, step: int
) -> None:
    place = stores.empty_place("memory")
    db = connect(place)
    assert migrate(db, 1234, all_steps()[:step]) == list(range(1, step + 1))
    db.close()
    with collected(home, place) as store:
        assert version(store.db) == NEWEST
        check_sound(store)


def test_a_step_is_applied_once(store: Store) -> None:
    steps = (*all_steps(), "create table later (id {int} not null){strict};\n")
    assert migrate(store.db, 1234, steps) == [NEWEST + 1]
    assert migrate(store.db, 5678, steps) == []
    assert store.db.has_table("later")
    check_sound(store)


@pytest.mark.only("sqlite")
def test_before_a_step_a_backup_is_made(store: Store, path: Path, any_umask: None) -> None:
    steps = (*all_steps(), "create table later (id {int} not null){strict};\n")
    migrate(store.db, 1234, steps)
    backup = path.with_name(f"memory.db.before-step-{NEWEST + 1}-1234")
    assert mode_of(backup) == 0o600
    with open_store(backup) as before:
        assert before.fingerprint() == store.fingerprint()
        assert not before.db.has_table("later")


def test_a_step_that_fails_leaves_nothing_of_itself(store: Store) -> None:
    steps = (*all_steps(), "create table later (id {int});\ninsert into nowhere values (1);\n")
    with pytest.raises(StoreError, match="nowhere"):
        migrate(store.db, 1234, steps)
    assert version(store.db) == NEWEST
    assert not store.db.has_table("later")
    check_sound(store)


def test_a_newer_schema_is_refused_with_a_hint(store: Store, place: str) -> None:
    before = store.fingerprint()
    migrate(store.db, 1234, (*all_steps(), "create table later (id {int})"))
    with pytest.raises(NewerSchema, match=f"schema {NEWEST + 1}") as refused:
        open_store(place)
    assert refused.value.hint is not None and "upgrade" in refused.value.hint.lower()
    assert store.fingerprint() == before


@pytest.mark.only("sqlite")
def test_a_newer_schema_is_left_alone(store: Store, path: Path) -> None:
    migrate(store.db, 1234, (*all_steps(), "create table later (id {int})"))
    store.close()
    before = path.read_bytes()
    with pytest.raises(NewerSchema):
        open_store(path)
    assert path.read_bytes() == before


def test_opening_what_is_not_there_can_be_refused(stores: Stores, tmp_path: Path) -> None:
    place = stores.empty_place("memory")
    for _ in range(2):
        with pytest.raises(StoreNotFound):
            open_store(place, create=False)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------ privacy


@pytest.mark.only("sqlite")
def test_a_store_and_everything_beside_it_is_its_owners_alone(
    home: Path, tmp_path: Path, any_umask: None
) -> None:
    path = tmp_path / "deep" / "down" / "memory.db"
    with collected(home, path) as store:
        with store.transaction():
            store.db.execute("update sessions set stale = stale")
        assert {p.name for p in path.parent.iterdir()} == {
            "memory.db",
            "memory.db-wal",
            "memory.db-shm",
            "memory.db.lock",
        }
        store.backup(path.with_name("backup.db"))
        assert {mode_of(p) for p in path.parent.iterdir()} == {0o600}
    assert mode_of(path.parent) == 0o700
    assert mode_of(path.parent.parent) == 0o700


# ------------------------------------------------------------ copies


def test_a_backup_is_the_same_store(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy" / "backup.db"
    size = store.backup(target)
    assert size == target.stat().st_size > 0
    assert [path.name for path in target.parent.iterdir()] == ["backup.db"]
    with open_store(target, create=False) as copy:
        assert copy.fingerprint() == store.fingerprint()
        # A server's index is its own: a file gets one when somebody asks it.
        ensure_index(copy)
        check_sound(copy)


@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_a_backup_never_replaces_anything(store: Store, tmp_path: Path, kind: str) -> None:
    target, other = tmp_path / "backup.db", tmp_path / "other"
    if kind != "dangling link":
        other.write_text("precious")
    if kind == "file":
        target.write_text("precious")
    else:
        target.symlink_to(other)
    with pytest.raises((UnsafePath, StoreError)):
        store.backup(target)
    if kind == "dangling link":
        assert not other.exists()
    else:
        assert other.read_text() == target.read_text() == "precious"


def test_compacting_changes_nothing_but_the_size(store: Store) -> None:
    before = store.fingerprint()
    _, after = store.compact()
    assert after > 0
    assert store.fingerprint() == before
    check_sound(store)


def test_two_stores_in_one_process_know_nothing_of_each_other(home: Path, stores: Stores) -> None:
    with (
        open_store(stores.place("one")) as one,
        open_store(stores.place("two")) as two,
        new_store() as three,
        open_store(":memory:") as four,
    ):
        collect(one, home)
        collect(three, home)
        assert one.fingerprint() == three.fingerprint()
        assert two.sessions.count() == four.sessions.count() == 0
        collect(two, home)
        assert two.fingerprint() == one.fingerprint()
        check_sound(three)


def test_two_connections_to_one_store_see_each_others_work(
    store: Store, claude: ClaudeHome, place: str
) -> None:
    with open_store(place) as other:
        assert other.fingerprint() == store.fingerprint()
        claude.logs[0].prompt("more, with a tool nobody used yet")
        claude.logs[0].answer(call("NewTool", question="?"))
        collect(other, claude.write())
        assert events_of(store, "claude:alpha")[-1].tool == "NewTool"
        assert other.fingerprint() == store.fingerprint()


@pytest.mark.only("sqlite")
def test_a_store_in_memory_leaves_no_file(home: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with collected(home) as store:
        assert store.sessions.count() == 3
        store.compact()
    assert sorted(tmp_path.iterdir()) == before
    assert not Path(":memory:").exists()


FORKED = """
import os, sys
from pathlib import Path
from session_memory.store import open_store
from session_memory.testing.collecting import check_sound, collect

place, home = sys.argv[1], Path(sys.argv[2])
with open_store(place) as store:
    collect(store, home)
    before = store.fingerprint()
    child = os.fork()
    if child == 0:
        # The child has a connection of its own, and closing it drops no lock of its parent's.
        assert store.fingerprint() == before
        with store.transaction():
            store.db.execute("update sessions set revision = revision + 1")
        store.close()
        os._exit(0)
    with store.transaction():
        store.db.execute("update sessions set revision = revision + 1")
    assert os.waitpid(child, 0)[1] == 0
    assert store.fingerprint() == before
    assert {row[0] for row in store.db.all("select revision from sessions")} == {3}
    check_sound(store)
print("well")
"""


def test_a_store_survives_a_fork_of_its_process(home: Path, place: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, place, str(home)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr


# ------------------------------------------------------------ transactions


def test_what_fails_in_a_transaction_leaves_nothing_behind(store: Store) -> None:
    before = store.fingerprint()
    with pytest.raises(RuntimeError), store.transaction():
        store.db.execute("delete from usage")
        store.names.numbers["a word of tomorrow"]
        raise RuntimeError
    assert store.fingerprint() == before
    with store.transaction():
        number = store.names.numbers["another word"]
    assert store.names.word(number) == "another word"


def test_a_database_says_what_it_is_when_a_statement_is_wrong(store: Store) -> None:
    with pytest.raises(StoreError, match=re.escape(store.db.name)):
        store.db.execute("select nonsense from nowhere")
    check_sound(store)


# ------------------------------------------------------------ damage


def flip_a_bit(store: Store) -> None:
    [(source, start, body)] = store.db.all("select source_id, start, body from packs limit 1")
    flipped = body[:20] + bytes([body[20] ^ 1]) + body[21:]
    store.db.execute(
        "update packs set body = :body where source_id = :source and start = :start",
        {"body": flipped, "source": source, "start": start},
    )


def executes(sql: str) -> Callable[[Store], None]:
    return lambda store: list(store.db.execute(sql)) and None


DAMAGES = {
    "a bit is flipped": (flip_a_bit, "hash"),
    "a log is gone": (executes("delete from packs where source_id = 2"), "bytes were kept"),
    "a gap in a log": (
        executes("update packs set start = start + 1 where source_id = 1"),
        "missing",
    ),
    "a forged text": (
        executes("update events set summary = 'forged' where id = 2"),
        "differ from its log",
    ),
    "a forged error": (
        executes("update events set is_error = 1 where id = 3"),
        "differ from its log",
    ),
    "an event is gone": (executes("delete from events where id = 4"), "accounted for"),
    "a forged sum": (
        executes("update sessions set output_tokens = output_tokens + 1 where id = 1"),
        "sum of its usage",
    ),
    "a forged count": (
        executes("update usage set output_tokens = output_tokens + 1 where id = 1"),
        "sum of its usage",
    ),
    "another count": (
        executes("update usage set output_tokens = 7 where id = 1 returning id"),
        "sum of its usage",
    ),
    "copies are gone": (executes("delete from copies"), "accounted for"),
    "a line too many": (
        executes("update sources set lines = lines + 1 where id = 1"),
        "accounted for",
    ),
    "a forged title": (
        executes("update sessions set title = 'forged' where id = 1"),
        "differ from its log",
    ),
    "never derived": (
        executes("update sessions set stale = 1 where id = 1"),
        "session-memory sync",
    ),
}
# One for each query that finds damage.
ON_A_SERVER = (
    "a bit is flipped",
    "a gap in a log",
    "a forged text",
    "a forged sum",
    "never derived",
)


@pytest.mark.parametrize("name", cases(DAMAGES, ON_A_SERVER))
def test_damage_is_noticed(store: Store, name: str) -> None:
    damage, message = DAMAGES[name]
    assert verify(store).findings == []
    damage(store)
    findings = verify(store).findings
    assert any(message in finding for finding in findings), findings


def test_forged_usage_is_noticed_even_when_its_sum_was_forged_too(store: Store) -> None:
    store.db.execute("update usage set output_tokens = output_tokens + 5 where id = 1")
    store.db.execute(
        "update sessions set output_tokens = output_tokens + 5"
        " where id = (select owner_id from usage where id = 1)"
    )
    assert any("differ from its log" in finding for finding in verify(store).findings)


def test_a_rebuild_mends_everything_but_the_raw(store: Store) -> None:
    before = store.fingerprint()
    for sql in ("delete from events where id % 2 = 0", "delete from usage", "delete from links"):
        store.db.execute(sql)
    assert verify(store).findings
    assert rebuilt(store).fingerprint() == before
    check_sound(store)
