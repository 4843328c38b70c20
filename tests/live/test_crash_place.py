"""A clock that jumps, a disk without room, a place that may only be looked at: clear errors, and
nothing lost."""

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from session_memory.core import time
from session_memory.core.errors import StoreError, StoreFull
from session_memory.core.live_errors import LeaseHeld, LeaseLost
from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.store import open_store
from session_memory.testing.stores import Stores

from .processes import run, said
from .story import Seen, Storyteller, perform

YEAR_NS = 366 * 86_400 * 1_000_000_000
NOW_NS = 1_800_000_000_000_000_000
CLOCKS = {
    "back and forth": (NOW_NS, NOW_NS - YEAR_NS, NOW_NS + YEAR_NS, NOW_NS - 1_000_000),
    "backwards": range(NOW_NS, 0, -YEAR_NS // 50),
    "standing still": (NOW_NS,),
    "never set": (0,),
    "far ahead": (7_900 * YEAR_NS,),
}


def assert_sound(place: str | Path) -> None:
    with open_store(place) as store:
        assert verify(store).findings == []


# ---------------------------------------------------------------- clocks


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda moment: monkeypatch.setattr(time, "time_ns", lambda: moment)


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_order_of_a_session_does_not_depend_on_the_clock(
    stores: Stores, set_clock: Callable[[int], None], clock: str
) -> None:
    teller, moments = Storyteller("told", random.Random(clock)), cycle(CLOCKS[clock])
    place = stores.place("clock")
    with SessionStore.open(place) as store:
        for _ in range(60):
            set_clock(moment := next(moments))
            step = teller.next_step()
            assert perform(store, step) == teller.took(step)
            session = store.get_session(step["session"])
            assert session is not None
            assert session.updated_at == moment // 1_000_000
        for session_id, model in teller.models.items():
            assert Seen.of(store, session_id) == model.seen()
            everything = [message.seq for message in store.messages_after(session_id, 0)]
            assert everything == list(range(1, model.next))
        assert {row.session_id for row in store.list_sessions()} == set(teller.models)
    assert_sound(place)


def test_a_clock_that_jumps_gives_the_right_to_write_to_one_at_a_time(
    stores: Stores, set_clock: Callable[[int], None]
) -> None:
    with SessionStore.open(stores.place("clock")) as store:
        session = store.create_session()
        set_clock(NOW_NS)
        first = store.acquire_lease(session, "first")
        set_clock(NOW_NS + YEAR_NS)
        second = store.acquire_lease(session, "second")
        assert second.fence > first.fence
        set_clock(NOW_NS - YEAR_NS)
        with pytest.raises(LeaseLost):
            store.append_message(session, role="user", content="late", fence=first.fence)
        store.append_message(session, role="user", content="mine", fence=second.fence)
        renewed = store.renew_lease(second)
        set_clock(NOW_NS - 2 * YEAR_NS)
        store.append_message(session, role="user", content="still mine", fence=renewed.fence)
        store.release_lease(renewed)
        assert store.acquire_lease(session, "first").fence > renewed.fence
        assert [m.content for m in store.load_path(session)] == ["mine", "still mine"]


def test_a_lease_is_refused_to_others_with_the_time_it_has_left(
    stores: Stores, set_clock: Callable[[int], None]
) -> None:
    with SessionStore.open(stores.place("clock")) as store:
        session = store.create_session()
        set_clock(NOW_NS)
        store.acquire_lease(session, "first", ttl_ms=30_000)
        set_clock(NOW_NS + 10_000_000_000)
        with pytest.raises(LeaseHeld) as refused:
            store.acquire_lease(session, "second")
        assert "20.0 s" in str(refused.value.hint)


@pytest.mark.parametrize("ahead_ns", [YEAR_NS, 7_000 * YEAR_NS])
def test_a_lease_taken_on_a_wrong_clock_does_not_wedge_the_session(
    stores: Stores, set_clock: Callable[[int], None], ahead_ns: int
) -> None:
    """Its holder is dead, and the clock has been set right."""
    with SessionStore.open(stores.place("clock")) as store:
        session = store.create_session()
        set_clock(NOW_NS + ahead_ns)
        lost = store.acquire_lease(session, "lost")
        set_clock(NOW_NS)
        assert store.lease_holder(session) is None
        assert store.append_message(session, role="user", content="without a lease") == 1
        found = store.acquire_lease(session, "found")
        assert found.fence > lost.fence
        assert store.append_message(session, role="user", content="x", fence=found.fence) == 2
        with pytest.raises(LeaseLost):
            store.append_message(session, role="user", content="late", fence=lost.fence)


# ---------------------------------------------------------------- disks


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.store = place / "store" / "memory.db"

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
                return filler
        raise AssertionError("a disk that takes everything")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "small")
    disk.place.mkdir()
    if not disk.mount("size=2m"):
        pytest.skip("only root may mount a small file system here")
    yield disk
    subprocess.run(["umount", "-l", str(disk.place)], check=True)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A store with a session ``s`` of three messages."""
    return begin(tmp_path / "store" / "memory.db")


def begin(place: Path) -> Path:
    with SessionStore.open(place) as store:
        store.create_session(session_id="s")
        for _ in range(3):
            store.append_message("s", role="user", content="x")
    return place


def append_until_it_fails(store: SessionStore, size: int = 20_000) -> tuple[list[int], StoreError]:
    acknowledged = []
    while True:
        try:
            text = os.urandom(size // 2).hex()
            acknowledged.append(store.append_message("s", role="user", content=text))
        except StoreError as error:
            return acknowledged, error


@pytest.mark.parametrize("size", [300, 20_000, 200_000])
def test_a_full_disk_refuses_whole_messages_and_loses_none(disk: Disk, size: int) -> None:
    """The same store goes on as soon as there is room."""
    begin(disk.store)
    with SessionStore.open(disk.store) as store:
        acknowledged, error = append_until_it_fails(store, size)
        assert acknowledged
        assert isinstance(error, StoreFull)
        assert error.hint
        assert [m.seq for m in store.load_path("s")] == [1, 2, 3, *acknowledged]
        # As long as what did not fit: a shorter one might.
        note = os.urandom(max(size, 60_000) // 2).hex()
        with pytest.raises(StoreError):
            store.record_compaction("s", from_seq=1, to_seq=3, note_content=note)
        disk.change("size=32m")
        assert store.append_message("s", role="user", content="room") == acknowledged[-1] + 1
        store.record_compaction("s", from_seq=1, to_seq=3, note_content="n" * 60_000)
    assert_sound(disk.store)


def test_a_store_on_a_disk_that_others_filled_says_so_and_loses_nothing(disk: Disk) -> None:
    begin(disk.store)
    filler = disk.fill()
    done = run("append", disk.store, "s", 1)
    assert failure(done)["kind"] == "store_full"
    filler.unlink()
    assert said(run("append", disk.store, "s", 1)) == [{"seq": 4}]
    assert_sound(disk.store)


def test_a_limit_on_the_size_of_files_is_an_error_with_a_hint(begun: Path) -> None:
    for room in (20_000, 150_000, 600_000):
        done = run("append_limited", begun, "s", begun.stat().st_size + room)
        *acknowledged, item = map(json.loads, done.stdout.splitlines())
        assert done.returncode == 1, done.stderr
        assert item["kind"] in ("store_full", "store_error")
        assert item["hint"]
        seqs = said(run("look", begun, "s"))[0]
        assert seqs == list(range(1, len(seqs) + 1))
        assert {line["seq"] for line in acknowledged} <= set(seqs)
        assert said(run("append", begun, "s", 1)) == [{"seq": len(seqs) + 1}]
    assert_sound(begun)


# ---------------------------------------------------------------- places to look at only


def failure(done: "subprocess.CompletedProcess[str]") -> dict[str, str]:
    """What a failed child said last: an error of ours with a hint, never a traceback."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    output: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert output["hint"], output
    return output


