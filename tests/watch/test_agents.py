"""Every agent's sessions, written piece by piece beside a watch, come to what one sync gives."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from effort import times

from .conftest import Memory
from .watching import Watching

DATA = Path(__file__).parents[1] / "data"
# Recordings of one agent are written side by side, as by an agent at work on several things.
AGENTS = sorted({path.parents[1].name for path in DATA.glob("*/*/home")})
# Of an agent with many recordings, some: each shows the watch the same kinds of files.
MOST = times(7)
# How often the test waits until the watch has read all that is there: half lines, half sessions.
WAITS = times(5)


def chosen(agent: str) -> list[Path]:
    """Recordings of an agent, from the first to the last of them."""
    found = sorted(path.parent for path in (DATA / agent).glob("*/home"))
    return found[:: -(-len(found) // MOST)]


def pieces(agent: str, root: Path) -> Iterator[tuple[Path, bytes]]:
    """What to append to which file below ``root``, in any order.

    A log is three pieces, cut anywhere. A document is one.
    """
    recordings = DATA / agent
    files = sorted(path for one in chosen(agent) for path in one.rglob("*") if path.is_file())
    waiting = [(path, 0) for path in files if path.name != "EXPECTED.json"]
    chance = random.Random(recordings.name)
    while waiting:
        path, start = waiting.pop(chance.randrange(len(waiting)))
        data = path.read_bytes()
        end = start + len(data) // 3 + 1 if path.suffix == ".jsonl" else len(data)
        yield root / path.relative_to(recordings), data[start:end]
        if end < len(data):
            waiting.append((path, end))


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("agent", AGENTS)
def test_sessions_written_in_pieces_arrive_as_they_are(
    agent: str, memory: Memory, watch: Callable[..., Watching]
) -> None:
    following = watch()
    written = list(pieces(agent, memory.root))
    every = len(written) // WAITS + 2
    for number, (path, data) in enumerate(written, start=1):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
        # Now all that came in a while at once, now one piece alone.
        if number % every in (0, 1):
            memory.wait_until_all_is_read()
    memory.assert_as_if_synced_once()
    with memory.opened() as store:
        assert len(store.sessions.uids()) >= len(chosen(agent))
    assert not [said for said in following.stop() if said["event"] == "error"]
