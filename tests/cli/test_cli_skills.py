"""skill-log and skills: a shell that logs calls, and what is learned from them."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

TIME = "2026-07-01T10:00:00.123456789+02:00"


@pytest.fixture
def logs(home: Path) -> Path:
    return home / ".session-memory" / "skills"


@pytest.fixture
def append(run):
    """Log one call; the exit status must be the one that is expected."""

    def add(status: str = "pass", *words: str, **more: Any) -> None:
        entry = {"session_id": "s1", "skill": "review", "final_status": status, **more}
        result = run("skill-log", "append", *words, input=json.dumps(entry))
        assert result.exit_code == 0, result.stderr

    return add


def error_of(result) -> dict[str, Any]:
    printed = json.loads(result.stderr)
    assert list(printed) == ["error"] and list(printed["error"]) == ["kind", "message", "hint"]
    return printed["error"]


# ---------------------------------------------------------------- skill-log


def test_an_entry_from_standard_input_is_logged_where_sync_looks(append, run, logs) -> None:
    append(timestamp=TIME, input={"b": 1, "a": 2}, mood="calm")
    (line,) = (logs / "s1.jsonl").read_text().splitlines()
    assert json.loads(line)["timestamp"] == TIME
    assert json.loads(line)["mood"] == "calm"
    assert stat.S_IMODE((logs / "s1.jsonl").stat().st_mode) == 0o600
    answer = json.loads(run("sync", "--json").stdout)
    assert (answer["discovered"], answer["sessions"], answer["problems"]) == (1, 1, 0)


def test_an_entry_without_a_time_gets_the_present_one(append, run) -> None:
    append()
    (entry,) = json.loads(run("skill-log", "read", "s1", "--json").stdout)["entries"]
    assert entry["timestamp"].endswith("Z")


def test_an_entry_without_an_end_is_refused(run, monkeypatch) -> None:
    monkeypatch.setattr("session_memory.cli.commands.learn.skill.append.LARGEST", 10)
    result = run("skill", "append", input="0" * 11)
    assert result.exit_code == 1
    assert "more than 10 bytes" in result.stderr


def test_append_says_where_it_went(run, logs) -> None:
    body = json.dumps({"session_id": "s1", "timestamp": TIME}, indent=2)
    result = run("skill-log", "append", "--json", input=body)
    assert json.loads(result.stdout) == {"session_id": "s1", "path": str(logs / "s1.jsonl")}


def test_a_directory_of_ones_own_can_be_named(append, run, tmp_path, logs) -> None:
    own = tmp_path / "own"
    append("pass", "--dir", str(own), session_id="x")
    assert run("skill-log", "sessions", "--dir", str(own)).stdout == "x\n"
    assert json.loads(run("skill-log", "sessions", "--json").stdout) == {"sessions": []}
    assert not logs.exists()


def test_the_configured_root_is_where_entries_go(append, run, home, tmp_path, logs) -> None:
    own = tmp_path / "team"
    config = home / ".session-memory" / "config.toml"
    config.parent.mkdir(mode=0o700)
    config.write_text(f'[sources.skill]\nroots = ["{own}"]\n')
    append()
    assert (own / "s1.jsonl").exists() and not logs.exists()
    assert json.loads(run("sync", "--json").stdout)["sessions"] == 1


def test_a_session_can_be_read_as_text(append, run) -> None:
    append(timestamp=TIME, input="line one\nline two \x1b[31m", message="fine")
    result = run("skill-log", "read", "s1")
    assert "skill: review" in result.stdout
    assert "\x1b" not in result.stdout
    assert "1 call" in result.stderr


def test_what_cannot_be_read_is_told_and_changes_the_exit_status(append, run, logs) -> None:
    append()
    size = (logs / "s1.jsonl").stat().st_size
    with (logs / "s1.jsonl").open("ab") as file:
        file.write(b'{"torn\n')
    answer = run("skill-log", "read", "s1", "--json")
    assert answer.exit_code == 3
    printed = json.loads(answer.stdout)
    assert len(printed["entries"]) == 1
    assert [(one["offset"], one["length"]) for one in printed["problems"]] == [(size, 7)]
    text = run("skill-log", "read", "s1")
    assert text.exit_code == 3
    assert f"byte {size}:" in text.stderr


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", "invalid_record"),
        ("not json", "invalid_record"),
        ("[]", "invalid_record"),
        ("[" * 100_000, "invalid_record"),
        ("{}", "invalid_record"),
        ('{"session_id": "../../x"}', "invalid_id"),
        ('{"session_id": ""}', "invalid_id"),
        ('{"session_id": "s", "timestamp": "yesterday"}', "invalid_time"),
        ('{"session_id": "s", "input": NaN}', "invalid_record"),
        ('{"session_id": "s", "attempts": [{"verified": "yes"}]}', "invalid_record"),
    ],
)
def test_what_is_no_entry_is_refused_and_nothing_is_written(body, kind, run, home) -> None:
    result = run("skill-log", "append", "--json", input=body)
    assert result.exit_code == 1
    assert error_of(result)["kind"] == kind
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("session", ["../../x", "..", "/etc/passwd", "a/../b", "", "x" * 10_000])
def test_an_id_is_never_a_path(session, run) -> None:
    result = run("skill-log", "read", "--json", "--", session)
    assert result.exit_code == 1
    assert error_of(result)["kind"] == "invalid_id"


@pytest.mark.parametrize("words", [("read",), ("append", "s1"), ("sessions", "s1"), ("erase",)])
def test_a_wrong_call_is_a_usage_error(words, run) -> None:
    assert run("skill-log", *words).exit_code == 2


# ---------------------------------------------------------------- skills


def test_rates_models_and_advice_are_shown(append, run) -> None:
    for status in ("pass", "pass", "fail", "fail", "pass", "skip"):
        append(status, model_used="big")
    for _ in range(5):
        append("ok", skill="lint", model_used="small")
    run("sync")
    answer = json.loads(run("skills", "--json").stdout)
    assert list(answer) == ["skills"]
    lint, review = answer["skills"]
    assert review == {
        "skill": "review",
        "window": "all",
        "model": None,
        "pass": 3,
        "fail": 2,
        "skip": 1,
        "other": 0,
        "total": 6,
        "pass_rate": 3 / 5,
        "attempts": 0,
        "verified": 0,
        "try_rate": None,
        "evidence": 5,
        "advice": "thinking",
        "models": review["models"],
    }
    assert [(model["model"], model["total"]) for model in review["models"]] == [("big", 6)]
    assert (lint["pass_rate"], lint["advice"]) == (1.0, "fast")


def test_the_table_says_the_same(append, run) -> None:
    append("pass", model_used="big", attempts=[{"model": "big", "verified": True}])
    append("fail", model_used="small", attempts=[{"model": "small"}])
    run("sync")
    title, skill, big, small = run("skills").stdout.splitlines()
    assert title.split()[:3] == ["skill", "window", "model"]
    assert skill.split() == ["review", "all", "1", "1", "0", "2", "50%", "1/2", "50%", "sample"]
    assert big.split() == ["big", "1", "0", "0", "1", "100%", "1/1", "100%"]
    assert small.split() == ["small", "0", "1", "0", "1", "0%", "0/1", "0%"]


def test_a_call_counts_once_before_and_after_a_sync(append, run) -> None:
    run("sync")
    for number in range(1, 4):
        append("pass")
        (row,) = json.loads(run("skills", "--json").stdout)["skills"]
        assert row["pass"] == number
        run("sync")


@BOTH
def test_skills_can_be_chosen_by_name_model_and_window(append, run) -> None:
    append("pass", model_used="big")
    append("fail", model_used="small", timestamp="2020-01-01T00:00:00Z")
    append("pass", skill="lint", model_used="small")
    run("sync")

    def printed(*words: str) -> list[tuple[str, str, int]]:
        answer = json.loads(run("skills", "--json", *words).stdout)["skills"]
        return [(one["skill"], one["window"], one["total"]) for one in answer]

    assert printed("--skill", "rev*") == [("review", "all", 2)]
    assert printed("--model", "big") == [("review", "all", 1)]
    windows = printed("--skill", "review", "--window", "7d", "--window", "all")
    assert windows == [("review", "7d", 1), ("review", "all", 2)]
    assert printed("--skill", "nobody") == []


def test_a_window_that_is_none_is_refused(run) -> None:
    run("sync")
    result = run("skills", "--window", "soon", "--json")
    assert result.exit_code == 1
    assert error_of(result)["hint"] == "Write all, 30min, 12h, 7d or 2w."


def test_no_calls_is_an_empty_answer_with_a_way_on(run) -> None:
    run("sync")
    result = run("skills")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "skill append" in result.stderr
    assert json.loads(run("skills", "--json").stdout) == {"skills": []}


def test_no_match_is_not_called_an_empty_log(append, run) -> None:
    append()
    run("sync")
    assert "No skill call matches." in run("skills", "--skill", "other").stderr


def test_an_entry_without_a_session_id_shows_an_example(run) -> None:
    error = error_of(run("skill-log", "append", "--json", input='{"skill": "review"}'))
    assert error["message"] == "session_id is missing" and '"session_id"' in error["hint"]


def test_names_from_a_log_are_shown_made_safe(append, run) -> None:
    append(skill="evil\x1b[2J\u202ename", model_used="m\x07")
    run("sync")
    shown = run("skills").stdout
    assert "\x1b" not in shown and "\u202e" not in shown and "\x07" not in shown


def test_the_session_can_be_shown_like_any_other(append, run) -> None:
    append("fail", timestamp=TIME, input="the parser", project_root="/w/app")
    run("sync")
    answer = json.loads(run("show", "skill:s1", "--full", "--json").stdout)
    assert [event["kind"] for event in answer["events"]] == ["tool_call", "error"]
    assert answer["events"][0]["payload"]["timestamp"] == TIME
    assert answer["session"]["repo"] == "app"
    assert answer["usage"] == []
