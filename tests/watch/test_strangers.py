"""Which paths are worth a look at a whole root, and when; on a clock of the test's own."""

from pathlib import Path

import pytest

from session_memory.collect import unknown_paths as module
from session_memory.collect.unknown_paths import Strangers
from session_memory.collect.watch import eventless

NOISE = Path("/logs/debug.txt")


def test_a_path_that_led_to_nothing_is_left_alone_twice_as_long_each_time() -> None:
    strangers, looks, now = Strangers(), [], 0.0
    while now < 1200:
        strangers.met([NOISE], now)
        if strangers.ready(now):
            looks.append(now)
            strangers.looked([NOISE], found=False, now=now, rest=0)
        now += 0.125
    gaps = [later - earlier for earlier, later in zip(looks, looks[1:], strict=False)]
    assert gaps == [0.25 * 2**number for number in range(len(gaps))]
    assert len(looks) < 15


def test_what_changes_while_it_is_left_alone_is_looked_at_afterwards() -> None:
    strangers = Strangers()
    strangers.met([NOISE], 0)
    strangers.looked([NOISE], found=False, now=0, rest=0)
    strangers.met([NOISE], 0.1)
    assert strangers.ready(0.2) == []
    assert strangers.ready(0.25) == [NOISE]


def test_a_path_that_led_to_something_is_looked_at_at_once_again() -> None:
    strangers = Strangers()
    for now in (0.0, 0.01, 0.02):
        strangers.met([NOISE], now)
        assert strangers.ready(now) == [NOISE]
        strangers.looked([NOISE], found=True, now=now, rest=0)


def test_after_a_long_look_there_is_a_rest() -> None:
    strangers, other = Strangers(), Path("/logs/other")
    strangers.met([NOISE], 0)
    strangers.looked([NOISE], found=True, now=1.0, rest=3.0)
    strangers.met([other], 1.5)
    assert strangers.ready(3.9) == []
    assert strangers.ready(4.0) == [other]


def test_a_new_directory_is_looked_at_a_second_time(tmp_path: Path) -> None:
    """Files may have been put there before anybody watched it."""
    strangers = Strangers()
    strangers.met([tmp_path], 0)
    strangers.looked([tmp_path], found=False, now=0, rest=0)
    assert strangers.ready(0.9) == []
    assert strangers.ready(1.0) == [tmp_path]
    strangers.looked([tmp_path], found=False, now=1.0, rest=0)
    assert strangers.ready(1000) == []


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KNOWN", 10)
    strangers = Strangers()
    for number in range(100):
        path = Path(f"/logs/{number}")
        strangers.met([path], 0)
        strangers.looked([path], found=False, now=0, rest=0)
    assert len(strangers._waits) == 10
    assert strangers._due == {}


def test_everything_seen_leaves_nothing_due() -> None:
    strangers = Strangers()
    strangers.met([NOISE], 0)
    strangers.all_seen()
    assert strangers.ready(1) == []


def test_a_network_mount_is_polled(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / ext4 rw 0 0\nserver:/x /mnt/share nfs4 rw 0 0\n")
    assert eventless([Path("/home/me/.claude")], mounts) == ""
    assert eventless([Path("/home/me"), Path("/mnt/share/.claude")], mounts) == (
        "nfs4 gives no events"
    )
