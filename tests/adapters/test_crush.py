"""Crush: the database of a project, answers that are being written, subagents, costs."""

import json
from pathlib import Path

import pytest
from crush_home import CrushProject, a_session, call, ended, part, result, said

from session_memory.adapters.base import SourceRef, Unlisted
from session_memory.adapters.crush import AGENT
from session_memory.core.schema import SessionEvent
from session_memory.core.time import now_ms
from session_memory.retain.native_files import restore_native
from session_memory.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_sound,
    collect,
    collected,
    events_of,
    every_usage,
    new_store,
    rebuilt,
)

pytestmark = pytest.mark.only("sqlite")

UID = "crush:s-1"


class TestCrush(AdapterContract):
    adapter = AGENT
    samples = Path(__file__).parent.parent / "data" / "crush"

    def test_usage_is_never_negative_and_names_its_response(self) -> None:
        """Crush logs no usage of single responses."""


@pytest.fixture
def made(tmp_path: Path) -> CrushProject:
    return CrushProject(tmp_path / "app")


def events(store: Store, uid: str = UID) -> list[SessionEvent]:
    return events_of(store, uid)


def test_a_session_gives_prompts_calls_results_and_answers(made: CrushProject) -> None:
    a_session(made)
    made.close()
    with collected(made.project) as store:
        found = [(e.kind, e.tool, e.exit_code) for e in events(store)]
        assert found == [
            ("user_msg", None, None),
            ("thinking", None, None),
            ("test_run", "bash", None),
            ("error", "bash", 1),
            ("edit", "edit", None),
            ("tool_result", "edit", None),
            ("assistant_msg", None, None),
        ]
        assert events(store)[-1].is_a("completion")
        session = store.sessions.get(UID)
        assert session is not None
        assert (session.cwd, session.title) == (str(made.project), "Mend the test")
        # Crush logs no usage of single responses, only the last one's and what all of them cost.
        assert every_usage(store) == []
        check_sound(store)


@pytest.mark.parametrize("step", [0, 1, 60])
@pytest.mark.parametrize("age", [0, 10**6])
def test_an_answer_that_is_read_while_it_is_written_counts_once(
    made: CrushProject, step: int, age: int
) -> None:
    made.now, made.step = now_ms() // 1000 - age, step
    session = made.session()
    with new_store() as growing:
        made.prompt(session, "go")
        collect(growing, made.project)
        answer = made.message(session, "assistant", said("I lo"))
        collect(growing, made.project)
        made.change(answer, said("I look."), call("c1", "bash", {}, finished=False))
        collect(growing, made.project)
        shell = call("c1", "bash", {"command": "ls"})
        made.change(answer, said("I look."), shell)
        collect(growing, made.project)
        made.change(answer, said("I look."), shell, ended("tool_use"))
        made.message(session, "tool", result("c1", "a.py"), ended("stop"))
        collect(growing, made.project)
        made.message(session, "assistant", said("There is a.py."), ended())
        collect(growing, made.project)
        check_sound(growing)
        with collected(made.project) as once:
            if not age:
                # What seemed to be dead and went on keeps the words that it had.
                assert sorted((e.kind, e.summary, e.call_id) for e in events(growing)) == sorted(
                    (e.kind, e.summary, e.call_id) for e in events(once)
                )
            calls = [(e.kind, e.call_id) for e in events(growing) if e.call_id]
            assert sorted(calls) == [("tool_call", "c1"), ("tool_result", "c1")]
        assert growing.problems.count() == 0
        before = growing.fingerprint()
        assert rebuilt(growing).fingerprint() == before
    made.close()


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("canceled", "human_intervention"), ("error", "error"), ("content_filter", "error")],
)
def test_an_answer_that_did_not_end_well_says_so(
    made: CrushProject, reason: str, kind: str
) -> None:
    session = made.session()
    made.prompt(session, "go")
    made.message(session, "assistant", said("I"), ended(reason, message="Sorry", details="why"))
    made.close()
    with collected(made.project) as store:
        last = events(store)[-1]
        assert (last.kind, last.summary) == (kind, "Sorry why")


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("User denied permission", True),
        ("Error: user cancelled assistant tool calling", True),
        ("no such file", False),
    ],
)
def test_a_refused_call_is_an_intervention(made: CrushProject, text: str, is_refused: bool) -> None:
    session = made.session()
    made.message(session, "assistant", call("c1", "write", {"file_path": "x"}), ended("tool_use"))
    made.message(session, "tool", result("c1", text, is_error=True), ended("stop"))
    made.close()
    with collected(made.project) as store:
        last = events(store)[-1]
        assert last.is_error and last.is_a("human_intervention") == is_refused


