"""Fix: how the same error was resolved before, in any repository and by any agent."""

from pathlib import Path

import pytest

from session_memory.core.time import parse_time
from session_memory.derive.reindex import reindex
from session_memory.learn.analyze import analyze
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, call
from session_memory.testing.codex import ran
from session_memory.testing.collecting import collect, new_store
from session_memory.views.fixes import Remedies, Remedy, remedies

from .fleets import AFTER, AGENTS, BEFORE, ERROR, SyntheticFleet, trace

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

NOW = parse_time("2026-11-15T12:00:00Z")


@pytest.fixture
def fleet(tmp_path: Path) -> SyntheticFleet:
    return SyntheticFleet(tmp_path / "home")


def asked(store: Store, text: str, limit: int = 5) -> Remedies:
    return remedies(store, text, now=NOW, limit=limit)


def by_agent(found: Remedies) -> dict[str, Remedy]:
    return {one.flavor: one for one in found.remedies}


# ---------------------------------------------------------------- the same error


def test_the_same_error_is_found_whichever_agent_met_it(
    fleet: SyntheticFleet, everywhere: None
) -> None:
    for agent in AGENTS:
        fleet.session(agent, problem=ERROR)
    with fleet.learned() as store:
        found = asked(store, ERROR)
    assert found.basis == "same"
    result = by_agent(found)
    assert set(result) == set(AGENTS)
    assert result["claude"].kind == "edit"
    (step,) = result["claude"].steps
    assert step.path == "/home/mira/code/app/pyproject.toml"
    assert step.lines == ('-deps = ["orjson"]', '+deps = ["orjson", "zonal"]')
    assert result["claude"].again == "python main.py"
    assert result["codex"].kind == "command"
    assert "uv add zonal" in result["codex"].steps[0].text
    assert result["codex"].steps[0].lines == ()  # SWITCHING 0.86: one empty line was printed here.
    assert result["grok"].kind == "edit"
    assert result["grok"].steps[0].lines == ("-deps = []", "+deps = ['zonal']")


def test_each_file_of_a_patch_is_a_step_and_the_one_that_the_error_names_comes_first(
    fleet: SyntheticFleet,
) -> None:
    problem = "src/cart.ts(9,2): error TS2304: Cannot find name 'zonalPrice'."
    log = fleet.codex.session("s1", cwd=fleet.cwd)
    log.turn("make the types right")
    log.shell("pnpm check")
    log.result(ran(2, problem))
    log.custom(
        "apply_patch",
        "*** Begin Patch\n*** Update File: /home/mira/code/app/package.json\n@@\n-a = 1\n+a = 2\n"
        "*** Update File: /home/mira/code/app/src/cart.ts\n@@\n-zonalPrice()\n"
        "+shop.zonalPrice()\n*** End Patch",
    )
    log.result("Success. Updated the following files:")
    log.shell("pnpm check")
    log.result(ran(0))
    with fleet.learned() as store:
        (remedy,) = asked(store, problem).remedies
    assert [step.path for step in remedy.steps] == [
        "/home/mira/code/app/src/cart.ts",
        "/home/mira/code/app/package.json",
    ]
    assert "+shop.zonalPrice()" in remedy.steps[0].lines


def test_waiting_for_a_call_resolves_nothing(fleet: SyntheticFleet) -> None:
    problem = "Error: listen EPERM: operation not permitted 127.0.0.1"
    log = fleet.codex.session("s1", cwd=fleet.cwd)
    log.turn("run the tests")
    log.shell("pnpm test")
    log.result(ran(1, problem))
    log.call("write_stdin", session_id=7, chars="")
    log.result(ran(0, "pnpm test: listen: 12 passed"))
    with fleet.learned() as store:
        (remedy,) = asked(store, problem).remedies
    assert remedy.kind is None


def test_the_same_error_is_found_in_another_repository_at_another_place(
    tmp_path: Path, everywhere: None
) -> None:
    one = SyntheticFleet(tmp_path / "home", cwd="/home/mira/code/webshop")
    uid = one.session("claude", problem=ERROR)
    with one.learned() as store:
        output = "collecting...\n" + trace(ERROR, "/srv/ci/build-7f3a/billing/app.py", 4711)
        found = asked(store, f"\x1b[31m{output}\x1b[0m\nmake: *** [run] Error 1\n")
    assert found.basis == "same"
    assert [remedy.session_uid for remedy in found.remedies] == [uid]
    assert found.remedies[0].repo == "webshop"


