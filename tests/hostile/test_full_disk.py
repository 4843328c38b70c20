"""No room to write, or no right to: an error with a hint, and nothing lost.

Small file systems need a mount, so those tests run as root alone; the others limit the size of
files instead, which a user without a mount meets as a quota.
"""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import times

from session_memory.core.errors import StoreError
from session_memory.retain.verification import verify
from session_memory.store.store import open_store

from .conftest import Memory, assert_sound, collect, fresh_fingerprint, run_child
from .logs import append, corpus, encoded, log, put, rounds, uuid

pytestmark = pytest.mark.only("sqlite")

ROOM = 64


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def mount(self, options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.place)]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False

    def change(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(self.place)], check=True)

    def fill(self) -> Path:
        """Use up every byte that is left."""
        filler = self.place / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(64 * 1024)):
                    pass
            except OSError:
                pass
        return filler


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    place = tmp_path / "small"
    place.mkdir()
    disk = Disk(place)
    if not disk.mount("size=1400k"):
        pytest.skip("only root may mount a small file system here")
    yield disk
    subprocess.run(["umount", "-l", str(place)], check=True)


def on(disk: Disk, memory: Memory) -> Memory:
    """The same logs with a store on the small disk."""
    return Memory(memory.root, disk.place / "store" / "memory.db")