def test_a_subagent_names_its_parent_and_the_call(made: CrushProject) -> None:
    session = made.session(cost=0.5)
    made.prompt(session, "use a helper")
    message = made.message(session, "assistant", call("c1", "agent", {"prompt": "count"}))
    child = made.session(f"{message}$$c1", parent=session, cost=0.1)
    made.prompt(child, "count")
    made.message(child, "assistant", said("three"), ended())
    made.close()
    with collected(made.project) as store:
        found = store.sessions.get(f"crush:{message}:c1")
        assert found is not None
        assert (found.parent_uid, found.relation, found.spawn_call_id) == (UID, "subagent", "c1")
        assert not [e for e in events(store, found.session_uid) if e.is_a("user_msg")]
        assert store.problems.count() == 0


def test_a_summary_and_a_persons_own_command_are_no_messages(made: CrushProject) -> None:
    session = made.session()
    shell = part("shell_command", command="ls", output="a.py", exit_code=2)
    made.message(session, "user", shell, part("binary", Path="/w/a.png", MIMEType="image/png"))
    made.message(session, "assistant", said("So far: …"), ended(), is_summary_message=1)
    made.close()
    with collected(made.project) as store:
        kinds = [(e.kind, e.native_kind, e.exit_code) for e in events(store)]
        assert kinds == [
            ("lifecycle", "user/shell_command", 2),
            ("lifecycle", "user/binary", None),
            ("lifecycle", "summary", None),
        ]


def test_the_projects_that_crush_lists_are_found(made: CrushProject, tmp_path: Path) -> None:
    a_session(made)
    made.close()
    home = tmp_path / "home"
    listed = home / ".local/share/crush/projects.json"
    listed.parent.mkdir(parents=True)
    gone = {"path": "/gone", "data_dir": "/gone/.crush"}
    here = {"path": str(made.project), "data_dir": str(made.path.parent)}
    listed.write_text(json.dumps({"projects": [here, gone, here, 7]}))
    [root] = AGENT.roots({}, home)
    for place in (root, home, made.project, made.path.parent, made.path):
        found = [ref.path for ref in AGENT.discover(place)]
        assert found == [Path(f"{made.path}#s-1")], place
    listed.write_text("{")
    [unlisted] = AGENT.discover(root)
    assert isinstance(unlisted, Unlisted)
    data = (
        AGENT.roots({"XDG_DATA_HOME": "/d"}, home),
        AGENT.roots({"CRUSH_GLOBAL_DATA": "/g"}, home),
    )
    assert data == ([Path("/d/crush")], [Path("/g")])


def test_rows_are_kept_exactly(made: CrushProject, tmp_path: Path) -> None:
    a_session(made)
    with collected(made.project) as store:
        [file] = restore_native(store, None, tmp_path / "rows")
    lines = [json.loads(line) for line in file.path.read_text().splitlines()]
    assert [line["row"] for line in lines[:1]] == made.rows("sessions")
    assert [line["row"] for line in lines[1:]] == made.rows("messages")
    made.close()


def test_the_order_is_that_of_the_rows_and_nothing_is_read_twice(made: CrushProject) -> None:
    made.step = 0
    session = made.session()
    for number in range(8):
        made.prompt(session, f"prompt {number}")
    with collected(made.project) as store:
        assert [e.summary for e in events(store)] == [f"prompt {n}" for n in range(8)]
        [before] = store.sources.every()
        made.prompt(session, "prompt 8")
        collect(store, made.project)
        [after] = store.sources.every()
        assert after.kept - before.kept < 1500
        assert collect(store, made.project).report.ingested == 0
        [ref] = AGENT.discover(made.project)
        assert isinstance(ref, SourceRef)
    made.close()
