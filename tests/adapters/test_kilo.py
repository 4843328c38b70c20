"""Kilo Code since 7.0: opencode's database under its own name.

Tasks of the extension before it are in test_editor_tasks.py."""

import json
from pathlib import Path
from typing import Any

import pytest
from opencode_home import OpencodeHome, text, tool

from session_memory.adapters.kilo import AGENT
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
from session_memory.views.resuming import CannotResume, resume

pytestmark = pytest.mark.only("sqlite")

UID = "kilo:ses_a"


def one_session(home: Path, *, program: str = "kilo") -> OpencodeHome:
    made = OpencodeHome(home, program=program)
    session = made.session()
    made.prompt(session, "mend it")
    made.answer(session, tool("c1", "make", output="", metadata={"exit": 2}), text("Done."))
    made.close()
    return made


def test_a_session_of_the_program_is_read_like_one_of_opencode(tmp_path: Path) -> None:
    one_session(tmp_path)
    with collected(tmp_path) as store:
        kinds = [event.kind for event in events_of(store, UID) if event.kind != "lifecycle"]
        assert kinds == ["user_msg", "tool_call", "error", "assistant_msg"]
        session = store.sessions.get(UID)
        assert session.cwd == "/home/mira/app" and session.cost.output_tokens == 3
        check_sound(store)
        check_restores(store, None, tmp_path / "again")


def test_both_programs_in_one_home_keep_their_sessions_apart(tmp_path: Path) -> None:
    one_session(tmp_path)
    one_session(tmp_path, program="opencode")
    with collected(tmp_path) as store:
        assert sorted(store.sessions.uids()) == [UID, "opencode:ses_a"]


@pytest.mark.parametrize("place", [".", ".local/share", ".local/share/kilo"])
def test_the_database_is_found_from_a_home_and_from_its_directory(
    tmp_path: Path, place: str
) -> None:
    one_session(tmp_path)
    assert [ref.session for ref in AGENT.discover(tmp_path / place)] == ["ses_a"]


def test_a_copied_database_belongs_to_one_adapter(tmp_path: Path) -> None:
    made = one_session(tmp_path / "home")
    (tmp_path / "backup" / "old").mkdir(parents=True)
    made.path.rename(tmp_path / "backup" / "old" / "kilo.db")
    with collected(tmp_path / "backup") as store:
        assert list(store.sessions.uids()) == [UID]


def test_the_program_resumes_its_own_sessions_but_no_tasks_of_the_extension(tmp_path: Path) -> None:
    one_session(tmp_path)
    task = tmp_path / ".config/Code/User/globalStorage/kilocode.kilo-code/tasks/17948"
    task.mkdir(parents=True)
    said = {"ts": 1_794_800_000_000, "type": "say", "say": "text", "text": "go"}
    (task / "ui_messages.json").write_text(json.dumps([said]))
    with collected(tmp_path) as store:
        assert resume(store, store.sessions.get(UID), "host").argv == ("kilo", "--session", "ses_a")
        with pytest.raises(CannotResume, match="kilo:17948 is not known"):
            resume(store, store.sessions.get("kilo:17948"), "host")


def task(call: str, child: str, **given: str) -> dict[str, Any]:
    output = f'<task id="{child}" state="completed">\nSix words.\n</task>'
    done = tool(call, "", output=output, metadata={"sessionId": child})
    done["state"]["input"] = {"prompt": "count the words", **given}
    return {**done, "tool": "task"}


def forked_with_subagent(home: Path) -> OpencodeHome:
    """A session with a subagent that worked twice, and its fork, as Kilo 7.7.7 copies them: a new
    session has a smaller id than an older one."""
    made = OpencodeHome(home, program="kilo")
    session, child = made.session("ses_z9"), made.session("ses_z8", parent="ses_z9")
    made.prompt(session, "use a helper")
    made.answer(session, task("c1", child), used=11)
    made.answer(session, task("c2", child, task_id=child), text(f"{child} has answered."), used=22)
    made.prompt(child, "count the words")
    made.answer(child, tool("c3", "wc README.md", output="6"), text("Six words."), used=33)
    renamed = {"ses_z9": "ses_a2", "ses_z8": "ses_a1"}
    made.fork(session, "ses_a2", **renamed)
    made.fork(child, "ses_a1", "ses_a2", **renamed)
    return made


@pytest.mark.parametrize("goes_on", [False, True], ids=["copied", "goes on in the fork"])
def test_a_forks_copies_of_subagents_repeat_those_of_the_origin(
    tmp_path: Path, goes_on: bool
) -> None:
    made = forked_with_subagent(tmp_path)
    made.prompt("ses_a2", "in the copy")
    made.answer("ses_a2", text("Here."), used=44)
    if goes_on:
        made.prompt("ses_a1", "count again")
        made.answer("ses_a1", text("Still six."), used=55)
    made.close()
    with collected(tmp_path) as store:
        check_sound(store)
        assert store.problems.count() == 0
        found = {one.native_session_id: one for one in store.sessions.every()}
        assert {name: (one.parent_uid, one.relation) for name, one in found.items()} == {
            "ses_z9": (None, None),
            "ses_z8": ("kilo:ses_z9", "subagent"),
            "ses_a2": ("kilo:ses_z9", "fork"),
            "ses_a1": ("kilo:ses_a2", "subagent"),
        }
        used = {name: one.cost.input_tokens for name, one in found.items()}
        assert used == {"ses_z9": 33, "ses_z8": 33, "ses_a2": 44, "ses_a1": 55 * goes_on}
        own = [event.native_kind for event in events_of(store, "kilo:ses_a1")]
        assert own[:1] == ["session/fork"] and (len(own) > 1) == goes_on
        copied = inherited_by(store, "kilo:ses_a1")
        assert len(copied) == len(events_of(store, "kilo:ses_z8"))


def test_a_copied_subagent_with_nothing_of_its_own_does_not_count_as_the_origin(
    tmp_path: Path,
) -> None:
    made = OpencodeHome(tmp_path, program="kilo")
    with new_store() as store:
        session, child = made.session("ses_z9"), made.session("ses_z8", parent="ses_z9")
        made.prompt(session, "use a helper")
        made.prompt(child, "count the words")
        made.answer(child, text("Six words."), used=33)
        collect(store, tmp_path)
        made.fork(session, "ses_a2")
        made.fork(child, "ses_a1", "ses_a2")
        collect(store, tmp_path)
        check_sound(store)
        [usage] = every_usage(store)
        assert usage.session_uid == "kilo:ses_z8"
    made.close()