def test_an_error_in_the_middle_of_an_output_is_found_by_its_line(fleet: SyntheticFleet) -> None:
    fleet.session("claude", problem="zonal: quota of 12 exceeded for /srv/a, giving up", fixed=True)
    with fleet.learned() as store:
        line = "zonal: quota of 99 exceeded for /home/x/b, giving up"
        found = asked(store, f"step 1 ok\n{line}\nfatal: the build is broken beyond hope\n")
    assert found.basis == "same"


def test_the_surest_resolution_comes_first_then_the_newest_and_unresolved_ones_last(
    fleet: SyntheticFleet,
) -> None:
    fleet.go_to(BEFORE)
    old = fleet.session("claude", problem=ERROR)
    earlier = fleet.session("codex", problem=ERROR)
    command = fleet.session("codex", problem=ERROR)  # It installs what is missing.
    fleet.go_to(AFTER)
    new = fleet.session("claude", problem=ERROR)
    stuck = fleet.session("claude", problem=ERROR, fixed=False)
    with fleet.learned() as store:
        found = asked(store, ERROR)
        one = asked(store, ERROR, limit=1)
    assert [remedy.session_uid for remedy in found.remedies] == [
        command,
        new,
        earlier,
        old,
        stuck,
    ]
    assert found.remedies[-1].kind is None
    assert [remedy.session_uid for remedy in one.remedies] == [command]


def test_another_error_is_not_the_same(fleet: SyntheticFleet) -> None:
    fleet.session("claude", problem=ERROR)
    with fleet.learned() as store:
        found = asked(store, "ModuleNotFoundError: No module named 'yaml'")
    assert found.basis == "similar"
    assert found.remedies[0].error == ERROR
    assert 0.4 <= found.remedies[0].likeness < 1


# ---------------------------------------------------------------- no such error


def test_an_error_nobody_met_finds_nothing(fleet: SyntheticFleet) -> None:
    fleet.session("claude", problem=ERROR)
    with fleet.learned() as store:
        reindex(store)
        found = asked(store, "segmentation fault in quux")
    assert (found.basis, found.remedies, found.mentions) == ("nothing", [], [])


def test_a_pasted_error_is_not_answered_by_one_that_shares_only_common_words(
    fleet: SyntheticFleet,
) -> None:
    locked = "fatal: cannot lock ref 'refs/heads/tide': unable to resolve reference"
    fleet.session("claude", problem=locked)
    for _ in range(3):
        fleet.session("claude", problem=ERROR)
    with fleet.learned() as store:
        other = "fatal: unable to access the remote: the certificate is not valid here"
        assert asked(store, other).basis == "nothing"
        # A description may use other words than the error, so less is enough.
        assert asked(store, "git is unable to update the branch tide here").basis == "similar"
        assert asked(store, locked.replace("tide", "gull")).remedies


@BOTH
def test_what_was_not_analyzed_is_found_by_its_words(
    fleet: SyntheticFleet, everywhere: None
) -> None:
    uid = fleet.session("claude", problem=ERROR)
    with new_store() as store:
        collect(store, fleet.write())
        reindex(store)
        found = asked(store, ERROR)
        assert (found.basis, found.remedies) == ("nothing", [])
        assert {hit.session_uid for hit in found.mentions} == {uid}
        analyze(store)
        assert asked(store, ERROR).basis == "same"


@pytest.mark.parametrize("text", ["", " \n\n", "\0", "\x1b[0m", "`" * 500, "a" * 100_000])
def test_any_text_can_be_asked_for(fleet: SyntheticFleet, text: str) -> None:
    fleet.session("claude", problem=ERROR)
    with fleet.learned() as store:
        assert asked(store, text).remedies == []


# ---------------------------------------------------------------- what is shown


def test_secrets_in_a_remedy_are_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    home = ClaudeHome(tmp_path / "home")
    log = home.session()
    log.prompt("push it")
    log.run("git push", "fatal: Authentication failed for origin", exit_code=128)
    log.run(f"git remote set-url origin https://me:{secret}@github.com/me/app", "")
    log.run("git push", "done")
    with new_store() as store:
        collect(store, home.write())
        analyze(store)
        found = asked(store, "fatal: Authentication failed for origin")
    assert found.remedies[0].kind == "command"
    assert "git remote set-url" in found.remedies[0].steps[0].text
    assert secret not in str(found.to_dict())


