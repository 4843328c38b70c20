"""A file that a command writes outside the store is whole, or it is not there.

The commands are killed at many moments, meet a full disk, and run again afterwards.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from effort import times

from session_memory.config import Config
from session_memory.core.errors import CopyUnfinished, UnsafePath
from session_memory.learn.train.examples import ExampleFilter
from session_memory.learn.train.export import export as export_training
from session_memory.memory.exporting import transcript_text, write_new_file
from session_memory.retain import lake
from session_memory.retain.native_files import restore_native
from session_memory.retain.portable_file import export_store
from session_memory.retain.portable_import import import_store
from session_memory.store.copying import copy_everything
from session_memory.store.private_files import is_unfinished, sweep_unfinished, whole_file
from session_memory.store.store import Store, copy_target, open_store
from session_memory.testing.killing import run_and_kill
from session_memory.testing.stores import Stores
from session_memory.views.transcript_items import TranscriptOptions

from .conftest import Memory, collect
from .logs import log, rounds, uuid
from .test_full_disk import Disk, disk

__all__ = ["disk"]
MOMENTS = {"sqlite": times(6), "postgresql": times(2)}
SESSIONS = 3


@dataclass(frozen=True)
class Writer:
    """A command that writes ``name``, and what is compared to know that it is whole."""

    name: str
    write: Callable[[Store, Path], Any]
    contents: Callable[[Path], object]


def _restore(store: Store, target: Path) -> None:
    restore_native(store, None, target, only_missing=True)


def _transcript(store: Store, target: Path) -> None:
    uid = store.sessions.uids()[0]
    write_new_file(
        target, transcript_text(store, [uid], "html", TranscriptOptions(), redacted=True)
    )


def _training(store: Store, target: Path) -> None:
    sessions = [store.sessions.get(uid) for uid in store.sessions.uids()]
    export_training(store, [one for one in sessions if one], ExampleFilter(), target)


def _copy(store: Store, target: Path) -> None:
    with copy_target(target) as new:
        copy_everything(store, new)


def _files(target: Path) -> dict[str, str]:
    """The hash of each file that an agent or a reader would take for one."""
    files = [target] if target.is_file() else target.rglob("*")
    return {
        str(file.relative_to(target.parent)): sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.is_file() and not any(is_unfinished(part) for part in file.parts)
    }


def _fingerprint(target: Path) -> str:
    with open_store(target, create=False) as store:
        return store.fingerprint()


def _imported(target: Path) -> object:
    with open_store(":memory:") as store:
        return import_store(store, target, Config()).sources, store.fingerprint()


WRITERS = {
    writer.name: writer
    for writer in (
        Writer("logs", _restore, _files),
        Writer("backup.db", Store.backup, _fingerprint),
        Writer("copy.db", _copy, _fingerprint),
        Writer("all.smx", export_store, _imported),
        Writer("transcript.html", _transcript, _files),
        Writer("training", _training, _files),
        Writer("lake", lake.export, _files),
    )
}


@pytest.fixture
def filled(memory: Memory) -> Memory:
    for number in range(SESSIONS):
        log(memory.root, uuid("s", number), rounds(uuid("s", number), 3))
    memory.sync()
    return memory


# The others are written by the same code, whichever database the store is in.
ON_BOTH = ("logs", "copy.db", "all.smx")


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [n if n in ON_BOTH else pytest.param(n, marks=pytest.mark.only("sqlite")) for n in WRITERS],
)
def test_killed_at_any_moment_it_leaves_nothing_that_looks_whole(
    filled: Memory, tmp_path: Path, database: str, name: str
) -> None:
    writer, whole = WRITERS[name], tmp_path / "whole"
    whole.mkdir()
    (tmp_path / "warm").mkdir()
    moments = MOMENTS[database]
    if name == "lake":
        # pyarrow starts threads, which do not survive a fork; so each fork imports a lot.
        moments = max(1, moments // 4)
    else:
        with filled.opened() as store:
            writer.write(store, tmp_path / "warm" / name)
    calls = _run(writer, filled.where, whole / name)
    expected = writer.contents(whole / name)
    for moment in range(moments):
        place = tmp_path / f"killed-{moment}"
        place.mkdir()
        # The last moments are the interesting ones: the file is complete but not named yet.
        at = calls - moment if moment % 2 else calls * (moment + 1) // (moments + 1)
        _run(writer, filled.where, place / name, at)
        _check_parts(writer, place / name, expected)
        if name in ("logs", "lake") or not (place / name).exists():
            _run(writer, filled.where, place / name)
        else:
            sweep_unfinished(place)
        assert writer.contents(place / name) == expected
        assert [file.name for file in place.rglob(".*") if is_unfinished(file.name)] == []


def _check_parts(writer: Writer, target: Path, expected: object) -> None:
    """Each file that is there is one of those of an undisturbed run."""
    if not target.exists():
        return
    found = writer.contents(target)
    if isinstance(found, dict) and isinstance(expected, dict):
        assert found.items() <= expected.items()
        assert writer.name in ("logs", "lake") or found == expected
    else:
        assert found == expected


def _run(writer: Writer, place: str, target: Path, at: int = 0) -> int:
    """Write in a fork that is killed at its ``at``-th call. Returns the number of calls."""

    @contextmanager
    def prepared() -> Iterator[Callable[[], object]]:
        with open_store(place, durability="normal") as store:
            yield lambda: writer.write(store, target)

    return run_and_kill(prepared, at)


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_nothing_that_looks_whole(
    filled: Memory, disk: Disk, tmp_path: Path, name: str
) -> None:
    writer = WRITERS[name]
    with filled.opened() as store:
        writer.write(store, tmp_path / name)
        expected = writer.contents(tmp_path / name)
        target = disk.place / name
        if name == "lake":
            # Its directories need room of their own.
            target.mkdir()
        filler = disk.fill()
        with pytest.raises(Exception) as caught:
            writer.write(store, target)
        assert not isinstance(caught.value, UnsafePath)
        _check_parts(writer, target, expected)
        filler.unlink()
        writer.write(store, target)
    assert writer.contents(target) == expected
    assert [file for file in disk.place.rglob(".*") if is_unfinished(file.name)] == []


def test_a_killed_copy_to_a_store_that_exists_is_refused_until_it_is_copied_again(
    filled: Memory, tmp_path: Path, stores: Stores
) -> None:
    """On a server the target cannot be a file with another name, so it has a mark."""
    target = stores.place("target")
    open_store(target).close()

    def half(store: Store, where: Path) -> None:
        with copy_target(target) as new:
            copy_everything(store, new, lambda size: os.kill(os.getpid(), signal.SIGKILL))

    _run(Writer("target", half, _files), filled.where, tmp_path / "unused")
    with pytest.raises(CopyUnfinished) as caught:
        open_store(target)
    assert "store copy" in (caught.value.hint or "")
    with filled.opened() as store, copy_target(target) as new:
        copy_everything(store, new)
    with open_store(target) as new:
        assert new.fingerprint() == filled.fingerprint()


def test_a_copy_that_fails_leaves_an_empty_store_that_can_be_used(
    filled: Memory, stores: Stores
) -> None:
    target = stores.place("target")
    open_store(target).close()

    def fail(size: int) -> None:
        raise KeyboardInterrupt

    with (
        filled.opened() as store,
        pytest.raises(KeyboardInterrupt),
        copy_target(target) as new,
    ):
        copy_everything(store, new, fail)
    with open_store(target) as new:
        assert new.sessions.uids() == []


# ---------------------------------------------------------------- what killed runs leave


@pytest.mark.only("sqlite")
def test_a_file_that_is_being_written_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "file"
    with whole_file(target) as file:
        file.write(b"half")
        sweep_unfinished(tmp_path)
        assert len(list(tmp_path.iterdir())) == 1 and not target.exists()
    assert target.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.only("sqlite")
def test_only_our_own_leftovers_are_removed(tmp_path: Path) -> None:
    other = tmp_path / "important"
    other.write_text("keep me")
    (tmp_path / ".x.1-1.session-memory.part").symlink_to(other)
    (tmp_path / "x.1-1.session-memory.part").touch()
    (tmp_path / ".x.part").touch()
    os.mkfifo(tmp_path / ".pipe.1-1.session-memory.part")
    left = tmp_path / ".x.1-2.session-memory.part"
    left.mkdir()
    (left / "y.db").touch()
    sweep_unfinished(tmp_path)
    sweep_unfinished(tmp_path / "nowhere")
    assert not left.exists()
    assert len(list(tmp_path.iterdir())) == 5 and other.read_text() == "keep me"


@pytest.mark.only("sqlite")
def test_the_longest_name_that_a_file_may_have_is_written(tmp_path: Path) -> None:
    target = tmp_path / ("ä" * 127)
    with whole_file(target) as file:
        file.write(b"x")
    assert target.read_bytes() == b"x"
    with pytest.raises(UnsafePath), whole_file(target) as file:
        pass


@pytest.mark.only("sqlite")
def test_what_a_killed_restore_left_is_no_log(memory: Memory) -> None:
    project = memory.root / ".claude" / "projects" / "p"
    path = log(project.parent, uuid("s"), rounds(uuid("s"), 1), project="p")
    spilled = project / path.stem / "tool-results"
    spilled.mkdir(parents=True)
    (spilled / ".b1.txt.77-1.session-memory.part").write_text("half of it")
    with memory.opened() as store:
        collect(store, memory.root)
        assert [Path(row.path).name for row in store.sources.every()] == [path.name]
