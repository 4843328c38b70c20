"""``live``: look at the sessions of agent runtimes and move them, from a shell."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from session_memory.cli import main
from session_memory.live.store import SessionStore
from session_memory.testing.stores import write_empty_store

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

ONE, TWO = "sess_4f1c0000", "sess_4f2d0000"


@pytest.fixture
def live(home: Path) -> Iterator[SessionStore]:
    """Two sessions: one with four exchanges and an open call, and one that is hostile."""
    place = os.environ.get("SESSION_MEMORY_STORE")
    if place is None:
        place = str(home / ".session-memory" / "memory.db")
        write_empty_store(Path(place))
    with SessionStore.open(place, durability="normal") as store:
        store.create_session(session_id=ONE, model="m", cwd="/src")
        for number in range(4):
            store.append_message(ONE, role="user", content=f"question {number}")
            store.append_message(ONE, role="assistant", content=f"answer {number}")
        call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
        store.append_message(ONE, role="assistant", content=[call])
        store.create_session(session_id=TWO, title="\x1b[2J\u202e", metadata={"nan": float("nan")})
        store.append_message(TWO, role="user", content="\x1b[31m\0\ud800 evil")
        yield store


def answered(result: Any) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def seqs(live: SessionStore, session: str = ONE) -> list[int]:
    return [message.seq for message in live.load_active_messages(session)]


# ---------------------------------------------------------------- looking


def test_closed_and_archived_sessions_are_not_unknown(
    live: SessionStore, run: Any, home: Path
) -> None:
    live.create_session(session_id="kiln", metadata={"imported_from": "mycode:old"})
    for name in (ONE, f"live:{ONE}", "mycode:old"):
        answered(run("live", "show", name, "--json"))
    live.close_session(ONE)
    shown = answered(run("live", "show", ONE, "--json"))
    assert (shown["session"]["status"], len(shown["messages"])) == ("closed", 9)
    run("sync", "--analyze")
    config = home / "small.toml"
    config.write_text("[retention]\nraw_soft_cap_bytes = 0\narchive_small = true\n")
    run("retain", "--config", str(config))
    for name in (ONE, f"live:{ONE}"):
        result = run("live", "show", name, "--json")
        error = json.loads(result.stderr)["error"]
        assert (result.exit_code, error["kind"]) == (1, "unknown_live_session")
        assert "is archived" in error["message"] and f"restore live:{ONE}" in error["hint"]


def test_list_shows_the_newest_first_and_filters(live: SessionStore, run: Any) -> None:
    listed = [row["session_id"] for row in answered(run("live", "list", "--json"))["sessions"]]
    assert listed == [TWO, ONE]
    here = answered(run("live", "list", "--cwd", "/src/.", "--json"))["sessions"]
    assert [row["session_id"] for row in here] == [ONE]
    live.archive_session(TWO)
    archived = answered(run("live", "list", "--status", "archived", "--json"))["sessions"]
    assert [row["session_id"] for row in archived] == [TWO]
    assert len(answered(run("live", "list", "--limit", "1", "--json"))["sessions"]) == 1
    shown = run("live", "list").stdout
    assert ONE in shown and "question 0" in shown


def test_list_shows_subagents_when_asked(live: SessionStore, run: Any) -> None:
    live.create_session(session_id="child", parent_session_id=ONE)
    assert len(answered(run("live", "list", "--json"))["sessions"]) == 2
    assert len(answered(run("live", "list", "--subagents", "--json"))["sessions"]) == 3


def test_nothing_is_nothing(live: SessionStore, run: Any) -> None:
    result = run("live", "list", "--cwd", "/nowhere")
    assert result.exit_code == 0 and "No live session matches" in result.stderr


@pytest.mark.no_store
def test_a_list_without_sessions_says_where_they_come_from(home: Path, run: Any) -> None:
    write_empty_store(home / ".session-memory" / "memory.db")
    assert "No live sessions. docs/live.md" in run("live", "list").stderr


def test_a_list_that_ends_at_its_limit_says_so(live: SessionStore, run: Any) -> None:
    assert "--limit 0 lists all" in run("live", "list", "--limit", "2").stderr
    assert run("live", "list", "--limit", "3").stderr == ""


def test_show_has_messages_folds_and_open_calls(live: SessionStore, run: Any) -> None:
    view = answered(run("live", "show", ONE, "--json"))
    assert (view["head"], view["session"]["session_id"]) == (9, ONE)
    assert [message["seq"] for message in view["messages"]] == list(range(1, 10))
    assert [call["call_id"] for call in view["pending"]] == ["t1"]
    shown = run("live", "show", ONE).stdout
    assert "question 0" in shown and '→ bash({"command": "ls"})' in shown
    assert "open: bash (t1), called by message 9" in shown
    assert "command: ls" in run("live", "show", ONE, "--full").stdout


def test_show_writes_nothing(live: SessionStore, run: Any) -> None:
    before = live.get_session(ONE), live.head(ONE)
    for words in (("show", ONE), ("export", ONE), ("tail", ONE, "--no-follow"), ("list",)):
        assert run("live", *words).exit_code == 0
    assert (live.get_session(ONE), live.head(ONE)) == before


def test_what_was_folded_and_rewound_is_shown_marked(live: SessionStore, run: Any) -> None:
    live.record_compaction(ONE, from_seq=1, to_seq=2, note_content="the first")
    live.rewind(ONE, 8)
    view = answered(run("live", "show", ONE, "--which", "all", "--json"))
    states = {message["seq"]: message["state"] for message in view["messages"]}
    assert (states[1], states[3], states[9]) == ("compacted_out", "active", "rewound")
    assert "[rewound]" in run("live", "show", ONE, "--which", "all").stdout
    assert "[" not in run("live", "show", ONE, "--which", "path").stdout


@pytest.mark.parametrize("words", [("list",), ("show", TWO), ("show", TWO, "--full")])
def test_hostile_sessions_are_shown_escaped(words: Any, live: SessionStore, run: Any) -> None:
    result = run("live", *words)
    assert result.exit_code == 0
    assert not set("\x1b\0\u202e\ud800") & set(result.stdout)


def test_hostile_sessions_are_valid_json(live: SessionStore, run: Any) -> None:
    for words in (("list",), ("show", TWO), ("export", TWO)):
        result = run("live", *words, "--json")
        assert result.stdout.isascii() and json.loads(result.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("words", [("show",), ("show", "--full"), ("show", "--json"), ("export",)])
def test_what_is_nested_very_deep_is_named_not_opened(
    words: tuple[str, ...], live: SessionStore, run: Any
) -> None:
    deep: list[Any] = []
    for _ in range(800):
        deep = [deep]
    live.append_message(TWO, role="user", content=[{"type": "text", "text": "x", "deep": deep}])
    result = run("live", words[0], TWO, *words[1:])
    assert result.exit_code == 0, result.stderr


# ---------------------------------------------------------------- naming


@pytest.mark.parametrize("word", [ONE, "sess_4f1", "4f1c"])
def test_a_session_answers_to_a_beginning_of_its_id(
    word: str, live: SessionStore, run: Any
) -> None:
    assert answered(run("live", "show", word, "--json"))["session"]["session_id"] == ONE


@pytest.mark.parametrize(
    ("word", "kind", "hint"),
    [
        ("sess_4f", "ambiguous_session", f"Give more of the one you mean: {TWO}, {ONE}"),
        ("x", "ambiguous_session", "Give 4 or more characters"),
        ("", "ambiguous_session", "Give 4 or more characters"),
        ("..", "ambiguous_session", "Give 4 or more characters"),
        ("nobody", "unknown_live_session", "session-memory live list"),
        ("/etc/passwd", "unknown_live_session", "session-memory live list"),
        ("../../../x", "unknown_live_session", "session-memory live list"),
        ("x" * 10_000, "unknown_live_session", "session-memory live list"),
        ("ünïcode", "unknown_live_session", "session-memory live list"),
    ],
)
def test_a_word_that_names_none_is_refused(
    word: str, kind: str, hint: str, live: SessionStore, run: Any
) -> None:
    for name in ("show", "repair", "undo", "compact", "export", "tail", "fork"):
        result = run("live", name, word, "--json")
        assert (result.exit_code, result.stdout) == (1, "")
        error = json.loads(result.stderr)["error"]
        assert error["kind"] == kind and hint in error["hint"]


@pytest.mark.only("sqlite")
def test_without_a_store_there_is_a_hint_and_none_is_made(home: Path, run: Any) -> None:
    result = run("live", "list")
    assert result.exit_code == 1 and "no store at" in result.stderr
    assert not (home / ".session-memory").exists()


# ---------------------------------------------------------------- moving


def test_rewind_and_undo_go_back_and_forth(live: SessionStore, run: Any) -> None:
    printed = answered(run("live", "rewind", ONE, "4", "--json"))
    assert printed == {"session_id": ONE, "from": 9, "to": 4}
    assert seqs(live) == [1, 2, 3, 4]
    assert answered(run("live", "undo", ONE, "--json")) == {"session_id": ONE, "head": 9}
    assert seqs(live) == list(range(1, 10))
    assert f"session-memory live undo {ONE}" in run("live", "rewind", ONE, "0").stdout
    assert "is at message 9 again" in run("live", "undo", ONE).stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("rewind", ONE, "99"), 1, "message 99 is not on the path"),
        (("rewind", ONE, "-1"), 2, "no such option '-1'"),
        (("rewind", ONE, "two"), 2, "'two' is not a whole number"),
        (("rewind", ONE), 2, "missing argument 'SEQ'"),
        (("undo", ONE), 1, "has no rewind or clear to undo"),
        (("undo", ONE, "--compaction"), 1, "cannot undo a compaction"),
        (("fork", ONE, "--at", "99"), 1, "message 99 is not on the path"),
        (("fork", ONE, "--id", "../x"), 1, "session_id is not usable"),
        (("fork", ONE, "--id", TWO), 1, "exists already"),
        (("shw", ONE), 2, "no such command 'shw'"),
        (("compact", ONE, "--note", "/nowhere/note"), 2, "/nowhere/note"),
    ],
)
def test_what_cannot_be_done_says_why_and_changes_nothing(
    words: tuple[str, ...], status: int, message: str, live: SessionStore, run: Any
) -> None:
    result = run("live", *words)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr.splitlines()[0].lower() or message in result.stderr
    assert seqs(live) == list(range(1, 10))


@BOTH
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("rewind", ONE, "99"), f"session-memory live show {ONE} --which path"),
        (("undo", ONE), f"session-memory live undo {ONE} --compaction"),
        (("undo", ONE, "--compaction"), f"See the compactions: session-memory live show {ONE}"),
    ],
)
def test_a_hint_has_a_command_for_this_session(
    words: Any, hint: str, live: SessionStore, run: Any
) -> None:
    assert hint in run("live", *words).stderr


def test_an_archived_session_refuses_to_move(live: SessionStore, run: Any) -> None:
    live.archive_session(ONE)
    for words in (("rewind", ONE, "1"), ("repair", ONE), ("compact", ONE, "--keep", "0")):
        result = run("live", *words)
        assert result.exit_code == 1 and "is archived" in result.stderr


def test_fork_prints_the_id_of_a_session_with_the_same_past(live: SessionStore, run: Any) -> None:
    new = run("live", "fork", ONE, "--at", "4").stdout.strip()
    assert seqs(live, new) == [1, 2, 3, 4]
    printed = answered(run("live", "fork", ONE, "--id", "try-2", "--title", "again", "--json"))
    assert printed == {"session_id": "try-2", "forked_from": ONE, "forked_at": 9}
    row = live.get_session("try-2")
    assert row is not None and row.title == "again"


def test_compact_folds_behind_a_summary_and_undo_unfolds(live: SessionStore, run: Any) -> None:
    printed = answered(run("live", "compact", ONE, "--keep", "2", "--json"))
    assert printed["members"] == [1, 2, 3, 4]
    note = live.load_active_messages(ONE)[0]
    assert (note.seq, note.name) == (printed["note_seq"], "compact_note")
    assert "question 0" in str(note.content)
    undone = answered(run("live", "undo", ONE, "--compaction", "--json"))
    assert undone == {"session_id": ONE, "compact_seq": printed["compact_seq"]}
    assert seqs(live) == list(range(1, 10))


def test_compact_takes_a_note_from_a_file_or_from_standard_input(
    live: SessionStore, run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "note.md"
    file.write_text("from a file, ünïcode", encoding="utf-8")
    assert run("live", "compact", ONE, "--keep", "3", "--note", str(file)).exit_code == 0
    assert live.load_active_messages(ONE)[0].content == "from a file, ünïcode"
    result = run("live", "compact", ONE, "--keep", "2", "--note", "-", input="from a pipe\n")
    assert "--compaction" in result.stdout
    assert live.load_active_messages(ONE)[0].content == "from a pipe\n"


@pytest.mark.parametrize(
    ("note", "message"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"\xff\xfe", "UTF-8"), (b"x" * 1_000_001, "longer")],
)
def test_a_note_that_is_none_is_refused(
    note: bytes, message: str, live: SessionStore, run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "note"
    file.write_bytes(note)
    result = run("live", "compact", ONE, "--note", str(file))
    assert result.exit_code == 2 and message in result.stderr
    assert seqs(live) == list(range(1, 10))


def test_compact_with_nothing_to_fold_says_so(live: SessionStore, run: Any) -> None:
    result = run("live", "compact", ONE, "--keep", "50")
    assert result.exit_code == 0 and "Nothing to fold" in result.stderr
    printed = answered(run("live", "compact", ONE, "--keep", "50", "--json"))
    assert printed == {"session_id": ONE, "members": [], "compact_seq": None, "note_seq": None}


def test_repair_answers_every_open_call_once(live: SessionStore, run: Any) -> None:
    assert answered(run("live", "repair", ONE, "--json")) == {"session_id": ONE, "repaired": [10]}
    assert live.pending(ONE) == []
    assert run("live", "repair", ONE).stdout == f"0 calls answered in {ONE}\n"


# ---------------------------------------------------------------- export and tail


def test_export_writes_either_shape(live: SessionStore, run: Any) -> None:
    live.append_message(ONE, role="tool", content="files", tool_call_id="t1")

    def lines(shape: str) -> list[Any]:
        result = run("live", "export", ONE, "--shape", shape)
        return [json.loads(line) for line in result.stdout.splitlines()]

    blocks, chat = lines("blocks"), lines("chat")
    assert blocks[0] == {"role": "user", "content": [{"type": "text", "text": "question 0"}]}
    assert blocks[-1]["content"][0]["tool_use_id"] == "t1"
    assert chat[0] == {"role": "user", "content": "question 0"}
    assert chat[-2]["tool_calls"][0]["id"] == chat[-1]["tool_call_id"] == "t1"
    whole = answered(run("live", "export", ONE, "--json"))
    assert whole["messages"] == blocks


def test_export_to_a_file_is_private_and_overwrites_nothing(
    live: SessionStore, run: Any, tmp_path: Path
) -> None:
    file = tmp_path / "messages.jsonl"
    printed = answered(run("live", "export", ONE, "--output", str(file), "--json"))
    assert printed == {"session_id": ONE, "path": str(file), "messages": 9}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert len(before.splitlines()) == 9
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for target in (file, link):
        result = run("live", "export", ONE, "--output", str(target))
        assert result.exit_code == 1
    assert file.read_bytes() == before and not (tmp_path / "elsewhere").exists()


def test_tail_begins_where_it_is_told(live: SessionStore, run: Any) -> None:
    def tail(*words: str) -> list[int]:
        result = run("live", "tail", ONE, "--no-follow", "--json", *words)
        return [json.loads(line)["seq"] for line in result.stdout.splitlines()]

    assert tail("--lines", "3") == [7, 8, 9]
    assert tail("--lines", "0") == []
    assert tail("--after", "6") == [7, 8, 9]
    assert "answer 3" in run("live", "tail", ONE, "--no-follow").stdout


@BOTH
def test_tail_does_not_show_rewound_messages_as_new(live: SessionStore, run: Any) -> None:
    def tail(*words: str) -> list[int]:
        result = run("live", "tail", ONE, "--no-follow", "--json", *words)
        return [json.loads(line)["seq"] for line in result.stdout.splitlines()]

    live.rewind(ONE, 4)
    assert tail("--lines", "2") == [3, 4]
    live.append_message(ONE, role="user", content="another way")
    assert tail("--lines", "2") == [4, 10]
    assert tail("--after", "8") == [9, 10]


def test_tail_follows_what_another_process_appends(live: SessionStore, start: Any) -> None:
    tail = start("live", "tail", ONE, "-n", "1", "--json", stdout=subprocess.PIPE)
    assert json.loads(tail.stdout.readline())["seq"] == 9
    live.append_message(ONE, role="user", content="are you there?")
    assert json.loads(tail.stdout.readline())["content"] == "are you there?"
    live.close_session(ONE)
    assert tail.wait(timeout=30) == 0
    assert tail.stdout.read() == b""
    tail.stdout.close()


def test_ctrl_c_ends_a_tail_quietly(live: SessionStore, start: Any) -> None:
    tail = start("live", "tail", ONE, "-n", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tail.stdout.readline()
    live.append_message(ONE, role="user", content="following")
    assert b"following" in tail.stdout.readline()
    tail.send_signal(signal.SIGINT)
    out, errors = tail.communicate(timeout=30)
    assert (tail.returncode, out, errors) == (0, b"", b"")


def test_a_tail_that_nobody_reads_any_more_ends(live: SessionStore, start: Any) -> None:
    tail = start("live", "tail", ONE, "-n", "1", stdout=subprocess.PIPE)
    tail.stdout.readline()
    tail.stdout.close()
    assert tail.wait(timeout=30) == 0


# ---------------------------------------------------------------- completion


def test_sessions_are_completed(live: SessionStore) -> None:
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")
    found = complete.get_completions(["live", "show"], "sess_4f1")
    assert [item.value for item in found] == [ONE]
    both = complete.get_completions(["live", "rewind"], "")
    assert [item.value for item in both] == [TWO, ONE]


@pytest.mark.only("sqlite")
def test_completion_without_a_store_completes_nothing() -> None:
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")
    assert complete.get_completions(["live", "show"], "") == []
    names = [item.value for item in complete.get_completions(["live"], "re")]
    assert names == ["repair", "rewind"]
