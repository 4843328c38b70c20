"""The session that carries out an accepted plan is found from the one that made it."""

import pytest

from session_memory import Memory
from session_memory.cli.commands.look.digest import _head
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import collect
from session_memory.testing.stores import Stores

HOUR = 3600 * 1000


def planned(claude: ClaudeHome, plan: str) -> ClaudeLog:
    log = claude.session("planning")
    log.prompt("plan a door")
    log.answer(call("ExitPlanMode", plan=plan))
    log.reject()
    log.interrupt(during_tool=True)
    return log


def begun(claude: ClaudeHome, name: str, plan: str, after_ms: int, cwd: str | None = None) -> None:
    log = claude.session(name)
    log.cwd = cwd or log.cwd
    log.clock.tick(after_ms)
    log.prompt(f"Implement the following plan:\n\n{plan}", planContent=plan)
    log.answer("done")


def found(claude: ClaudeHome, stores: Stores) -> str | None:
    with Memory(stores.place("memory")) as memory:
        collect(memory.store, claude.write())
        memory.analyze()
        shown = memory.session("claude:planning").digest()
        assert shown.digest.outcome.outcome == "continued"
        assert shown.to_dict()["continued_in"] == shown.continued_in
        return shown.continued_in


def test_it_is_found_by_the_words_of_the_plan(claude: ClaudeHome, stores: Stores) -> None:
    plan = "# Plan: a red door for the house at the end of the street\n\n## Why\n\nIt is grey."
    planned(claude, plan)
    begun(claude, "other", "# Plan: a green gate for the garden", HOUR)
    begun(claude, "built", plan, HOUR)
    begun(claude, "again", plan, HOUR)
    assert found(claude, stores) == "claude:built"


@pytest.mark.only("sqlite")
def test_else_by_the_place_and_the_moment(claude: ClaudeHome, stores: Stores) -> None:
    planned(claude, "# A door")
    begun(claude, "elsewhere", "# Paint for the house", 5_000, cwd="/home/mira/code/other")
    begun(claude, "next", "# Paint for the door", 5_000)
    begun(claude, "later", "# Paint for the gate", HOUR)
    assert found(claude, stores) == "claude:next"


@pytest.mark.only("sqlite")
def test_without_such_a_session_there_is_none(claude: ClaudeHome, stores: Stores) -> None:
    planned(claude, "# A door")
    assert found(claude, stores) is None


@pytest.mark.only("sqlite")
def test_the_page_says_that_nobody_carries_the_plan_out(claude: ClaudeHome) -> None:
    planned(claude, "# A door")
    with Memory(":memory:") as memory:
        collect(memory.store, claude.write())
        memory.analyze()
        lines = list(_head(memory.session("claude:planning").digest().digest, None, []))
    assert any("in no session of this store" in line for line in lines)
