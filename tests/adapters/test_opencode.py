"""opencode: its database, the files of old releases, forks, subagents and sessions taken back."""

import json
from pathlib import Path
from typing import Any

import pytest
from opencode_home import OpencodeHome, text, tool

from session_memory.adapters.opencode import AGENT
from session_memory.core.schema import SessionEvent
from session_memory.store import Store
from session_memory.testing.adapters import AdapterContract
from session_memory.testing.collecting import (
    check_restores,
    check_sound,
    collect,
    collected,
    events_of,
    every_usage,
    inherited_by,
    new_store,
)

pytestmark = pytest.mark.only("sqlite")

SAMPLES = Path(__file__).parent.parent / "data" / "opencode"
UID = "opencode:ses_a"


class TestOpencode(AdapterContract):
    adapter = AGENT
    samples = SAMPLES / "basic" / "home"


def events(store: Store, uid: str = UID) -> list[SessionEvent]:
    return events_of(store, uid)


def one_session(made: OpencodeHome, *parts: dict[str, Any], **info: Any) -> Store:
    session = made.session()
    made.prompt(session, "do it")
    message = made.answer(session, *parts, done=False)
    made.finish(message, **info)
    made.close()
    return collected(made.home)


# ------------------------------------------------------------ calls and results


@pytest.mark.parametrize(
    ("state", "is_error", "is_refused"),
    [
        ({"output": "a.py", "metadata": {"exit": 0}}, False, False),
        ({"output": "broken", "metadata": {"exit": 3}}, True, False),
        ({"output": "... terminated command after exceeding timeout 5 ms"}, True, False),
        ({"status": "error", "error": "Tool execution aborted"}, True, False),
        (
            {
                "status": "error",
                "error": "The user rejected permission to use this specific tool call.",
            },
            True,
            True,
        ),
        ({"status": "error", "error": "a rule prevents you from using this tool"}, True, False),
    ],
)
def test_a_result_is_an_error_if_the_call_failed(
    tmp_path: Path, state: dict[str, Any], is_error: bool, is_refused: bool
) -> None:
    with one_session(OpencodeHome(tmp_path), tool("c1", "make", **state)) as store:
        [result] = [e for e in events(store) if e.is_a("tool_result")]
        assert (result.is_error, result.is_a("human_intervention")) == (is_error, is_refused)
        assert result.exit_code == state.get("metadata", {}).get("exit")


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        ({"input": {}, "raw": ""}, ["lifecycle"]),
        ({"input": {"command": "make"}}, ["tool_call", "error"]),
    ],
)
def test_a_call_that_did_not_arrive_in_full_is_none(
    tmp_path: Path, state: dict[str, Any], kinds: list[str]
) -> None:
    stopped = {"status": "error", "error": "Tool execution aborted"}
    stopped |= {"metadata": {"interrupted": True}}
    part = {"type": "tool", "tool": "bash", "callID": "c1", "state": {**stopped, **state}}
    with one_session(OpencodeHome(tmp_path), part) as store:
        assert [e.kind for e in events(store) if e.native_kind != "user/agent"][1:] == kinds


def test_an_unknown_tool_is_called_by_its_own_name_and_fails(tmp_path: Path) -> None:
    state = {"status": "completed", "input": {"tool": "fly"}, "output": "no such tool"}
    part = {"type": "tool", "tool": "invalid", "callID": "c1", "state": state}
    with one_session(OpencodeHome(tmp_path), part) as store:
        [call, result] = [e for e in events(store) if e.call_id]
        assert (call.tool, result.is_error) == ("fly", True)


def test_an_aborted_answer_is_an_intervention_and_any_other_error_is_none(tmp_path: Path) -> None:
    for number, name in enumerate(("MessageAbortedError", "APIError")):
        error = {"name": name, "data": {"message": "stopped"}}
        with one_session(OpencodeHome(tmp_path / str(number)), error=error) as store:
            [last] = [e for e in events(store) if e.native_kind.startswith("assistant/")]
            assert last.is_a("human_intervention") == (name == "MessageAbortedError")
            assert last.summary == f"{name}: stopped"


def test_unknown_parts_are_kept_and_known_bookkeeping_gives_no_event(tmp_path: Path) -> None:
    parts = [{"type": "step-start"}, {"type": "dream", "text": "of sheep"}, {"type": "patch"}]
    with one_session(OpencodeHome(tmp_path), *parts) as store:
        kinds = [(e.kind, e.native_kind, e.summary) for e in events(store)]
        assert ("lifecycle", "assistant/dream", "of sheep") in kinds
        assert not any("step" in kind or "patch" in kind for _, kind, _ in kinds)


# ------------------------------------------------------------ prompts


