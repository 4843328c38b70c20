"""Which paths are worth a look at a whole root, and when; on a clock of the test's own."""

from pathlib import Path

import pytest

from session_memory.collect import unknown_paths as module
from session_memory.collect.unknown_paths import UnknownPaths
from session_memory.collect.watch import reason_without_events

NOISE = Path("/logs/debug.txt")


def test_a_path_that_led_to_nothing_is_left_alone_twice_as_long_each_time() -> None:
    unknown, looks, now = UnknownPaths(), [], 0.0
    while now < 1200:
        unknown.add([NOISE], now)
        if unknown.due(now):
            looks.append(now)
            unknown.looked_at([NOISE], found=False, now=now, rest=0)
        now += 0.125
    gaps = [later - earlier for earlier, later in zip(looks, looks[1:], strict=False)]
    assert gaps == [0.25 * 2**number for number in range(len(gaps))]
    assert len(looks) < 15


def test_what_changes_while_it_is_left_alone_is_looked_at_afterwards() -> None:
    unknown = UnknownPaths()
    unknown.add([NOISE], 0)
    unknown.looked_at([NOISE], found=False, now=0, rest=0)
    unknown.add([NOISE], 0.1)
    assert unknown.due(0.2) == []
    assert unknown.due(0.25) == [NOISE]


def test_a_path_that_led_to_something_is_looked_at_at_once_again() -> None:
    unknown = UnknownPaths()
    for now in (0.0, 0.01, 0.02):
        unknown.add([NOISE], now)
        assert unknown.due(now) == [NOISE]
        unknown.looked_at([NOISE], found=True, now=now, rest=0)


def test_after_a_long_look_there_is_a_rest() -> None:
    unknown, other = UnknownPaths(), Path("/logs/other")
    unknown.add([NOISE], 0)
    unknown.looked_at([NOISE], found=True, now=1.0, rest=3.0)
    unknown.add([other], 1.5)
    assert unknown.due(3.9) == []
    assert unknown.due(4.0) == [other]


def test_a_new_directory_is_looked_at_a_second_time(tmp_path: Path) -> None:
    """Files may have been put there before anybody watched it."""
    unknown = UnknownPaths()
    unknown.add([tmp_path], 0)
    unknown.looked_at([tmp_path], found=False, now=0, rest=0)
    assert unknown.due(0.9) == []
    assert unknown.due(1.0) == [tmp_path]
    unknown.looked_at([tmp_path], found=False, now=1.0, rest=0)
    assert unknown.due(1000) == []


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REMEMBERED", 10)
    unknown = UnknownPaths()
    for number in range(100):
        path = Path(f"/logs/{number}")
        unknown.add([path], 0)
        unknown.looked_at([path], found=False, now=0, rest=0)
    assert len(unknown._ignored) == 10
    assert unknown._due == {}


def test_everything_seen_leaves_nothing_due() -> None:
    unknown = UnknownPaths()
    unknown.add([NOISE], 0)
    unknown.clear()
    assert unknown.due(1) == []


def test_a_network_mount_is_polled(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / ext4 rw 0 0\nserver:/x /mnt/share nfs4 rw 0 0\n")
    assert reason_without_events([Path("/home/me/.claude")], mounts) == ""
    assert reason_without_events([Path("/home/me"), Path("/mnt/share/.claude")], mounts) == (
        "nfs4 gives no events"
    )
