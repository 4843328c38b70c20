"""The measure that memory helps: its rules, and that it never sees what it is asked about."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from session_memory import Memory
from session_memory.learn.digest import Resolution
from session_memory.testing.claude import ClaudeHome, ClaudeLog, call
from session_memory.testing.collecting import collect

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import remember_fix  # noqa: E402
import remember_injections  # noqa: E402
import remember_questions  # noqa: E402
import remember_recall  # noqa: E402
from remember_replay import Past, Replay, families  # noqa: E402
from remember_rules import (  # noqa: E402
    chance,
    expected_reciprocal,
    first_useful,
    marks_of,
    same_work,
)

sys.path.remove(str(BENCHMARKS))

pytestmark = pytest.mark.only("sqlite")
REPO = "/home/mira/code/webshop"
ERROR = "NameError: name 'zonal' is not defined"
HOUR = 3_600_000
NOW = 1_800_000_000_000


def failing(log: ClaudeLog, edited: str) -> None:
    """A command fails, a file is edited, and the command passes."""
    log.prompt(f"repair the import of zonal in {edited}")
    trace = f'Traceback (most recent call last):\n  File "{REPO}/{edited}", line 3, in <module>'
    log.run("python main.py", f"{trace}\n{ERROR}", exit_code=1)
    log.answer(
        call(
            "Edit",
            file_path=f"{REPO}/{edited}",
            old_string="import os",
            new_string="import os  # zonal",
        )
    )
    log.result("updated")
    log.run("python main.py", "done")
    log.answer("It runs.")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """What the benchmark asks of four sessions, and what it knew at each."""
    place = tmp_path_factory.mktemp("remember")
    home = ClaudeHome(place / "logs", cwd=REPO)
    first = home.session("first")
    failing(first, "deps.py")
    fork = home.fork(first, "fork")
    home.clock.tick(HOUR)
    failing(fork, "deps.py")
    home.clock.tick(HOUR)
    failing(home.session("second"), "deps.py")
    home.clock.tick(HOUR)
    third = home.session("third")
    failing(third, "other.py")
    third.run("git commit -m 'Import zonal'", "[main 1a2b3c4] Import zonal\n 1 file changed")
    third.answer("Committed.")
    with Memory(place / "whole.db", durability="normal") as memory:
        collect(memory.store, home.write())
        memory.analyze()
        past = Past(memory)
        replay = Replay(past, place / "logs", place / "replay")
        known, errors, prompts, calls = {}, [], [], []
        for session in replay.moments():
            known[session.uid.removeprefix("claude:")] = {
                one.uid.removeprefix("claude:") for one in replay.known
            }
            errors += remember_fix.errors_asked(past, replay, session, NOW)
            prompts += remember_recall.prompts_asked(replay, session)
            hooks = place / "hooks"
            calls += remember_injections.calls_asked(past, replay, session, hooks)
        replay.memory.close()
        yield SimpleNamespace(past=past, known=known, errors=errors, prompts=prompts, calls=calls)


def of(asked: list[Any], name: str) -> Any:
    (one,) = (one for one in asked if one.session.uid == f"claude:{name}")
    return one


def test_nothing_later_and_nothing_of_the_family_is_known(made: SimpleNamespace) -> None:
    assert made.known["first"] == made.known["fork"] == set()
    assert made.known["second"] == {"first", "fork"}
    assert made.known["third"] == {"first", "fork", "second"}


def test_an_answer_is_useful_only_if_it_names_what_resolved_the_error(
    made: SimpleNamespace,
) -> None:
    assert of(made.errors, "first").offered == []
    assert of(made.errors, "second").is_same
    assert of(made.errors, "second").is_useful(1)
    third = of(made.errors, "third")
    assert third.offered and not third.is_useful(5)
    assert third.by_chance(1) == 0 and not third.by_newest(3)
    row = remember_fix.table(made.errors).rows[0].cells
    assert row["answered"] == 2 and row["@1"] == 0.5


def test_a_hook_that_gives_another_fix_counts_as_false(made: SimpleNamespace) -> None:
    assert of(made.calls, "first").given is None
    assert of(made.calls, "second").is_useful
    third = of(made.calls, "third")
    assert "deps.py" in third.given and not third.is_useful
    cells = remember_injections.table(made.calls, []).rows[0].cells
    assert (cells["injected"], cells["useful"], cells["false"]) == (2, 1, 1)


def test_sessions_that_edited_the_same_files_are_relevant_for_a_prompt(
    made: SimpleNamespace,
) -> None:
    second = of(made.prompts, "second")
    assert second.relevant == {"claude:first", "claude:fork"}
    assert second.precision(1) == 1.0
    # With so few sessions there is hardly a choice.
    assert not second.is_counted
    assert of(made.prompts, "third").relevant == frozenset()


def test_questions_have_one_right_answer(made: SimpleNamespace) -> None:
    memory = made.past.memory
    (commit,) = remember_questions.made_commit(made.past)
    assert commit.sessions == ("claude:third",)
    assert remember_questions.answered(memory, commit, NOW).is_right
    wrong = remember_questions.ExactQuestion(
        tool="recall", arguments=commit.arguments, sessions=("claude:first",)
    )
    assert not remember_questions.answered(memory, wrong, NOW).is_right
    arguments = {"query": "zebra frobnicator", "repo": "webshop"}
    nowhere = remember_questions.ExactQuestion(tool="recall", arguments=arguments)
    assert remember_questions.answered(memory, nowhere, NOW).is_right
    known = remember_questions.ExactQuestion(
        tool="recall", arguments={"query": "import of zonal", "repo": "webshop"}
    )
    assert not remember_questions.answered(memory, known, NOW).is_right


@pytest.mark.parametrize(
    ("kind", "text", "marks"),
    [
        ("edit", "/a/x.ts, /b/y.ts", {"file x.ts", "file y.ts"}),
        ("command", "cd web && CI=1 bun run fix --all 2>&1 | tail -5", {"call bun run fix"}),
        ("instead", "python3 -m build", {"call python3 build"}),
        ("again", "", set()),
        ("look", "the same file", set()),
    ],
)
def test_what_a_resolution_comes_down_to(kind: str, text: str, marks: set[str]) -> None:
    assert marks_of(Resolution(kind, text, (), "")) == marks


def test_a_shared_program_alone_is_not_useful() -> None:
    def command(text: str) -> Resolution:
        return Resolution("command", text, (), "")

    true = command("bun run lint:fix")
    assert first_useful(true, [command("bun run test"), command("bun run lint:fix")]) == 1
    assert first_useful(true, [command("bun run test"), None]) is None
    assert first_useful(None, [None]) is None


def test_chance_is_exact() -> None:
    assert chance(1, 4, 1) == 0.25
    assert chance(1, 4, 3) == 0.75
    assert chance(2, 3, 5) == 1.0
    assert chance(0, 0, 3) == 0.0
    assert expected_reciprocal(1, 2) == 0.75
    assert expected_reciprocal(3, 3) == 1.0


def test_the_same_work_needs_a_third_of_the_files() -> None:
    assert same_work({"a"}, {"a", "b"})
    assert not same_work({"a", "b", "c", "d", "e", "f"}, {"a"})
    assert same_work({"a", "b", "c", "d", "e", "f"}, {"a", "b"})


def test_families_are_joined_through_others() -> None:
    found = families([("a", "b"), ("c", "c"), ("d", "b"), ("e", "d")])
    assert found["a"] == found["b"] == found["d"] == found["e"] != found["c"]
