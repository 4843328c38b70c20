"""A home with logs of every agent is synced, and the second sync finds nothing new."""

import sys
from pathlib import Path

import pytest

from session_memory import Memory
from session_memory.adapters.registry import flavors

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from agents_home import WITHOUT_LOGS, make_home

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.no_store]


def test_a_home_with_every_agent_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    make_home(home)
    monkeypatch.setenv("HOME", str(home))
    with Memory(tmp_path / "memory.db") as memory:
        first = memory.sync()
        assert not first.failed
        # aider's history is found where a session worked that the first sync collected.
        second = memory.sync()
        missing = {*flavors()} - {*WITHOUT_LOGS} - {*first.by_flavor, *second.by_flavor}
        assert not missing, f"put logs of {missing} into tests/data/<flavor>/<scenario>/home"
        assert (second.ingested, second.by_flavor["aider"]) == (1, 1)
        third = memory.sync()
        assert (third.ingested, third.unchanged) == (0, third.discovered)
