"""A finished call knows its turn, so a detector can count what happened in one turn."""

from pathlib import Path

import pytest

from session_memory.learn.digest.calls import ToolCounts
from session_memory.learn.digest.steps import FinishedCall

from .fleets import SyntheticFleet

pytestmark = pytest.mark.only("sqlite")


def test_a_call_belongs_to_the_last_prompt_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = SyntheticFleet(tmp_path)
    seen: list[tuple[str, int]] = []
    add = ToolCounts.add

    def spied(counts: ToolCounts, finished: FinishedCall) -> None:
        seen.append((finished.call.summary.split()[-1], finished.turn))
        add(counts, finished)

    monkeypatch.setattr(ToolCounts, "add", spied)
    log = fleet.claude.session("s1")
    log.prompt("look at the harbour")
    log.run("ls first", "one")
    log.run("ls second", "two")
    log.prompt("look again")
    log.run("ls third", "three")
    with fleet.learned():
        pass
    assert seen == [("first", 1), ("second", 1), ("third", 2)]