@pytest.fixture
def unprivileged() -> tuple[str, ...]:
    """What to put before a command so that permissions hold for it, even when root runs us."""
    if os.geteuid() != 0:
        return ()
    before = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
    try:
        subprocess.run([*before, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root may read and write everything, and setpriv is not installed")
    return before


@pytest.mark.parametrize("kept_from", ["file", "directory", "both"])
def test_a_store_that_may_not_be_written_can_be_read_and_refuses_the_rest(
    begun: Path, unprivileged: tuple[str, ...], kept_from: str
) -> None:
    content = begun.read_bytes()
    begun.chmod(0o400 if kept_from in ("file", "both") else 0o600)
    begun.parent.chmod(0o500 if kept_from in ("directory", "both") else 0o700)
    try:
        output = failure(run("append", begun, "s", 1, before=unprivileged))
        seen = said(run("look", begun, "s", before=unprivileged))
    finally:
        begun.parent.chmod(0o700)
        begun.chmod(0o600)
    assert output["kind"] not in ("store_not_found", "store_damaged")
    assert seen == [[1, 2, 3]]
    assert begun.read_bytes() == content
    assert said(run("append", begun, "s", 1)) == [{"seq": 4}]
    assert_sound(begun)


def test_a_store_on_a_disk_that_became_read_only_can_be_read_and_refuses_the_rest(
    disk: Disk,
) -> None:
    """As Linux does with a disk that has failed."""
    begin(disk.store)
    disk.change("ro")
    output = failure(run("append", disk.store, "s", 1))
    assert output["kind"] not in ("store_not_found", "store_damaged")
    assert said(run("look", disk.store, "s")) == [[1, 2, 3]]
    disk.change("rw")
    assert said(run("append", disk.store, "s", 1)) == [{"seq": 4}]
    assert_sound(disk.store)


def test_a_store_cannot_be_begun_where_nothing_may_be_written(disk: Disk) -> None:
    disk.change("ro")
    output = failure(run("append", disk.store, "s", 1))
    assert output["kind"] not in ("store_not_found", "store_damaged")