def test_the_same_error_without_a_resolution_comes_before_others_that_are_hardly_alike(
    fleet: SyntheticFleet,
) -> None:
    problem = "curl: (56) The requested URL returned error: 403"
    stuck = fleet.session("claude", problem=problem, fixed=False)
    fleet.session("claude", problem="rg: the requested file is no directory: url")
    with fleet.learned() as store:
        found = asked(store, problem)
    assert [(one.session_uid, one.kind) for one in found.remedies] == [(stuck, None)]


def test_a_description_finds_an_error_that_says_it_in_other_words(fleet: SyntheticFleet) -> None:
    uid = fleet.session("claude", problem="! [rejected] main -> main (fetch first)")
    fleet.session("claude", problem="zonal: main switch is broken")
    with fleet.learned() as store:
        found = asked(store, "push to main was refused")
    assert found.remedies[0].session_uid == uid


def test_one_word_is_not_much_alike(fleet: SyntheticFleet) -> None:
    fleet.session("claude", problem="error: quota of the zonal switch exceeded")
    with fleet.learned() as store:
        found = asked(store, "there is no such switch")
    assert all(one.likeness < 0.9 for one in found.remedies)


def test_a_name_of_several_parts_is_one_word(fleet: SyntheticFleet) -> None:
    fleet.session("claude", problem="AssertionError [ERR_ASSERTION]: not strictly equal: 1 !== 2")
    with fleet.learned() as store:
        found = asked(store, "AssertionError")
        (nearest,) = found.remedies
    assert (found.basis, nearest.likeness < 0.9) == ("similar", True)


def test_what_a_command_prints_beside_its_error_is_not_the_error(fleet: SyntheticFleet) -> None:
    printed = "[Ledger] Deleted the evaluation of the zonal switch"
    fleet.session("claude", problem=printed)
    with fleet.learned() as store:
        assert asked(store, printed).basis == "same"
        problem = 'src/kumquat.py:3: error: Name "peel" is not defined  [name-defined]'
        found = asked(store, f"{printed}\n{problem}\nFound 1 error in 1 file")
    assert found.basis != "same"


def test_beside_a_good_answer_errors_with_another_line_are_left_out(
    fleet: SyntheticFleet,
) -> None:
    uid = fleet.session("claude", problem="error: script not found: lint")
    # The call and what is around it have the words of the question, and its own line has not.
    other = "format: the following content differs\nerror: script lint exited with code 1"
    fleet.session("claude", problem=other)
    with fleet.learned() as store:
        found = asked(store, "error: script not found: lint")
    assert [one.session_uid for one in found.remedies] == [uid]


def test_a_pasted_error_is_not_answered_by_what_stands_beside_another_error(
    fleet: SyntheticFleet,
) -> None:
    for number in range(3):
        fleet.session("claude", problem=f"error: quota {number} of the harbour is used up")
    other = "the module named kelp is new\nerror: the paths of both harbours are wrong"
    uid = fleet.session("claude", problem=other)
    with fleet.learned() as store:
        assert asked(store, "No module named 'yaml'").basis == "nothing"
        found = asked(store, "error: the paths of all harbours are wrong")
    assert uid in [one.session_uid for one in found.remedies]


def test_a_line_that_is_only_a_hint_can_be_asked_for(fleet: SyntheticFleet) -> None:
    log = fleet.claude.session("s1")
    log.prompt("push it")
    refused = " ! [rejected] main -> main (fetch first)\nhint: 'git pull' before pushing again."
    log.run("git push origin main", refused, exit_code=1)
    log.run("git pull --rebase origin main", "Successfully rebased")
    log.run("git push origin main", "main -> main")
    with fleet.learned() as store:
        (remedy,) = asked(store, "hint: 'git pull' before pushing again.").remedies
    assert remedy.text == "git pull --rebase origin main"


def test_beside_an_error_that_was_not_resolved_errors_with_another_line_are_left_out(
    fleet: SyntheticFleet,
) -> None:
    log = fleet.claude.session("s1")
    log.prompt("commit it")
    log.answer(call("Skill", skill="commit"))
    log.result("<tool_use_error>Unknown skill: commit</tool_use_error>", is_error=True)
    log.run("git commit -m 'commit the unknown skill'", "zonal hook: 12 quotas left", exit_code=1)
    log.run("git commit --no-verify -m 'commit the unknown skill'", "[main 1] commit")
    with fleet.learned() as store:
        found = asked(store, "Unknown skill: commit")
    assert [remedy.error for remedy in found.remedies] == ["Unknown skill: commit"]
