"""Where texts of a forgotten session may be left: the lake, an index, files behind a link."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from keeping import LATER, Keeper, talk
from late import Late

from session_memory.core.errors import MissingExtra
from session_memory.derive.evicted import archive_of
from session_memory.derive.files_beside import beside
from session_memory.learn.analyze import analyze
from session_memory.retain import lake
from session_memory.retain.forget import ForgetResult, forget, sweep
from session_memory.retain.forget_plan import plan_of
from session_memory.retain.lake import export as export_lake
from session_memory.retain.proof import Samples, prove
from session_memory.store import open_store
from session_memory.store.migrations import all_steps, migrate
from session_memory.store.sqlite import Sqlite
from session_memory.testing.claude import usage

parquet = Late("pyarrow.parquet")

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

ALPHA, BETA = "claude:alpha", "claude:beta"
SECRET = "xylophone-quartet-zanzibar"


@pytest.fixture
def filled(keeper: Keeper) -> Keeper:
    talk(keeper.claude.session("alpha"), f"please {SECRET}", f"and again {SECRET}")
    talk(keeper.claude.session("beta"), "something else")
    keeper.collect()
    return keeper


def forgotten(keeper: Keeper) -> ForgetResult:
    return forget(keeper.store, keeper.config, [ALPHA], LATER)


def lake_rows(directory: Path) -> str:
    files = sorted(directory.rglob("*.parquet"))
    return str([parquet.ParquetFile(file).read().to_pylist() for file in files])


def datasets(found: list[str], directory: Path) -> set[str]:
    return {Path(place).relative_to(directory).parts[0] for place in found}


def samples() -> Samples:
    taken = Samples()
    taken.add_text(f"please {SECRET}")
    taken.uids.add(ALPHA)
    return taken


# ---------------------------------------------------------------- the lake


@BOTH
def test_a_lake_whose_first_export_was_killed_is_cleared(filled: Keeper) -> None:
    directory = filled.archive / "lake"
    export_lake(filled.store, directory)
    # The files of sessions are written last.
    shutil.rmtree(directory / "sessions")
    (directory / "events" / ".data.parquet.1.part").write_text(SECRET)
    assert SECRET in lake_rows(directory)
    done = forgotten(filled)
    assert done.proof.found == [] and done.proof.unswept == []
    assert SECRET not in lake_rows(directory) and ALPHA not in lake_rows(directory)
    assert not list(directory.rglob("*.part"))


def test_the_proof_unpacks_the_files_of_the_lake(filled: Keeper) -> None:
    directory = filled.archive / "lake"
    export_lake(filled.store, directory)
    shutil.copytree(directory, filled.archive / "before")
    forgotten(filled)
    shutil.rmtree(directory)
    shutil.copytree(filled.archive / "before", directory)
    taken = samples()
    found = prove(filled.store, None, directory, taken).found
    assert datasets(found, directory) == {"events", "usage", "sessions"}
    taken.uids.clear()
    found = prove(filled.store, None, directory, taken).found
    assert datasets(found, directory) >= {"events", "sessions"}


def test_a_damaged_file_of_the_lake_is_named_until_it_is_gone(filled: Keeper) -> None:
    directory = filled.archive / "lake"
    export_lake(filled.store, directory)
    file = next((directory / "events").rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-20])
    done = forgotten(filled)
    (said,) = done.proof.unswept
    assert str(file) in said and "session-memory lake export" in said
    assert sweep(filled.store, LATER, filled.config) == [said]
    file.unlink()
    assert sweep(filled.store, LATER, filled.config) == []
    assert sweep(filled.store, LATER, filled.config) is None


def test_without_a_reader_for_the_lake_nothing_is_changed(
    filled: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_lake(filled.store, filled.archive / "lake")
    before = filled.store.fingerprint()

    def missing() -> None:
        raise MissingExtra("lake")

    monkeypatch.setattr(lake, "arrow", missing)
    with pytest.raises(MissingExtra):
        forgotten(filled)
    assert filled.store.fingerprint() == before


# ---------------------------------------------------------------- the word index


@BOTH
def test_an_index_that_a_killed_reindex_left_goes(filled: Keeper) -> None:
    with filled.store.transaction():
        filled.store.index.begin_next()
        filled.store.index.add_next(filled.store.index.prepared([(4, f"please {SECRET}")]))
    assert filled.store.db.has_table("words_next")
    forgotten(filled)
    assert not filled.store.db.has_table("words_next")


@BOTH
def test_the_proof_asks_the_word_index(filled: Keeper) -> None:
    forgotten(filled)
    assert prove(filled.store, None, None, samples()).found == []
    with filled.store.transaction():
        filled.store.index.add([(4 << 20, f"please {SECRET}")])
    assert prove(filled.store, None, None, samples()).found == ["the word index"]


# ---------------------------------------------------------------- behind a link


@pytest.fixture
def linked(tmp_path: Path) -> Keeper:
    """A store that is a link to a file in another directory."""
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    open_store(tmp_path / "far" / "real.db").close()
    (tmp_path / "near" / "link.db").symlink_to(tmp_path / "far" / "real.db")
    keeper = Keeper(tmp_path, str(tmp_path / "near" / "link.db"))
    keeper.limits.archive_dir = ""
    return keeper


@pytest.mark.only("sqlite")
def test_everything_of_a_store_behind_a_link_is_beside_the_store_itself(linked: Keeper) -> None:
    place = Path(linked.place)
    talk(linked.claude.session("alpha"), f"please {SECRET}", f"and again {SECRET}")
    linked.collect()
    analyze(linked.store)
    linked.evict(ALPHA)
    export_lake(linked.store, lake.place(linked.store, linked.config) or Path())
    assert [file.name for file in place.parent.iterdir()] == ["link.db"]
    far = place.resolve().parent
    archive = archive_of(linked.store, linked.config)
    assert archive is not None and archive.directory == far / "archive" / "real"
    assert beside(linked.store) == far
    (far / "real.db.before-step-3-1").write_text(SECRET)
    plan = plan_of(linked.store, linked.config, [ALPHA])
    assert any("real.db.before-step-3-1" in line for line in plan.unreachable)
    with open_store(far / "real.db") as direct:
        done = forget(direct, linked.config, [ALPHA], LATER)
    assert done.proof.found == [] and done.plan.archives


@pytest.mark.only("sqlite")
def test_the_proof_searches_the_log_of_a_store_behind_a_link(
    linked: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_memory.store.sqlite_waiting.BUSY_S", 0.1)
    talk(linked.claude.session("alpha"), f"please {SECRET}", f"and again {SECRET}")
    linked.collect()
    with open_store(linked.place) as reader, reader.db.snapshot():
        assert reader.sessions.uids() == [ALPHA]
        done = forgotten(linked)
        names = [Path(place).name for place in done.proof.found]
        assert names == ["real.db", "real.db-wal"] and done.proof.unswept
    assert sweep(linked.store) == []


@pytest.mark.only("sqlite")
def test_the_copy_before_an_update_is_beside_the_store_itself(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    old = Sqlite(tmp_path / "far" / "real.db")
    migrate(old, 1, all_steps()[:-1])
    old.close()
    (tmp_path / "link.db").symlink_to(tmp_path / "far" / "real.db")
    open_store(tmp_path / "link.db").close()
    assert [file.name for file in tmp_path.glob("*before*")] == []
    assert len(list((tmp_path / "far").glob("real.db.before-step-*"))) == 1


@pytest.mark.only("sqlite")
def test_copies_that_a_killed_command_left_beside_the_store_go(filled: Keeper) -> None:
    store = Path(filled.place)
    left = store.with_name(f".{store.name}.before-step-9-1.4000000-0.session-memory.part")
    left.write_text(SECRET)
    forgotten(filled)
    assert not left.exists()


# ---------------------------------------------------------------- lessons


def test_the_proof_searches_lessons_and_copies_for_undoing(filled: Keeper, tmp_path: Path) -> None:
    forgotten(filled)
    own = tmp_path / "own-lessons"
    own.mkdir()
    (own / "l-1.md").write_text(f"Never please {SECRET} again")
    found = prove(filled.store, None, None, samples(), own).found
    assert found == [str(own / "l-1.md")]


@BOTH
def test_a_session_of_a_few_letters_leaves_nothing_either(keeper: Keeper) -> None:
    log = keeper.claude.session("alpha")
    log.prompt("ok")
    log.answer("ok", used=usage(1))
    keeper.collect()
    done = forgotten(keeper)
    assert done.proof.samples > 0 and done.proof.found == []


_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.only("sqlite")
def test_a_checkpoint_of_another_process_is_waited_for(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every append to a live session may begin one, and SQLite does not wait for it by itself."""
    talk(keeper.claude.session("alpha"), "one")
    keeper.collect()
    # The byte that SQLite locks for a checkpoint (https://sqlite.org/walformat.html).
    command = [sys.executable, "-c", _HOLD, f"{keeper.store.db.file}-shm"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        waited: list[float] = []

        def ended(until: float) -> bool:
            waited.append(until)
            other.communicate()
            return True

        monkeypatch.setattr("session_memory.store.sqlite_shrink.retry_until", ended)
        assert isinstance(keeper.store.db, Sqlite)
        assert keeper.store.db.checkpoint()
    assert len(waited) == 1
