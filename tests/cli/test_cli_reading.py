"""show, timeline, tree, diff, files, commands, open and export, on the bundled sessions."""

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.cli.kit import output
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, call

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

STATION = "claude:91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"
FORK = "claude:e83b5c60-1f47-4a9d-b2c8-09d6f4e7a135"
IMPORT = "claude:7ac31f58-d904-4b6e-a1f7-3c58e2b90d64"
SUBAGENT = f"{IMPORT}:a5d20c71e9b3f648d"


@pytest.fixture
def printed(demo, run):
    """The JSON of a command."""

    def answer(*words: str):
        result = run(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return answer


# ---------------------------------------------------------------- show


def test_show_reads_as_a_conversation(demo, run) -> None:
    text = run("show", "7ac3").stdout
    lines = text.splitlines()
    assert "    0  21:14:40  you" in lines
    assert "▌ The nightly import prints hundreds of lines" in text
    assert "Bash $ npm run import:nightly 2>&1 | tee import.log" in text
    assert "… 23 more lines" in text
    assert "Edit  src/dates.ts  +4" in text
    assert "│ +  if (german) {" in text
    assert "turn 1 · 86 s · 362 tokens out · 74k cached · $0.0950" in text
    assert "cost     $0.11 with subagents, $0.0950 without" in text


def test_depth_says_how_much_is_shown(demo, run) -> None:
    user = run("show", "7ac3", "--depth", "user").stdout
    assert "The nightly import prints" in user and "I'll run the import" not in user
    assistant = run("show", "7ac3", "--depth", "assistant").stdout
    assert "I'll run the import" in assistant and "npm run" not in assistant
    full = run("show", "7ac3", "--depth", "full").stdout
    assert "more lines" not in full and "[420/420]" in full


def test_answers_are_styled_and_logs_are_not_markup(demo, run) -> None:
    styled = run("show", "7ac3", color=True).stdout
    assert "\x1b[32m+  if (german) {" in styled
    assert "\x1b" not in run("show", "7ac3", "--no-color", color=True).stdout


def test_the_json_of_sessions_has_their_cost(printed) -> None:
    listed = printed("sessions", "--limit", "0")
    assert set(listed["amounts"]) == {one["session_uid"] for one in listed["sessions"]}
    shown = printed("show", "7ac3")
    assert shown["amount"] == listed["amounts"][IMPORT]
    subagent = listed["amounts"][SUBAGENT]["microdollars"]
    whole = shown["amount"]["microdollars"] + subagent
    assert subagent > 0 and shown["with_subagents"]["microdollars"] == whole


# ---------------------------------------------------------------- the rest of looking


@BOTH
def test_a_timeline_has_clock_bar_and_duration(printed, run) -> None:
    answer = printed("timeline", "7ac3")
    assert answer["session"] == IMPORT
    sorts = [moment["sort"] for moment in answer["moments"]]
    assert sorts == ["prompt", "error", "error", *["tool"] * 2, "subagent", *["tool"] * 2, "turn"]
    lines = run("timeline", "7ac3").stdout.splitlines()
    (line,) = [line for line in lines if "npm run import:nightly" in line]
    assert line.startswith("21:14:48  ") and "━━━" in line and "31 s" in line


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("on_terminal", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 201])
def test_a_long_list_is_printed_as_if_it_were_printed_at_once(
    capsys, monkeypatch, count: int, on_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    items = [{"at": None, "text": "a\nb\x7f]}", "more": [number, {}]} for number in range(count)]
    output.print_json({"session": "x]}", "moments": items})
    whole = capsys.readouterr().out
    output.print_json_list({"session": "x]}"}, "moments", iter(items))
    assert capsys.readouterr().out == whole


def test_bars_of_a_timeline_leave_gaps_out(home, run) -> None:
    claude = ClaudeHome(home)
    log = claude.session("long0000")
    for _ in range(2):
        log.prompt("go")
        for number in range(6):
            log.answer(call("Bash", command=f"echo {number}"))
            log.clock.tick(20_000)
            log.result("done")
        log.clock.tick(57_480_000)
    claude.write()
    assert run("sync", "-q").exit_code == 0
    lines = run("timeline", "long0000").stdout.splitlines()
    (gap,) = [line for line in lines if "nothing happened" in line]
    assert "  15 h 58 min  …" in gap
    marks = [len(line) - len(line[10:].lstrip()) for line in lines if "Bash" in line]
    assert len(set(marks)) == 12 and marks == sorted(marks)
    ends = {line.index("▸") for line in lines if "▸" in line} | {gap.index("…")}
    assert len(ends) == 1


@BOTH
def test_a_tree_has_the_cost_of_every_member(printed, run) -> None:
    answer = printed("tree", "7ac3:a5")
    assert (answer["asked"], answer["sessions"]) == (SUBAGENT, 2)
    (child,) = answer["root"]["children"]
    assert (child["session_uid"], child["relation"]) == (SUBAGENT, "subagent")
    total = answer["root"]["own"]["microdollars"] + child["own"]["microdollars"]
    assert answer["root"]["total"]["microdollars"] == answer["amount"]["microdollars"] == total > 0
    text = run("tree", "e83b").stdout
    assert "├─ branch" in text and "└─ e83b5c60" in text
    assert "(abandoned branch) 2 events from 24 on" in text
    assert "2 sessions, $0.32 together" in text


@BOTH
def test_a_tree_says_how_many_sessions_are_too_deep_for_it(printed, run, monkeypatch) -> None:
    monkeypatch.setattr("session_memory.views.family.DEEPEST", 0)
    answer = printed("tree", "7ac3:a5")
    assert (answer["sessions"], answer["left_out"]) == (1, 1)
    assert "1 more session below the hundredth level" in run("tree", "7ac3:a5").stdout


def test_a_diff_is_one_that_programs_read(printed, run) -> None:
    answer = printed("diff", "91d4")
    assert answer["totals"] == {"files": 2, "edits": 5, "added": 20, "removed": 1}
    text = run("diff", "91d4", "--file", "fetch").stdout
    assert text.startswith("--- a/tidewatch/fetch.py\n+++ b/tidewatch/fetch.py\n@@ -4,7 +4,7 @@\n")
    assert "-    return parse(download(station))\n+    return parse(cached(" in text
    assert "tidewatch/cache.py  create      4  19  0" in run("diff", "91d4", "--stat").stdout
    assert "No file was changed" in run("diff", "7ac3:a5").stderr


@BOTH
def test_files_and_commands_take_a_session_or_filters(printed, run) -> None:
    assert [row["path"] for row in printed("files", "7ac3")["files"]] == ["src/dates.ts"]
    assert printed("files", "--repo", "tide*", "--since", "2026-07")["total"] == 5
    failed = printed("commands", "--state", "failed", "--repo", "seed-library")
    assert [one["exit_code"] for one in failed["commands"]] == [1]
    ran = printed("commands", "7ac3")["commands"]
    assert [one["session_uid"] for one in ran] == [IMPORT, IMPORT, SUBAGENT]
    assert printed("commands", "--limit", "1")["total"] > 1
    # The number counts calls, not commands, so it may be wrong by a few.
    assert re.search(
        r"The first 1 of about \d+ .*--limit 0", run("commands", "--limit", "1").stderr
    )
    assert run("files", "7ac3", "--repo", "x").exit_code == 2


# ---------------------------------------------------------------- open


def test_open_prints_the_command_and_says_that_the_log_is_gone(demo, run) -> None:
    result = run("open", "91d4")
    native = STATION.partition(":")[2]
    assert shlex.split(result.stdout) == [
        *("cd", "/home/mira/code/tidewatch", "&&", "claude", "--resume", native)
    ]
    assert f"session-memory restore-native {STATION}" in result.stderr
    assert "The session ran on demo" in result.stderr
    assert "is a subagent" in run("open", "7ac3:a5").stderr
    assert run("open", "91d4", "--run", "--web").exit_code == 2


def test_the_hint_of_a_subagent_names_its_parent_only_if_it_is_stored(home, run, tmp_path) -> None:
    copy = ClaudeHome(tmp_path / "copy", cwd="/w")
    log = copy.session("gone0000")
    log.prompt("one")
    copy.subagent(log, "a5").prompt("look around")
    root = copy.write()
    run("sync", "--root", str(root))
    assert "session-memory open claude:gone0000" in run("open", "gone0000:a5").stderr
    next(path for path in root.rglob("*.jsonl") if path.stem == "gone0000").unlink()
    other = ("--store", str(tmp_path / "other.db"))
    run("sync", "--root", str(root), *other)
    assert "Read it instead: session-memory show" in run("open", "gone0000:a5", *other).stderr


def test_open_says_what_keeps_it_from_working(home, run, tmp_path) -> None:
    copy = tmp_path / "copy" / ".claude" / "projects" / "-w" / "abcd1234.jsonl"
    copy.parent.mkdir(parents=True)
    line = {"type": "user", "uuid": "u1", "sessionId": "abcd1234", "cwd": "/nowhere/at/all"}
    copy.write_text(json.dumps({**line, "message": {"content": "hello"}}) + "\n")
    assert run("sync", "--root", str(tmp_path / "copy")).exit_code == 0
    result = run("open", "abcd")
    assert "The agent no longer has this log" in result.stderr
    assert "The directory of the session does not exist: /nowhere/at/all" in result.stderr
    printed = json.loads(run("open", "abcd", "--json").stdout)
    assert printed["is_gone"] is printed["is_cwd_gone"] is True


def test_open_runs_the_agent_where_it_was(home, run, start, tmp_path, monkeypatch) -> None:
    work = home / "a directory"
    work.mkdir()
    log = home / ".claude" / "projects" / "-w" / "abcd1234.jsonl"
    log.parent.mkdir(parents=True)
    line = {"type": "user", "uuid": "u1", "sessionId": "abcd1234", "cwd": str(work)}
    log.write_text(json.dumps({**line, "message": {"content": "hello"}}) + "\n")
    assert run("sync").exit_code == 0
    programs = tmp_path / "programs"
    programs.mkdir()
    agent = programs / "claude"
    agent.write_text(
        f"#!{sys.executable}\nimport os, sys\nprint(os.getcwd(), sys.argv[1:])\nexit(7)\n"
    )
    agent.chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    with start("open", "abcd1234", "--run", stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read().decode() == f"{work} ['--resume', 'abcd1234']\n"
    assert process.returncode == 7
    log.unlink()
    assert "no longer has the log" in run("open", "abcd1234", "--run").stderr


@BOTH
@pytest.mark.parametrize("cwd", ["/home/\x1b[2J", "relative", "/a\nrm -rf ~"])
def test_open_refuses_directories_that_are_none(demo, run, cwd) -> None:
    with open_store(demo) as store, store.transaction():
        sql = "update sessions set cwd = :cwd where uid = :uid"
        store.db.execute(sql, {"cwd": cwd, "uid": STATION})
    result = run("open", "91d4")
    assert result.exit_code == 1 and "not safe to start a program with" in result.stderr


def test_an_id_that_a_program_would_take_for_an_option_is_refused(home, run) -> None:
    log = home / ".claude" / "projects" / "-w" / "--dangerous.jsonl"
    log.parent.mkdir(parents=True)
    line = {"type": "user", "uuid": "u1", "sessionId": "--dangerous", "cwd": "/w"}
    log.write_text(json.dumps({**line, "message": {"content": "hello"}}) + "\n")
    assert run("sync").exit_code == 0
    result = run("open", "claude:--dangerous")
    assert result.exit_code == 1 and "not safe to start a program with" in result.stderr


# ---------------------------------------------------------------- export


@pytest.mark.parametrize("kind", ["markdown", "html", "jsonl"])
def test_a_transcript_is_private_and_never_overwrites(kind, demo, run, tmp_path: Path) -> None:
    target = tmp_path / "out" / "transcript"
    target.parent.mkdir()
    words = ("export", "--format", kind, "7ac3", "-o", str(target))
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["bytes"] == target.stat().st_size > 1000
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    before = target.read_bytes()
    assert run(*words).exit_code == 1 and target.read_bytes() == before
    assert before.decode() == run("export", "--format", kind, "7ac3").stdout
    link = tmp_path / "out" / "link"
    link.symlink_to(tmp_path / "elsewhere")
    assert "exists already" in run(*words[:-1], str(link)).stderr
    assert sorted(path.name for path in target.parent.iterdir()) == ["link", "transcript"]


def test_jsonl_is_one_object_a_line_for_many_sessions(demo, run) -> None:
    lines = run("export", "--format", "jsonl", "7ac3", "91d4").stdout.splitlines()
    printed = [json.loads(line) for line in lines]
    opened = [one["session"]["session_uid"] for one in printed if one["type"] == "session"]
    assert opened == [IMPORT, SUBAGENT, STATION]
    assert {one["type"] for one in printed} == {"session", "event", "turn", "end"}
    prompt = next(one for one in printed if one["type"] == "event")
    assert prompt["text"].startswith("The nightly import") and prompt["event"]["kind"] == "user_msg"


def test_markdown_for_a_model_has_what_was_said(demo, run) -> None:
    text = run("export", "--format", "markdown", "7ac3", "--depth", "assistant").stdout
    assert text.startswith("# Nightly import loses packets with German dates\n")
    assert "\n## You · 2026-11-10 21:14\n" in text and "\n## Claude · " in text
    assert "npm run" not in text


def test_the_portable_file_is_still_the_default(demo, run, tmp_path: Path) -> None:
    result = run("export", str(tmp_path / "all.smx"), "--json")
    assert set(json.loads(result.stdout)) == {"path", "sources", "bytes"}
    assert run("export", "-o", str(tmp_path / "one.smx"), "7ac3").exit_code == 0
    assert run("export").exit_code == 2
    assert run("export", "--format", "html").exit_code == 2
    assert run("export", "--format", "html", "7ac3", "91d4").exit_code == 2