def test_a_prompt_is_what_a_person_typed(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    message = made.message(session, {"role": "user", "agent": "build"})
    made.part(message, {"type": "text", "text": "look at this"})
    made.part(message, {"type": "text", "text": "Called the Read tool", "synthetic": True})
    made.part(message, {"type": "file", "filename": "a.png", "mime": "image/png"})
    only_file = made.message(session, {"role": "user", "agent": "build"})
    made.part(only_file, {"type": "file", "filename": "b.png"})
    made.close()
    with collected(tmp_path) as store:
        prompts = [e.summary for e in events(store) if e.is_a("user_msg")]
        assert prompts == ["look at this", "[file] b.png"]


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"mend the \\"test\\" now"', 'mend the "test" now'),
        ("mend", "mend"),
        ('"mend"', '"mend"'),
        ('"one thing" or "another one"', '"one thing" or "another one"'),
        ('mend "the test"', 'mend "the test"'),
    ],
)
def test_a_prompt_is_shown_without_the_quotes_of_opencode_run(
    tmp_path: Path, stored: str, typed: str
) -> None:
    made = OpencodeHome(tmp_path)
    made.prompt(made.session(), stored)
    made.close()
    with collected(tmp_path) as store:
        assert [e.summary for e in events(store) if e.is_a("user_msg")] == [typed]


def test_a_command_of_the_person_is_no_call(tmp_path: Path) -> None:
    """opencode logs it as a call in an answer to a message that it wrote itself."""
    made = OpencodeHome(tmp_path)
    session = made.session()
    told = made.message(session, {"role": "user", "agent": "build"})
    words = "The following tool was executed by the user"
    made.part(told, {"type": "text", "text": words, "synthetic": True})
    answer = made.message(session, {"role": "assistant", "modelID": "gpt-5", "parentID": told})
    made.part(answer, tool("c1", "ls x", output="no x", metadata={"exit": 2}))
    made.finish(answer)
    made.prompt(session, "go on")
    made.answer(session, tool("c2", "ls"))
    made.close()
    with collected(tmp_path) as store:
        found = [(e.kind, e.summary) for e in events(store)]
        assert ("lifecycle", "! ls x") in found and ("lifecycle", "no x") in found
        assert [e.call_id for e in events(store) if e.is_a("tool_call")] == ["c2"]


