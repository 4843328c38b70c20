"""Every agent's sessions, written piece by piece beside a watch, come to what one sync gives."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Memory
from .watching import Watching

DATA = Path(__file__).parents[1] / "data"
RECORDINGS = sorted(path for path in DATA.glob("[a-z]*/*") if path.is_dir())


def pieces(recording: Path, root: Path) -> Iterator[None]:
    """Write a recording below ``root``: logs in three pieces, cut anywhere, documents at once."""
    files = sorted(path for path in recording.rglob("*") if path.is_file())
    waiting = [(path, 0) for path in files if path.name != "EXPECTED.json"]
    chance = random.Random(recording.name)
    while waiting:
        path, start = waiting.pop(chance.randrange(len(waiting)))
        data, target = path.read_bytes(), root / path.relative_to(recording)
        end = start + len(data) // 3 + 1 if path.suffix == ".jsonl" else len(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab") as file:
            file.write(data[start:end])
        if end < len(data):
            waiting.append((path, end))
        yield


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(
    "recording", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_session_written_in_pieces_arrives_as_it_is(
    recording: Path, memory: Memory, watch: Callable[..., Watching]
) -> None:
    following = watch()
    for _ in pieces(recording, memory.root):
        memory.wait_until_all_is_read()
    memory.assert_as_if_synced_once()
    assert not [said for said in following.stop() if said["event"] == "error"]
