"""Files that are no store, or are one no longer: an error that says so, and hands off the file."""

import os
import random
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.core.errors import (
    NewerSchema,
    NotAStore,
    StoreDamaged,
    StoreError,
    StoreNotFound,
)
from session_memory.retain.verification import verify
from session_memory.store.store import open_store

from .conftest import Memory, fresh_fingerprint
from .logs import append, corpus, log, put, rounds, uuid

pytestmark = pytest.mark.only("sqlite")

S = uuid("session")


@contextmanager
def refused(path: Path, kind: type[StoreError] = StoreError) -> Iterator[None]:
    """Opening or using the store fails with ``kind`` and a hint, and leaves the file as it was."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.hint, "an error without a hint"
    assert str(path) in str(caught.value)
    if before is not None:
        assert path.read_bytes() == before, "the file was changed"


def use(path: Path) -> None:
    """What any command does: open, look, count."""
    with open_store(path) as store:
        store.sessions.every()
        store.events.count()


# ---------------------------------------------------------------- not a store

NOT_A_DATABASE = {
    "text": b"dear diary, " * 1000,
    "two bytes": b"xy",
    "zeros": bytes(8192),
    "a log": b'{"type":"user"}\n' * 500,
    "half a header": b"SQLite format 3\0"[:10],
    "a header alone": b"SQLite format 3\0" + bytes(84),
    "a broken header": b"SQLite format 3\0" + os.urandom(4080),
}


@pytest.mark.parametrize("content", NOT_A_DATABASE.values(), ids=NOT_A_DATABASE)
def test_what_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with refused(path):
        use(path)


def test_a_pipe_or_a_device_is_no_store_and_keeps_its_mode(tmp_path: Path) -> None:
    """Root who gives ``/dev/null`` as the store would take it away from everybody else."""
    path = tmp_path / "memory.db"
    os.mkfifo(path)
    path.chmod(0o666)
    with refused(path, NotAStore):
        use(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666


def test_an_empty_file_becomes_a_store(memory: Memory) -> None:
    """A process killed right after it created the file leaves just that."""
    memory.path.parent.mkdir(exist_ok=True)
    memory.path.touch()
    log(memory.root, S, rounds(S, 1))
    memory.sync()
    memory.assert_sound()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "places.db"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", mode)
    connection.execute("create table bookmarks (url text); insert into bookmarks values ('x')")
    connection.close()
    with refused(path):
        use(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["places.db"]


def test_a_directory_in_the_place_of_the_store_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.mkdir()
    with refused(path):
        use(path)


def test_a_file_in_the_place_of_the_directory_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file" / "memory.db"
    path.parent.write_text("not a directory")
    with refused(path):
        use(path)


@pytest.mark.parametrize("target", ["nowhere", "memory.db"], ids=["dangling", "loop"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path, target: str) -> None:
    """Following it would create the store somewhere the user did not name."""
    path = tmp_path / "memory.db"
    path.symlink_to(target)
    with refused(path):
        use(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["memory.db"]


def test_a_pipe_in_the_place_of_the_store_does_not_hang(tmp_path: Path, in_time: None) -> None:
    path = tmp_path / "memory.db"
    os.mkfifo(path)
    with refused(path):
        use(path)


def test_a_store_that_is_not_there_is_not_created_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with pytest.raises(StoreNotFound) as caught:
        open_store(path, create=False)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- a newer or unfinished one


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_store_of_a_newer_release_is_left_alone(memory: Memory, mode: str) -> None:
    log(memory.root, S, rounds(S, 1))
    memory.sync()
    connection = apsw.Connection(str(memory.path))
    connection.execute("insert into schema_steps (step, applied_at) values (999, 0)")
    connection.pragma("journal_mode", mode)
    connection.close()
    with refused(memory.path, NewerSchema):
        use(memory.path)
    with refused(memory.path, NewerSchema):
        memory.sync()


# ---------------------------------------------------------------- a damaged one


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    place = tmp_path_factory.mktemp("filled")
    made = Memory(place / "logs", place / "memory.db")
    put(corpus(made.root, 12, 3000))
    made.sync()
    return made


@pytest.fixture
def filled(memory: Memory, made_once: Memory) -> Memory:
    """A store of the test's own, with logs that all tests read and none may change."""
    shutil.copyfile(made_once.path, memory.path)
    return Memory(made_once.root, memory.path)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_a_truncated_store_is_damaged_and_left_alone(filled: Memory, share: float) -> None:
    os.truncate(filled.path, int(filled.path.stat().st_size * share) // 512 * 512)
    with refused(filled.path, StoreDamaged):
        use(filled.path)
        filled.fingerprint()


@pytest.mark.parametrize("page", [1, 2, 7, 30])
def test_a_store_with_a_page_of_noise_says_so(filled: Memory, page: int) -> None:
    """A page the command needs is an error; one it does not need is found by verify."""
    noise = os.urandom(4096)
    with filled.path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(noise)
    findings: list[str] = []
    try:
        with filled.opened() as store:
            findings = verify(store).findings
    except StoreError as error:
        assert error.hint
        findings = [str(error)]
    assert findings


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_verify_of_a_damaged_store_names_the_way_on(filled: Memory, share: float) -> None:
    """It does not send the user to itself."""
    with filled.path.open("r+b") as file:
        # The first page has the header, and is needed to open the store.
        file.seek(max(int(filled.path.stat().st_size * share) // 4096 * 4096, 100))
        file.write(os.urandom(40_000))
    done = CliRunner().invoke(main, ["store", "verify", "--store", str(filled.path)])
    assert done.exit_code == 1
    assert "store verify" not in done.stderr
    assert "Put a backup in its place" in done.stderr and "session-memory sync" in done.stderr


def test_verify_of_a_damaged_pack_names_the_way_on(filled: Memory) -> None:
    connection = apsw.Connection(str(filled.path))
    connection.execute("update packs set body = x'00'")
    connection.close()
    done = CliRunner().invoke(main, ["verify", "--store", str(filled.path)])
    assert done.exit_code == 1 and "something is wrong" in done.stdout
    assert "Put a backup in its place" in done.stderr
    failed = CliRunner().invoke(main, ["store", "fingerprint", "--store", str(filled.path)])
    assert "store verify" in failed.stderr and "Put a backup in its place" in failed.stderr


def test_a_flipped_bit_in_a_pack_is_found_and_named(filled: Memory) -> None:
    with filled.opened() as store:
        body = store.db.value("select body from packs order by length(body) desc limit 1")
    changed = bytearray(body)
    changed[len(changed) // 2] ^= 1
    connection = apsw.Connection(str(filled.path))
    connection.execute("update packs set body = ? where body = ?", (bytes(changed), body))
    connection.close()
    with filled.opened() as store:
        findings = verify(store).findings
        assert any("hash" in finding for finding in findings)
        with pytest.raises(StoreDamaged) as caught:
            store.fingerprint()
    assert caught.value.hint


@pytest.mark.parametrize("body", [b"", b"noise", None], ids=["empty", "noise", "gone"])
def test_a_damaged_dictionary_is_found_and_named(memory: Memory, body: bytes | None) -> None:
    # Logs that begin alike, and a dictionary that was stored before small ones come.
    boilerplate = {
        "type": "system",
        "content": "".join(random.Random(1).choices("abcdef", k=90_000)),
    }
    for n in range(8):
        log(memory.root, uuid("alike", n), [boilerplate, *rounds(uuid("alike", n), 1)])
    memory.sync()
    connection = apsw.Connection(str(memory.path))
    assert connection.execute("select count(*) from packs where dictionary_id > 0").get
    if body is None:
        connection.execute("delete from dictionaries")
    else:
        connection.execute("update dictionaries set body = ?", (body,))
    connection.close()
    with memory.opened() as store:
        assert verify(store).findings
        with pytest.raises(StoreDamaged) as caught:
            store.fingerprint()
    assert caught.value.hint


def test_a_write_ahead_log_of_noise_costs_nothing_that_was_in_the_file(filled: Memory) -> None:
    before = filled.fingerprint()
    Path(f"{filled.path}-wal").write_bytes(os.urandom(40_000))
    assert filled.fingerprint() == before
    filled.assert_sound()


def test_a_store_copied_without_its_write_ahead_log_is_whole(memory: Memory) -> None:
    """Copied while in use, or its log deleted by a cleaner: older, and consistent."""
    path = log(memory.root, S, rounds(S, 2))
    memory.sync()
    with memory.opened() as store:
        append(path, rounds(S, 3, start=8))
        memory.sync()
        assert Path(f"{memory.path}-wal").stat().st_size > 0
        copy = Memory(memory.root, memory.path.with_name("copy.db"))
        shutil.copy(memory.path, copy.path)
        assert store.sessions.every()
    copy.sync()
    assert copy.fingerprint() == memory.fingerprint()
    copy.assert_sound()


def test_a_lost_journal_of_shared_memory_is_made_again(filled: Memory) -> None:
    before = filled.fingerprint()
    with filled.opened() as store:
        store.sessions.every()
        copy = filled.path.with_name("copy.db")
        for end in ("", "-wal"):
            if Path(f"{filled.path}{end}").exists():
                shutil.copy(f"{filled.path}{end}", f"{copy}{end}")
    assert Memory(filled.root, copy).fingerprint() == before


def test_everything_beside_the_store_is_private(memory: Memory) -> None:
    path = log(memory.root, S, rounds(S, 1))
    memory.sync()
    with memory.opened() as store:
        append(path, rounds(S, 1, start=100))
        memory.sync()
        store.backup(memory.path.with_name("backup.db"))
        files = list(memory.path.parent.glob("*.db*"))
        assert {"memory.db-wal", "memory.db-shm"} <= {file.name for file in files}
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        assert memory.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_store_lost_altogether_is_made_again_from_the_logs(filled: Memory) -> None:
    expected = filled.fingerprint()
    for file in filled.path.parent.glob("memory.db*"):
        file.unlink()
    filled.sync()
    assert filled.fingerprint() == expected
    assert expected == fresh_fingerprint(filled.root)