def test_another_agent_is_a_decision(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    for agent in ("plan", "plan", "build"):
        message = made.message(session, {"role": "user", "agent": agent})
        made.part(message, {"type": "text", "text": "go on"})
    made.close()
    with collected(tmp_path) as store:
        assert [e.summary for e in events(store) if e.is_a("decision")] == ["build"]


# ------------------------------------------------------------ usage


def test_each_response_of_a_message_with_several_counts(tmp_path: Path) -> None:
    steps = [
        {"type": "step-finish", "tokens": {"input": 10, "output": 1, "reasoning": 2}, "cost": 0.5},
        {"type": "step-finish", "tokens": {"input": 20, "output": 3, "cache": {"read": 4}}},
    ]
    last = {"input": 20, "output": 3, "cache": {"read": 4}}
    with one_session(OpencodeHome(tmp_path), *steps, tokens=last) as store:
        used = sorted(every_usage(store), key=lambda usage: usage.input_tokens)
        assert [(u.input_tokens, u.output_tokens, u.reasoning_tokens) for u in used] == [
            (10, 3, 2),
            (20, 3, 0),
        ]
        assert used[1].cache_read_tokens == 4


def test_a_model_of_a_seller_has_its_name(tmp_path: Path) -> None:
    info = {"modelID": "anthropic/claude-x", "providerID": "openrouter", "tokens": {"input": 1}}
    with one_session(OpencodeHome(tmp_path), text("yes"), **info) as store:
        [usage] = every_usage(store)
        assert usage.model == "openrouter/anthropic/claude-x"


# ------------------------------------------------------------ several sessions


def test_a_fork_repeats_its_origin_and_counts_once(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"), tool("c1", "ls", output="x"))
    fork = made.fork(session, "ses_fork")
    made.prompt(fork, "in the copy")
    made.answer(fork, text("two"), used=33)
    made.close()
    with collected(tmp_path) as store:
        check_sound(store)
        copy = store.sessions.get("opencode:ses_fork")
        assert copy is not None and (copy.relation, copy.parent_uid) == ("fork", UID)
        assert sorted(usage.input_tokens for usage in every_usage(store)) == [10, 33]
        assert len(inherited_by(store, copy.session_uid)) == len(events(store))
        assert store.problems.count() == 0


def test_a_subagent_names_its_parent_and_its_prompt_is_nobodys(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session, child = made.session(), made.session("ses_child", parent="ses_a")
    made.prompt(session, "use a helper")
    part = tool("c1", "x", output="done", metadata={"sessionId": child})
    made.answer(session, {**part, "tool": "task"})
    made.prompt(child, "count the lines")
    made.answer(child, text("three"))
    made.close()
    with collected(tmp_path) as store:
        found = store.sessions.get("opencode:ses_child")
        assert found is not None
        assert (found.parent_uid, found.relation, found.spawn_call_id) == (UID, "subagent", "c1")
        assert not [e for e in events(store, "opencode:ses_child") if e.is_a("user_msg")]


def test_a_session_that_was_taken_back_has_an_abandoned_branch(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"))
    second = made.prompt(session, "second")
    made.answer(session, text("two"))
    with collected(tmp_path) as store:
        made.revert(session, second)
        collect(store, tmp_path)
        made.remove_from(session, second)
        made.prompt(session, "another way")
        made.answer(session, text("three"))
        collect(store, tmp_path)
        branches = {e.summary: e.branch for e in events(store) if e.is_a("user_msg")}
        assert branches["first"] is None and branches["another way"] is None
        assert branches["second"] is not None
        check_sound(store)
    made.close()


@pytest.mark.parametrize("first_sync", ["before", "while working", "after"])
def test_what_opencode_removed_is_read_from_its_events(tmp_path: Path, first_sync: str) -> None:
    """A person took a prompt back and sent another one, all between two syncs."""
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"), used=10)
    with new_store() as store:
        if first_sync == "before":
            made.step = 60_000
            collect(store, tmp_path)
        second = made.prompt(session, "second")
        if first_sync == "while working":
            answer = made.answer(session, text("two"), done=False)
            collect(store, tmp_path)
            tokens = {"input": 20, "output": 2, "cache": {}}
            made.finish(answer, tokens=tokens, finish="stop")
        else:
            made.answer(session, text("two"), used=20)
        made.remove_from(session, second)
        third = made.prompt(session, "third")
        made.answer(session, text("three"), used=40)
        collect(store, tmp_path)
        assert sum(usage.input_tokens for usage in every_usage(store)) == 70
        made.remove_from(session, third)
        made.prompt(session, "fourth")
        made.answer(session, text("four"), used=80)
        collect(store, tmp_path)
        said = [e for e in events(store) if e.kind in ("user_msg", "assistant_msg")]
        assert [e.summary for e in said if not e.branch] == ["first", "one", "fourth", "four"]
        assert [e.summary for e in said if e.branch] == ["second", "two", "third", "three"]
        assert sum(e.native_kind == "session/revert" for e in events(store)) == 2
        assert sum(usage.input_tokens for usage in every_usage(store)) == 150
        check_sound(store)
    made.close()


def test_a_session_whose_first_prompt_was_taken_back_has_it_too(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    first = made.prompt(session, "first")
    made.answer(session, text("one"))
    made.remove_from(session, first)
    made.prompt(session, "second")
    made.close()
    with collected(tmp_path) as store:
        said = [(e.summary, bool(e.branch)) for e in events(store) if e.is_a("user_msg")]
        assert said == [("first", True), ("second", False)]


# ------------------------------------------------------------ the next interface


def test_a_session_of_the_next_interface_says_the_same(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    session = made.session()
    made.next_message(session, "user", text="list them", files=[{"name": "a.png"}])
    state = {"status": "completed", "input": {"command": "ls"}, "structured": {"exit": 2}}
    call = {"type": "tool", "id": "c1", "name": "bash"}
    content = [
        {"type": "reasoning", "id": "r0", "text": "hm"},
        {**call, "state": {**state, "content": [{"type": "text", "text": "no such file"}]}},
    ]
    answer: dict[str, Any] = {"model": {"id": "gpt-5", "providerID": "openai"}, "content": content}
    tokens = {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 0}}
    ended = {"time": {"created": made.now + 1, "completed": made.now + 9}, "finish": "tool-calls"}
    made.next_message(session, "assistant", **answer, **ended, tokens=tokens)
    made.next_message(session, "model-switched", model={"id": "gpt-6"})
    with collected(tmp_path) as store:
        made.next_message(session, "user", text="go on")
        stopped = {"type": "unknown", "message": "Provider turn interrupted"}
        said = [{"type": "text", "id": "t0", "text": "I go"}]
        made.next_message(session, "assistant", **{**answer, "content": said}, error=stopped)
        collect(store, tmp_path)
        assert [(e.kind, e.summary) for e in events(store)] == [
            ("user_msg", "list them"),
            ("lifecycle", "[file] a.png"),
            ("thinking", "hm"),
            ("tool_call", "ls"),
            ("error", "no such file"),
            ("lifecycle", events(store)[5].summary),
            ("user_msg", "go on"),
            ("assistant_msg", "I go"),
            ("human_intervention", "MessageAbortedError: Provider turn interrupted"),
        ]
        [usage] = every_usage(store)
        assert (usage.model, usage.input_tokens, usage.output_tokens) == ("gpt-5", 10, 3)
        check_sound(store)
    made.close()


# ------------------------------------------------------------ files of old releases


def as_files(made: OpencodeHome, home: Path) -> None:
    """Write the rows as the files of a release before 1.2."""
    storage = home / ".local/share/opencode/storage"

    def write(place: str, info: dict[str, Any]) -> None:
        path = storage / f"{place}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(info, indent=2))

    for row in made.rows("session"):
        times = {"created": row["time_created"], "updated": row["time_updated"]}
        info = {"id": row["id"], "title": row["title"], "directory": row["directory"]}
        write(f"session/p/{row['id']}", {**info, "version": "0.9.0", "time": times})
    for row in made.rows("message"):
        write(f"message/{row['session_id']}/{row['id']}", json.loads(row["data"]))
    for row in made.rows("part"):
        write(f"part/{row['message_id']}/{row['id']}", json.loads(row["data"]))


def test_the_files_of_an_old_release_say_the_same_as_a_database(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path / "new")
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"), tool("c1", "ls", output="x"))
    as_files(made, tmp_path / "old")
    with collected(tmp_path / "new") as new, collected(tmp_path / "old") as old:
        assert [e.event_uid for e in events(old)] == [e.event_uid for e in events(new)]
        assert [e.summary for e in events(old)] == [e.summary for e in events(new)]
        assert every_usage(old)[0].input_tokens == every_usage(new)[0].input_tokens
        made.prompt(session, "more")
        as_files(made, tmp_path / "old")
        collect(old, tmp_path / "old")
        assert [e.summary for e in events(old) if e.is_a("user_msg")] == ["first", "more"]
    made.close()


def test_sessions_that_are_in_the_database_too_are_read_from_it_alone(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path)
    made.prompt(made.session(), "first")
    as_files(made, tmp_path)
    made.close()
    assert [ref.path.name for ref in AGENT.discover(tmp_path)] == ["opencode.db#ses_a"]


# ------------------------------------------------------------ exports


def exported(made: OpencodeHome, session: str, path: Path) -> None:
    """Write a session as ``opencode export`` does."""
    [row] = [row for row in made.rows("session") if row["id"] == session]
    times = {"created": row["time_created"], "updated": row["time_updated"]}
    info = {name: row[name] for name in ("id", "title", "directory", "version")}
    messages = [
        {
            "info": {**json.loads(message["data"]), "id": message["id"]},
            "parts": [
                {**json.loads(part["data"]), "id": part["id"]}
                for part in made.rows("part")
                if part["message_id"] == message["id"]
            ],
        }
        for message in made.rows("message")
        if message["session_id"] == session
    ]
    path.parent.mkdir(exist_ok=True)
    document = {"info": {**info, "time": times}, "messages": messages}
    path.write_text(json.dumps(document, indent=2))


def test_an_export_says_the_same_as_the_database_and_is_counted_once_beside_it(
    tmp_path: Path,
) -> None:
    made = OpencodeHome(tmp_path / "home")
    session = made.session()
    made.prompt(session, "first")
    made.answer(session, text("one"), tool("c1", "ls", output="x"))
    exported(made, session, tmp_path / "files" / "mend.json")
    with collected(tmp_path / "home") as both, collected(tmp_path / "files") as alone:
        uids = [e.event_uid for e in events(both)]
        assert [e.event_uid for e in events(alone)] == uids
        check_sound(alone)
        collect(both, tmp_path / "files")
        assert [e.event_uid for e in events(both)] == uids
        assert len(every_usage(both)) == 1
        assert both.problems.count() == 0
        made.prompt(session, "more")
        exported(made, session, tmp_path / "files" / "mend.json")
        collect(alone, tmp_path / "files")
        assert [e.summary for e in events(alone) if e.is_a("user_msg")] == ["first", "more"]
        assert check_restores(alone, None, tmp_path / "again") is None
        again = tmp_path / "again/.local/share/opencode/exported/mend.json"
        assert again.read_bytes() == (tmp_path / "files" / "mend.json").read_bytes()
    made.close()


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    assert AGENT.roots({}, tmp_path) == [tmp_path / ".local/share/opencode"]
    assert AGENT.roots({"XDG_DATA_HOME": "/data"}, tmp_path) == [Path("/data/opencode")]


def test_databases_that_somebody_copied_are_found_and_others_are_left_alone(tmp_path: Path) -> None:
    made = OpencodeHome(tmp_path / "home")
    made.prompt(made.session(), "first")
    made.close()
    loose = tmp_path / "logs"
    loose.mkdir()
    (loose / "backup.db").write_bytes(made.path.read_bytes())
    (loose / "other.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert [ref.path.name for ref in AGENT.discover(loose)] == ["backup.db#ses_a"]
