"""Deleted data is overwritten in a SQLite file while others go on writing."""

import errno
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from effort import times

from session_memory.core.errors import StoreDamaged, StoreError
from session_memory.store import open_store, sqlite_clearing
from session_memory.store.lock_holds import LockHold, listening
from session_memory.store.sqlite import Sqlite
from session_memory.store.sqlite_pages import SqlitePages

pytestmark = pytest.mark.only("sqlite")

SECRET = b"forget-me"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "memory.db"
    open_store(place, durability="normal").close()
    return place


@pytest.fixture
def db(file: Path) -> Iterator[Sqlite]:
    with open_store(file, durability="normal") as store:
        db = store.db
        assert isinstance(db, Sqlite)
        yield db


def fill(db: Sqlite, seed: int) -> None:
    """Tables and indexes with short and long values, in any order, half of them deleted."""
    chance = random.Random(seed)
    db.execute("create table t (id integer primary key, name text, body blob)")
    db.execute("create index by_name on t (name)")
    db.execute("create table w (name text primary key, body blob) without rowid")
    rows = list(range(300))
    chance.shuffle(rows)
    for start in range(0, len(rows), 50):
        with db.transaction():
            for row in rows[start : start + 50]:
                word = SECRET if row % 2 else b"keep-this"
                name = (word * chance.choice([1, 5, 130])).decode() + f"-{row}"
                body = word * chance.choice([1, 40, 700, 3000])
                db.insert("t", ("id", "name", "body"), [(row * 7, name, body)])
                db.insert("w", ("name", "body"), [(name, body)])
    with db.transaction():
        db.execute(f"delete from t where name like '{SECRET.decode()}%'")
        db.execute(f"delete from w where name like '{SECRET.decode()}%'")


def traces(file: Path) -> int:
    files = [file, Path(f"{file}-wal")]
    return sum(one.read_bytes().count(SECRET) for one in files if one.exists())


def rows_of(db: Sqlite) -> list[tuple[object, ...]]:
    return [
        *db.all("select * from t order by id"),
        *db.all("select name from t indexed by by_name order by name"),
        *db.all("select * from w order by name"),
    ]


def check_whole(db: Sqlite) -> None:
    assert db.all("pragma integrity_check") == [("ok",)]


@pytest.mark.parametrize("seed", range(times(4)))
def test_deleted_rows_are_in_no_page_and_all_others_are_as_they_were(
    file: Path, db: Sqlite, seed: int
) -> None:
    fill(db, seed)
    before = rows_of(db)
    db.checkpoint()
    assert traces(file)
    assert db.clear_deleted() == []
    assert traces(file) == 0
    assert rows_of(db) == before
    check_whole(db)


def test_the_store_is_not_rewritten_and_the_lock_is_held_for_few_pages(db: Sqlite) -> None:
    fill(db, 1)
    holds: list[LockHold] = []
    with listening(holds.append):
        db.clear_deleted()
    assert "vacuum" not in [hold.what for hold in holds]
    assert "clearing" in [hold.what for hold in holds]


class Writer:
    """Another connection, which has pages with deleted rows in its memory."""

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(str(file))
        self._connection.set_busy_timeout(10_000)
        self._connection.execute("pragma cache_size = -8000")
        list(self._connection.execute("select * from t"))
        list(self._connection.execute("select * from w"))

    def write(self) -> None:
        """Change values in place all over the tables, so that many pages are written."""
        self._connection.execute("begin immediate")
        self._connection.execute("update t set name = upper(name) where id % 3 = 0")
        self._connection.execute("update w set body = zeroblob(length(body))")
        self._connection.execute("commit")

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def writer(file: Path, db: Sqlite) -> Iterator[Writer]:
    fill(db, 2)
    writer = Writer(file)
    yield writer
    writer.close()


def write_meanwhile(
    monkeypatch: pytest.MonkeyPatch, writer: Writer, times: int
) -> list[set[int] | None]:
    """Write whenever pages are cleared, at most so often. Returns which ones were cleared."""
    clear, rounds = SqlitePages.clear, list[set[int] | None]()

    def write_and_clear(self: SqlitePages, numbers: set[int] | None = None) -> None:
        if len(rounds) < times:
            writer.write()
        rounds.append(numbers and {*numbers})
        clear(self, numbers)

    monkeypatch.setattr(SqlitePages, "clear", write_and_clear)
    return rounds


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("few", [3, 10_000])
def test_pages_that_another_process_writes_meanwhile_are_cleared_too(
    file: Path, db: Sqlite, writer: Writer, monkeypatch: pytest.MonkeyPatch, times: int, few: int
) -> None:
    monkeypatch.setattr(sqlite_clearing, "FEW_PAGES", few)
    # With the write lock held nobody can write.
    rounds = write_meanwhile(monkeypatch, writer, 1 if few > 3 else times)
    assert db.clear_deleted() == []
    assert rounds[0] is None
    assert few > 3 or len(rounds[-1] or ()) <= few
    writer.write()
    db.checkpoint()
    assert traces(file) == 0
    check_whole(db)


