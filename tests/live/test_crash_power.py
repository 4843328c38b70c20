"""The power fails after 500 acknowledged appends, and at moments before.

A child works on a disk that records everything (``disk.c``); the disk that a cut leaves is built
from the record again and again: with nothing that was not synced, and with any mixture of it.

``SESSION_MEMORY_CUTS`` asks for more cuts than the suite has time for.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from session_memory.core.live_errors import UnknownLiveSession
from session_memory.live.store import SessionStore
from session_memory.retain.verification import verify
from session_memory.store.store import open_store

from .disk import Change, Disk, NoCompiler, changes, compiled, in_memory, under
from .processes import run, said
from .story import Seen, Storyteller

APPENDS = 500
STEPS = 150
CUTS = int(os.environ.get("SESSION_MEMORY_CUTS", "12"))
STORE = Path("new") / "place" / "memory.db"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return compiled(tmp_path_factory.mktemp("disk"))
    except NoCompiler as missing:
        pytest.skip(f"NO POWER CUT IS TESTED: {missing}")


class Recorded:
    """All that a task did to a disk, and what it said."""

    def __init__(
        self, library: Path, scratch: Path, task: str, durability: str, count: int
    ) -> None:
        self.durability = durability
        self._root, journal = scratch / "disk", scratch / "journal"
        self._root.mkdir()
        disk = under(library, self._root, journal)
        self.said = said(run(task, self._root / STORE, durability, count, **disk))
        self._changes: list[Change] = list(changes(journal))

    def until(self, acknowledged: int) -> Disk:
        """The disk as soon as so much was acknowledged; closing comes later, and syncs."""
        disk = Disk(self._root)
        for change in self._changes:
            disk.take(change)
            if disk.acknowledged == acknowledged:
                break
        return disk

    def at_any_moment(self, chance: random.Random) -> Iterator[tuple[int, Disk]]:
        places = range(len(self._changes))
        moments = set(chance.sample(places, min(CUTS, len(places))))
        disk = Disk(self._root)
        for number, change in enumerate(self._changes):
            disk.take(change)
            if number in moments:
                yield number, disk


@pytest.fixture(scope="module", params=["full", "crowded", "normal"])
def appended(request: Any, library: Path) -> Iterator[Recorded]:
    with in_memory() as scratch:
        yield Recorded(library, scratch, "append_on_a_disk", request.param, APPENDS)


@pytest.fixture(scope="module", params=["full", "normal"])
def recording(request: Any, library: Path) -> Iterator[Recorded]:
    """Appends, folds and rewinds."""
    with in_memory() as scratch:
        yield Recorded(library, scratch, "tell_on_a_disk", request.param, STEPS)


@pytest.fixture
def scratch() -> Iterator[Path]:
    with in_memory() as directory:
        yield directory


def survivors(place: Path) -> int:
    """How many messages are left after a cut: an unbroken row from the first on, each whole."""
    with SessionStore.open(place / STORE) as store:
        try:
            found = [(m.seq, m.content) for m in store.load_path("s")]
        except UnknownLiveSession:
            found = []
            store.create_session(session_id="s")
        whole = [(n, f"message {n} " + "x" * 900) for n in range(1, len(found) + 1)]
        assert found == whole
        assert store.append_message("s", role="user", content="after the cut") == len(found) + 1
    with open_store(place / STORE) as store:
        assert verify(store).findings == []
    return len(found)


def test_after_a_cut_at_the_end_every_acknowledged_message_is_there(
    appended: Recorded, scratch: Path
) -> None:
    appended.until(APPENDS).cut(scratch / "cut", random.Random(0))
    left = survivors(scratch / "cut")
    print(f"{appended.durability}: {left} of {APPENDS} survive")
    assert left < APPENDS if appended.durability == "normal" else left == APPENDS


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.97])
def test_after_a_cut_at_any_moment_the_messages_are_an_unbroken_row(
    appended: Recorded, scratch: Path, kept: float
) -> None:
    chance = random.Random(kept)
    for number, disk in appended.at_any_moment(chance):
        disk.cut(scratch / str(number), chance, kept)
        left = survivors(scratch / str(number))
        # One more may be on disk than the caller was told of.
        assert left <= disk.acknowledged + 1
        assert appended.durability == "normal" or left >= disk.acknowledged


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.97])
def test_after_a_cut_at_any_moment_a_session_is_as_it_was_between_two_steps(
    recording: Recorded, scratch: Path, kept: float
) -> None:
    chance = random.Random(kept)
    states = after_each_step(recording.said)
    for number, disk in recording.at_any_moment(chance):
        place = scratch / str(number)
        disk.cut(place, chance, kept)
        with SessionStore.open(place / STORE) as store:
            found = {name: seen for name in states[-1] if (seen := Seen.of(store, name))}
            assert store._db.check() == []
        least = disk.acknowledged if recording.durability == "full" else 0
        assert found in states[least : disk.acknowledged + 2]


def after_each_step(steps: list[Any]) -> list[dict[str, Seen]]:
    """What a reader finds before the first step and after each."""
    teller = Storyteller("", random.Random())
    states: list[dict[str, Seen]] = [{}]
    for step in steps:
        teller.took(step)
        changed = step["session"]
        states.append({**states[-1], changed: teller.models[changed].seen()})
    return states
