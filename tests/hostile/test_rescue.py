"""A damaged store: what can be read is brought out, the rest is named, and nobody says "bug"."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner, Result

from session_memory.cli import main
from session_memory.config import Config
from session_memory.core.errors import StoreDamaged
from session_memory.learn.analyze import analyze
from session_memory.retain.portable_import import import_store
from session_memory.retain.verification import verify
from session_memory.store.copying import copy_everything
from session_memory.store.raw import compressor, packed
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .conftest import Memory
from .logs import corpus, log, put, rounds, uuid

DONE_WITH_PROBLEMS = 3
on_sqlite = pytest.mark.only("sqlite")
# Each is a table or an index. A store has no other way to the rows of the first three.
NEEDED = ("sources", "packs", "dictionaries")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Logs and a store of them. Each test has a copy of the store."""
    place = tmp_path_factory.mktemp("rescue")
    memory = Memory(place / "logs", place / "memory.db")
    put(corpus(memory.root, 6, 2000))
    memory.sync()
    with memory.opened() as store:
        analyze(store)
    return memory


@pytest.fixture
def filled(made: Memory, memory: Memory, database: str) -> Memory:
    if database == "sqlite":
        shutil.copy(made.path, memory.where)
    else:
        with made.opened() as store, memory.opened() as copy:
            copy_everything(store, copy)
    return Memory(made.root, memory.path, memory.place)


def run(memory: Memory, *words: object) -> Result:
    done = CliRunner().invoke(main, [*map(str, words), "--store", memory.where])
    assert "This is a bug" not in done.stderr, done.stderr
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done


def restored(memory: Memory, target: Path) -> int:
    """The number of logs below ``target``. Each is as the agent wrote it."""
    files = [file for file in target.rglob("*") if file.is_file()]
    for file in files:
        assert file.read_bytes() == (memory.root / file.relative_to(target)).read_bytes()
    return len(files)


# ---------------------------------------------------------------- a damaged page