def test_otherwise_the_copies_of_another_process_would_be_left(
    file: Path, db: Sqlite, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the test above would show nothing."""
    monkeypatch.setattr(sqlite_clearing, "wal_pages", lambda *_: set())
    write_meanwhile(monkeypatch, writer, 1)
    db.clear_deleted()
    db.checkpoint()
    assert traces(file)


def test_a_reader_of_the_earlier_state_is_said_to_be_in_the_way(
    file: Path, db: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, 1)
    monkeypatch.setattr("session_memory.store.sqlite_waiting.BUSY_S", 0.01)
    reader = apsw.Connection(str(file))
    reader.execute("begin")
    assert reader.execute("select count(*) from t").get
    with db.transaction():
        db.execute("delete from t where id % 2 = 0")
    (unswept,) = db.clear_deleted()
    assert "another program reads the store" in str(unswept)
    reader.close()
    assert db.clear_deleted() == []
    assert traces(file) == 0


def test_nobody_waits_for_a_reader_that_keeps_the_wal_from_being_emptied(
    file: Path, db: Sqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite waited for it while it held the write lock, for up to a minute."""
    fill(db, 1)
    reader, writer = apsw.Connection(str(file)), apsw.Connection(str(file))
    reader.execute("begin")
    assert reader.execute("select count(*) from t").get
    writer.set_busy_timeout(0)
    waits = list[bool]()

    def write(until: float) -> bool:
        # Within the pause between two attempts.
        writer.execute("update t set name = name || 'x'")
        waits.append(True)
        if len(waits) == 2:
            reader.execute("commit")
        return True

    monkeypatch.setattr("session_memory.store.sqlite_shrink.retry_until", write)
    monkeypatch.setattr("session_memory.store.sqlite_shrink.HELD_MS", 1)
    assert db.checkpoint()
    assert len(waits) == 2
    reader.close()
    writer.close()


def test_readers_and_writers_notice_nothing(file: Path, db: Sqlite) -> None:
    fill(db, 4)
    expected = rows_of(db)
    stop, failures = threading.Event(), list[BaseException]()

    def guarded(work: Callable[[apsw.Connection], None]) -> Callable[[], None]:
        def run() -> None:
            connection = apsw.Connection(str(file))
            connection.set_busy_timeout(10_000)
            try:
                while not stop.is_set():
                    work(connection)
            except BaseException as error:
                failures.append(error)
            finally:
                connection.close()

        return run

    def read(connection: apsw.Connection) -> None:
        assert list(connection.execute("select * from t order by id")) == expected[:150]

    def write(connection: apsw.Connection) -> None:
        connection.execute("insert into w values (hex(randomblob(20)), randomblob(5000))")

    threads = [threading.Thread(target=guarded(work)) for work in (read, write)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            assert db.clear_deleted() == []
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    db.checkpoint()
    assert traces(file) == 0
    check_whole(db)


def test_a_damaged_page_is_not_written(file: Path, db: Sqlite) -> None:
    fill(db, 1)
    db.shrink()
    root = db.value("select rootpage from sqlite_schema where name = 'w'")
    with file.open("r+b") as opened:
        opened.seek((root - 1) * 4096 + 1)
        opened.write(b"\x00\x01")
    db.close()
    damaged = Sqlite(file)
    with pytest.raises(StoreDamaged, match=f"page {root}"):
        sqlite_clearing.cleared(damaged, file)
    damaged.close()


@pytest.mark.parametrize(
    "failure",
    [apsw.FullError("database or disk is full"), OSError(errno.EIO, "Input/output error")],
)
def test_a_disk_that_fails_is_said_and_costs_nothing(
    file: Path, db: Sqlite, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    fill(db, 1)
    before = rows_of(db)

    def fail(self: SqlitePages, number: int) -> None:
        raise failure

    with monkeypatch.context() as patched, pytest.raises(StoreError) as raised:
        patched.setattr(SqlitePages, "_clear_page", fail)
        db.clear_deleted()
    assert raised.value.hint
    assert rows_of(db) == before
    assert db.clear_deleted() == []
    assert traces(file) == 0
