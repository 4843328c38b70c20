"""Tasks: the issue or pull request of a session, from its logs or from a person. SWITCHING 0.45."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from session_memory import Memory
from session_memory.cli import main
from session_memory.config import Config
from session_memory.core.errors import InvalidRecord
from session_memory.retain.forget import forget
from session_memory.retain.verification import verify
from session_memory.store import Store
from session_memory.testing.claude import ClaudeHome, usage
from session_memory.testing.collecting import collect, collected, new_store, rebuilt
from session_memory.views.cost import CostFilter, cost_report
from session_memory.views.sessions import Filter, list_sessions
from session_memory.views.tasks import is_task, list_tasks

BOTH = pytest.mark.only("sqlite", "postgresql")
pytestmark = pytest.mark.only("sqlite")


def written(home: ClaudeHome) -> ClaudeHome:
    """A session for each way to name a task, one with a subagent, and one without a task."""
    for name, prompt, branch in (
        ("by-branch", "go on", "issue-12-cart"),
        ("by-prompt", "Fix issue #12 please", "main"),
        ("by-address", "do https://github.com/mira/app/issues/12", "main"),
        ("elsewhere", "do https://github.com/mira/other/issues/12", "main"),
        ("without", "hello", "main"),
    ):
        log = home.session(name)
        log.prompt(prompt, gitBranch=branch)
        log.answer("Done.", used=usage(10))
    log = home.session("by-commit")
    log.prompt("commit it")
    log.run('git commit -m "total (#13)"', "[main 1234567] total")
    log = home.session("by-pull-request")
    log.prompt("push it")
    log.note("pr-link", prNumber=14, prUrl="https://github.com/mira/app/pull/14")
    return home


def tasks_of(store: Store) -> dict[str, str | None]:
    return {one.native_session_id: one.task_ref for one in store.sessions.every()}


def listed(store: Store, task: str) -> set[str]:
    found = list_sessions(store, Filter(task=task), limit=0)
    assert found.total == len(found.sessions)
    return {one.native_session_id for one in found.sessions}


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_logs_say_what_a_session_works_on(claude: ClaudeHome) -> None:
    with collected(written(claude).write()) as store:
        expected = {
            "by-branch": "#12",
            "by-prompt": "#12",
            "by-address": "mira/app#12",
            "elsewhere": "mira/other#12",
            "without": None,
            "by-commit": "#13",
            "by-pull-request": "mira/app#14",
        }
        assert tasks_of(store) == expected
        assert listed(store, "app#12") == {"by-branch", "by-prompt", "by-address"}
        assert listed(store, "mira/other#12") == {"elsewhere"}
        assert listed(store, "12") == listed(store, "#12")
        assert len(listed(store, "#12")) == 4 and listed(store, "#1") == set()
        assert listed(store, "app#*") == expected.keys() - {"elsewhere", "without"}
        rows = {row.key: row.tally for row in cost_report(store, CostFilter(by="task")).rows}
        assert set(rows) == {"app#12", "mira/other#12", "app#13", None}
        assert rows["app#12"].responses == 3
        days = cost_report(store, CostFilter(by="day", task="app#12"))
        assert days.totals == rows["app#12"] and len(days.rows) == 1
        assert len(list_tasks(store, limit=1).tasks) == 1 and list_tasks(store).total == 4
        assert tasks_of(rebuilt(store)) == expected


@BOTH
@pytest.mark.usefixtures("on_the_database")
def test_what_a_person_says_survives_syncs_and_rebuilds(claude: ClaudeHome) -> None:
    written(claude)
    with new_store() as store:
        collect(store, claude.write())
        with store.transaction():
            store.tasks.set("claude:by-branch", "SHOP-7", 1)
            store.tasks.set("claude:by-branch", "SHOP-8", 2)
            store.tasks.set("claude:by-prompt", "", 1)
        claude.session("later").prompt("hello")
        collect(store, claude.write())
        rebuilt(store)
        found = tasks_of(store)
        assert (found["by-branch"], found["by-prompt"]) == ("SHOP-8", None)
        assert listed(store, "SHOP-*") == {"by-branch"}
        assert verify(store).findings == []
        with store.transaction():
            store.tasks.set("claude:by-branch", None, 3)
        assert tasks_of(store)["by-branch"] == "#12"
        forget(store, Config(), ["claude:by-prompt"], 4)
        assert store.db.all("select * from tasks") == []


def test_a_subagent_has_the_task_of_its_parent(claude: ClaudeHome) -> None:
    log = claude.session("parent")
    log.prompt("Fix issue #12")
    claude.subagent(log, "a1").prompt("look at issue #99")
    with collected(claude.write()) as store:
        (row,) = list_tasks(store).tasks
        assert row.task == "app#12" and len(row.sessions) == 2


def test_a_log_cannot_lead_in_circles(claude: ClaudeHome) -> None:
    claude.session("one").prompt("hello")
    with collected(claude.write()) as store:
        with store.transaction():
            store.db.execute("update sessions set relation = 'subagent', parent_uid = uid")
        assert list_tasks(store).tasks == []


@pytest.mark.parametrize("asked", ["shop#12", "mira/shop#12", "#12", "12", "*#12", "SHOP#12"])
def test_a_task_has_several_names(asked: str) -> None:
    assert is_task("shop#12", asked) and not is_task("shop#123", asked)
    assert not is_task("", asked) and is_task("anything", None)


def test_python_and_the_command_set_and_list_tasks(
    claude: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{tmp_path}/memory.db"
    monkeypatch.setenv("HOME", str(tmp_path))
    collected(written(claude).write(), place).close()
    with Memory(place) as memory:
        session = memory.session("claude:without")
        session.set_task("12")
        assert session.record.task_ref == "#12"
        assert [one.uid for one in memory.sessions(task="#12", repo="app", limit=9)]
        assert memory.cost("task", task="app#12").rows[0].key == "app#12"
        with pytest.raises(InvalidRecord, match="no name of a task"):
            session.set_task("two\nlines")

    def run(*words: str, ok: int = 0) -> dict[str, object]:
        result = CliRunner().invoke(main, [*words, "--store", place, "--json"])
        assert result.exit_code == ok, result.output
        found: dict[str, object] = json.loads(result.stdout) if not ok else {}
        return found

    uid = "claude:without"
    assert run("task", uid) == {"session_uid": uid, "task_ref": "#12"}
    assert run("task", uid, "--none")["task_ref"] is None
    assert run("task", uid, "SHOP-9")["task_ref"] == "SHOP-9"
    told = CliRunner().invoke(main, ["show", uid, "--store", place, "--no-color"]).stdout
    assert "  task     SHOP-9\n" in told
    assert run("task", uid, "--reset")["task_ref"] is None
    assert run("task", uid, "x", "--reset", ok=2) == {}
    assert run("task", "--none", ok=2) == {}
    assert run("task", "--limit", "2")["total"] == 4
    assert run("task", uid, "--repo", "app", ok=2) == run("task", uid, "--limit", "2", ok=2) == {}
    none = CliRunner().invoke(main, ["task", "--repo", "elsewhere", "--store", place])
    assert "No session of elsewhere names a task." in none.stderr
    assert len(run("sessions", "--task", "app#12")["sessions"]) == 3  # type: ignore[arg-type]
    assert run("cost", "--by", "task")["by"] == "task"
    shown = CliRunner().invoke(main, ["task", "--store", place]).stdout
    assert "app#12" in shown