def objects(path: Path) -> dict[str, int]:
    """Every table and index with its first page."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        return dict(connection.execute("select name, rootpage from sqlite_master where rootpage"))
    finally:
        connection.close()


def last_schema_page(path: Path) -> int:
    objects(path)
    connection = apsw.Connection(str(path))
    try:
        found = connection.execute("select max(pageno) from dbstat where name = 'sqlite_schema'")
        return int(found.fetchall()[0][0])
    finally:
        connection.close()


@on_sqlite
@pytest.mark.parametrize(
    "name",
    [
        *("events", "events_in_order", "sessions", "sqlite_autoindex_sessions_1", "usage"),
        *("names", "packs_by_place", "packs", "sources", "sqlite_autoindex_sources_1", "digests"),
        *("schema_steps", "search_words_data", "session_sources", "live_messages", "tombstones"),
    ],
)
def test_a_page_of_noise_costs_what_is_in_it(filled: Memory, tmp_path: Path, name: str) -> None:
    with filled.opened() as store:
        expected, logs = store.fingerprint(), len(store.sources.every())
    page = objects(filled.path).get(name)
    if page is None:
        pytest.skip(f"this store has no {name}")
    with filled.path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(os.urandom(4096))
    before = filled.path.read_bytes()
    done = run(filled, "restore-native", "--all", "--to", tmp_path / "back")
    count = restored(filled, tmp_path / "back")
    exported = run(filled, "export", tmp_path / "all.smx", "--json")
    copy = tmp_path / "copy.db"
    copied = CliRunner().invoke(main, ["store", "copy", str(filled.path), str(copy), "--json"])
    assert "This is a bug" not in copied.stderr
    assert filled.path.read_bytes() == before, "the damaged file was changed"
    if name in NEEDED:
        statuses = (done.exit_code, exported.exit_code, copied.exit_code)
        assert statuses == (DONE_WITH_PROBLEMS,) * 3, done.stderr + exported.stderr + copied.stderr
        assert f"table {name}" in done.stderr
    else:
        assert exported.exit_code in (0, DONE_WITH_PROBLEMS), exported.stderr
        assert count == logs == json.loads(exported.stdout)["sources"]
        assert copied.exit_code in (0, DONE_WITH_PROBLEMS), copied.stderr
        assert json.loads(copied.stdout)["same"]
        with open_store(copy) as store:
            assert store.fingerprint() == expected
            assert verify(store).findings == []
    for words in ("sessions", "cost", "stats", "problems", "doctor", "patterns", "store verify"):
        run(filled, *words.split())


@on_sqlite
@pytest.mark.parametrize("share", [0.5, 0.9, 0.97])
def test_a_store_cut_short_gives_what_is_before_the_cut(
    filled: Memory, tmp_path: Path, share: float
) -> None:
    with filled.opened() as store:
        logs = len(store.sources.every())
    pages = filled.path.stat().st_size // 4096
    # Without a page of the table of tables nothing can be read.
    kept = max(int(pages * share), last_schema_page(filled.path))
    os.truncate(filled.path, kept * 4096)
    done = run(filled, "restore-native", "--all", "--to", tmp_path / "back")
    # Behind the cut there may have been no log at all, such as pages of the word index.
    is_whole = restored(filled, tmp_path / "back") == logs
    if not (is_whole and done.exit_code == 0):
        assert done.exit_code == DONE_WITH_PROBLEMS and "Damaged and left out" in done.stderr


# ---------------------------------------------------------------- a damaged value


def damage(memory: Memory, how: str) -> str:
    """Damage one log, and return its session."""
    with memory.opened() as store, store.transaction():
        session = next(uid for uid in store.sessions.uids() if ":agent" not in uid)
        row = store.sessions.row(session)
        assert row is not None
        source = store.sources.get(store.sessions.source_ids(row.id)[0])
        of = {"source": source.id}
        if how == "gone":
            store.db.execute("delete from packs where source_id = :source", of)
        elif how == "hash":
            change = "update packs set hash = :hash where source_id = :source"
            store.db.execute(change, {**of, "hash": sha256(b"other").digest()})
        else:
            body = b"not zstd" if how == "zstd" else packed(b"short", 0, compressor()).body
            change = "update packs set body = :body, hash = :hash where source_id = :source"
            store.db.execute(change, {**of, "body": body, "hash": sha256(body).digest()})
    return session


@pytest.mark.parametrize(
    "how", ["gone", *(pytest.param(how, marks=on_sqlite) for how in ("zstd", "hash", "length"))]
)
def test_one_damaged_log_does_not_keep_the_others_in(
    filled: Memory, tmp_path: Path, stores: Stores, how: str
) -> None:
    session = damage(filled, how)
    with filled.opened() as store:
        logs, sessions = len(store.sources.every()), len(store.sessions.uids())
    done = run(filled, "restore-native", "--all", "--to", tmp_path / "back", "--json")
    assert done.exit_code == DONE_WITH_PROBLEMS, done.stderr
    [named] = json.loads(done.stdout)["damaged"]["logs"]
    assert session in named["sessions"]
    assert restored(filled, tmp_path / "back") == logs - 1
    done = run(filled, "export", tmp_path / "all.smx")
    assert done.exit_code == DONE_WITH_PROBLEMS and session in done.stderr
    with open_store(":memory:") as other:
        assert import_store(other, tmp_path / "all.smx", Config()).sources == logs - 1
    copy = stores.place("copy")
    done = CliRunner().invoke(main, ["store", "copy", filled.where, copy, "--json"])
    figures = json.loads(done.stdout)
    assert done.exit_code == DONE_WITH_PROBLEMS and figures["same"]
    assert (figures["sources"], figures["sessions"]) == (logs, sessions)
    assert session in figures["damaged"]["logs"][0]["sessions"]
    done = run(filled, "store", "verify")
    assert done.exit_code == 1 and session in done.stdout
    assert "store copy" in done.stderr and "restore-native" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        "update digests set body = :bad",
        pytest.param("update sessions set state = :bad", marks=on_sqlite),
        "update sessions set facts = 'x'",
        pytest.param("update sources set cursor_state = 'x', bookkeeping = 'x'", marks=on_sqlite),
        pytest.param("update dictionaries set body = :bad", marks=on_sqlite),
        pytest.param("update signals set evidence = 'x'", marks=on_sqlite),
        "delete from names where id > 3",
    ],
)
def test_a_damaged_value_is_never_called_a_bug(filled: Memory, tmp_path: Path, change: str) -> None:
    with filled.opened() as store, store.transaction():
        uid = store.sessions.uids()[0]
        store.db.execute(change, {"bad": b"rubbish"} if ":bad" in change else None)
    new = tmp_path / "new"
    log(new, uuid("new"), rounds(uuid("new"), 1))
    for words in ("sync", "analyze", "sessions", f"show {uid}", f"digest {uid}", "patterns"):
        root = ("--root", new) if words == "sync" else ()
        run(filled, *words.split(), *root)
    for words in ("retro", "search word", "stats", "doctor", "sources", "store verify"):
        run(filled, *words.split())


@on_sqlite
@pytest.mark.parametrize(
    "change",
    [
        "sessions set native_id = cast(cast(native_id as blob) || x'c0' as text)",
        "events set kind = -35",
        "events set seq = -34",
        "usage set model = 10000",
        "usage set input_tokens = -71",
    ],
)
def test_a_damaged_row_that_is_derived_is_derived_again(
    filled: Memory, tmp_path: Path, change: str
) -> None:
    table = change.split()[0]
    with filled.opened() as store:
        uids, before = store.sessions.uids(), store.fingerprint()
        with store.transaction():
            store.db.execute(f"update {change} where rowid = (select min(rowid) from {table})")
    copy = tmp_path / "copy.db"
    done = run(filled, "store", "copy", filled.where, copy)
    assert done.exit_code == DONE_WITH_PROBLEMS, done.stderr
    with open_store(copy) as store:
        assert store.sessions.uids() == uids
        assert store.fingerprint() == before


@on_sqlite
@pytest.mark.parametrize("column", ["path", "home_path", "host", "session"])
def test_a_text_with_a_wrong_byte_costs_no_log(filled: Memory, tmp_path: Path, column: str) -> None:
    """One flipped bit in the description of a log: all bytes of all logs are still there."""
    with filled.opened() as store, store.transaction():
        damage = f"cast(cast({column} as blob) || x'c0' as text)"
        store.db.execute(f"update sources set {column} = {damage} where id = 2")
        with pytest.raises(StoreDamaged):
            store.sources.every()
    for words in (
        ("restore-native", "--all", "--to", tmp_path / "back"),
        ("export", tmp_path / "e"),
    ):
        done = run(filled, *words)
        assert done.exit_code == DONE_WITH_PROBLEMS, done.stderr
        assert "table sources: rows 2 to 2" in done.stderr
    files = [file.read_bytes() for file in (tmp_path / "back").rglob("*") if file.is_file()]
    expected = [file.read_bytes() for file in filled.root.rglob("*") if file.is_file()]
    assert sorted(files) == sorted(expected)
    copy = tmp_path / "copy.db"
    assert run(filled, "store", "copy", filled.where, copy).exit_code == DONE_WITH_PROBLEMS
    with open_store(copy) as store:
        logs = [b"".join(store.raw.pieces(row.id)) for row in store.sources.every()]
        assert sorted(logs) == sorted(expected)