def failure(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """What a failed child said: an error of ours with a hint, never a traceback."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["hint"], told
    return told  # type: ignore[no-any-return]


def assert_as_fresh(memory: Memory) -> None:
    """The store is the one that an undisturbed sync makes. It is too large to check all of it."""
    with memory.opened() as store:
        assert store.fingerprint() == fresh_fingerprint(memory.root)
        assert_sound(store, sample=5)


# ---------------------------------------------------------------- a small disk


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sync", "sync_in_small_steps"])
def test_a_first_load_that_does_not_fit_says_so_and_goes_on_when_there_is_room(
    memory: Memory, disk: Disk, task: str
) -> None:
    put(corpus(memory.root, 40, 8000))
    small = on(disk, memory)
    for _ in range(2):
        assert failure(run_child(task, small.root, small.path))["kind"] == "store_full"
    disk.change(f"size={ROOM}m")
    small.sync()
    assert_as_fresh(small)


@pytest.mark.slow
def test_a_store_that_fills_its_disk_stays_readable_and_whole(memory: Memory, disk: Disk) -> None:
    files = corpus(memory.root, 40, 8000)
    put(files[:6])
    small = on(disk, memory)
    small.sync()
    put(files)
    told = failure(run_child("sync", small.root, small.path))
    assert told["kind"] == "store_full"
    with small.opened() as store:
        assert store.sessions.every()
        interrupted = "a sync was interrupted; run: session-memory sync"
        assert [f for f in verify(store).findings if not f.endswith(interrupted)] == []
    disk.change(f"size={ROOM}m")
    small.sync()
    assert_as_fresh(small)


def test_a_disk_without_a_single_byte_left_is_said_to_be_full(memory: Memory, disk: Disk) -> None:
    log(memory.root, uuid("s"), rounds(uuid("s"), 1))
    filler = disk.fill()
    small = on(disk, memory)
    assert failure(run_child("sync", small.root, small.path))["kind"] == "store_full"
    filler.unlink()
    small.sync()
    small.assert_sound()


def test_a_store_on_a_disk_that_others_filled_is_said_to_have_no_room(
    memory: Memory, disk: Disk
) -> None:
    session = uuid("s")
    path = log(memory.root, session, rounds(session, 2))
    small = on(disk, memory)
    small.sync()
    before = small.fingerprint()
    filler = disk.fill()
    append(path, rounds(session, 2, start=8))
    assert failure(run_child("sync", small.root, small.path))["kind"] == "store_full"
    filler.unlink()
    assert small.fingerprint() == before
    small.sync()
    small.assert_sound()


def test_a_disk_without_room_for_another_file_is_no_missing_store(
    memory: Memory, disk: Disk
) -> None:
    session = uuid("s")
    path = log(memory.root, session, rounds(session, 2))
    small = on(disk, memory)
    small.sync()
    # The root, the directory, the store and its lock are there; a log beside it is one too many.
    disk.change(f"nr_inodes={1 + len(list(disk.place.rglob('*')))}")
    append(path, rounds(session, 2, start=8))
    assert failure(run_child("sync", small.root, small.path))["kind"] != "store_not_found"


def test_a_backup_that_does_not_fit_leaves_nothing_behind(memory: Memory, disk: Disk) -> None:
    put(corpus(memory.root, 40, 8000))
    memory.sync()
    with memory.opened() as store:
        assert memory.path.stat().st_size > 100_000
        disk.fill()
        target = disk.place / "backup.db"
        with pytest.raises(StoreError) as caught:
            store.backup(target)
        assert caught.value.hint
        assert not target.exists()


# ---------------------------------------------------------------- a limit on the size of files


@pytest.mark.slow
@pytest.mark.parametrize("task", ["first", "incremental"])
def test_a_limit_on_the_size_of_files_is_an_error_with_a_hint(memory: Memory, task: str) -> None:
    files = corpus(memory.root, 30, 8000)
    if task == "incremental":
        put(files[:12])
        memory.sync()
    put(files)
    already = memory.path.stat().st_size if memory.path.exists() else 0
    chance = random.Random(task)
    statuses = []
    for _ in range(times(3)):
        largest = already // 2 + chance.randrange(20_000, 600_000)
        done = run_child("sync_limited", memory.root, memory.path, largest)
        statuses.append(done.returncode)
        if done.returncode:
            failure(done)
    assert any(statuses), "no limit was reached"
    memory.sync()
    assert_as_fresh(memory)


def test_a_log_that_cannot_grow_any_more_stops_a_sync_and_not_the_next(memory: Memory) -> None:
    session = uuid("s")
    path = log(memory.root, session, rounds(session, 2))
    memory.sync()
    with path.open("ab") as file:
        for n in range(40):
            chance = random.Random(n)
            text = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
            file.write(encoded(rounds(session, 1, start=100 + 4 * n)[0] | {"content": text}))
    done = run_child("sync_limited", memory.root, memory.path, 200_000)
    told = failure(done)
    assert told["kind"] in ("store_full", "store_error")
    memory.sync()
    memory.assert_sound()


# ---------------------------------------------------------------- no right to write


def test_a_store_on_a_read_only_disk_cannot_be_added_to(memory: Memory, disk: Disk) -> None:
    session = uuid("s")
    path = log(memory.root, session, rounds(session, 2))
    small = on(disk, memory)
    small.sync()
    content = small.path.read_bytes()
    append(path, rounds(session, 2, start=8))
    disk.change("ro")
    told = failure(run_child("sync", small.root, small.path))
    assert told["kind"] not in ("store_not_found", "store_damaged"), told
    assert small.path.read_bytes() == content
    disk.change("rw")
    small.sync()
    small.assert_sound()


def test_a_store_cannot_be_created_on_a_read_only_disk(memory: Memory, disk: Disk) -> None:
    disk.change("ro")
    told = failure(run_child("sync", memory.root, disk.place / "store" / "memory.db"))
    assert told["kind"] != "store_damaged", told


@pytest.mark.parametrize("mode", ["file", "directory", "both"])
def test_a_store_without_permission_to_write_cannot_be_added_to(
    memory: Memory, unprivileged: tuple[str, ...], mode: str
) -> None:
    session = uuid("s")
    path = log(memory.root, session, rounds(session, 2))
    memory.sync()
    content = memory.path.read_bytes()
    append(path, rounds(session, 2, start=8))
    memory.path.chmod(0o400 if mode in ("file", "both") else 0o600)
    memory.path.parent.chmod(0o500 if mode in ("directory", "both") else 0o700)
    try:
        done = run_child("sync", memory.root, memory.path, before=unprivileged)
    finally:
        memory.path.parent.chmod(0o700)
        memory.path.chmod(0o600)
    assert failure(done)["kind"] not in ("store_not_found", "store_damaged")
    assert memory.path.read_bytes() == content
    memory.sync()
    memory.assert_sound()


def test_a_store_that_may_not_be_read_is_an_error_with_a_hint(
    memory: Memory, unprivileged: tuple[str, ...]
) -> None:
    log(memory.root, uuid("s"), rounds(uuid("s"), 2))
    memory.sync()
    memory.path.chmod(0)
    done = run_child("sync", memory.root, memory.path, before=unprivileged)
    memory.path.chmod(0o600)
    assert failure(done)["kind"] not in ("store_not_found", "store_damaged")


def test_what_a_full_disk_rolled_back_is_forgotten_by_the_same_store(
    memory: Memory, disk: Disk
) -> None:
    """A program that goes on with the same store object writes what a new one would."""
    put(corpus(memory.root, 40, 8000))
    small = on(disk, memory)
    with open_store(small.path) as store:
        with pytest.raises(StoreError):
            collect(store, memory.root)
        disk.change(f"size={ROOM}m")
        collect(store, memory.root)
        assert verify(store).findings == []
    assert_as_fresh(small)
