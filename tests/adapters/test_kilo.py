"""Kilo Code since 7.0: opencode's database under its own name.

Tasks of the extension before it are in test_editor_tasks.py."""

import json
from pathlib import Path

import pytest
from opencode_home import OpencodeHome, text, tool

from session_memory.adapters.kilo import AGENT
from session_memory.testing.collecting import check_restores, check_sound, collected, events_of
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
