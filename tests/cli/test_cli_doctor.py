"""doctor: what is found where, what will be deleted, and how the store is."""

import json
import os
import shutil
import time

import msgspec
import pytest

from session_memory.adapters.claude import AGENT as claude
from session_memory.demo import demo_home
from session_memory.hooks.state import note_failure
from session_memory.testing.agents import installed

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

DAY = 86_400


@pytest.fixture
def logs(home):
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    return home / ".claude"


def aged(logs, days: float, name: str = "5b0c*") -> None:
    then = time.time() - days * DAY
    for path in logs.rglob(name):
        os.utime(path, (then, then))


@pytest.fixture
def checks(run):
    """The checks by name, with the exit status."""

    def examine() -> tuple[int, dict[str, list[dict]]]:
        result = run("doctor", "--json")
        answer = json.loads(result.stdout)
        found: dict[str, list[dict]] = {}
        for check in answer["checks"]:
            found.setdefault(check["name"], []).append(check)
        return result.exit_code, found

    return examine


@pytest.mark.no_store
def test_a_machine_without_logs_is_told_about_the_demo(home, run) -> None:
    result = run("doctor")
    assert result.exit_code == 3
    assert "no agent has left logs here" in result.stdout
    assert "session-memory demo" in result.stdout
    assert "no store at" in result.stdout
    assert list(home.iterdir()) == []


def test_what_was_found_where(logs, checks, run) -> None:
    _, found = checks()
    texts = [check["text"] for check in found["claude logs"]]
    assert any(f"{logs}: 10 files" in text for text in texts)
    roots = json.loads(run("doctor", "--json").stdout)["roots"]
    assert {root["path"]: root["exists"] for root in roots}[str(logs)] is True


def test_agents_that_are_not_there_share_one_line(logs, checks, run) -> None:
    _, found = checks()
    (missing,) = found["not found"]
    assert missing["status"] == "ok"
    named = missing["text"].split(", ")
    assert "aider" in named and "codex" in named and "claude" not in named
    assert "not there" not in run("doctor").stdout


def test_logs_that_will_be_deleted_are_counted_until_they_are_kept(logs, run, checks) -> None:
    aged(logs, 24.5)
    _, found = checks()
    (expiry,) = found["claude expiry"]
    assert expiry["status"] == "warn"
    assert "deletes 1 file within 7 days, 1 of them" in expiry["text"]
    assert expiry["hint"] == "Keep them now: session-memory sync"
    assert "6 days left: " in run("doctor").stdout
    run("sync")
    _, found = checks()
    assert found["claude expiry"][0]["status"] == "ok"
    assert "all of them kept whole" in found["claude expiry"][0]["text"]


def test_the_log_of_a_forgotten_session_is_not_at_risk(logs, run, checks) -> None:
    aged(logs, 29.5)
    run("sync")
    run("forget", "5b0c", "--yes")
    _, found = checks()
    assert found["claude expiry"][0]["text"] == "keeps 30 days; deletes nothing within 7 days"
    assert "not kept yet" not in run("status").stdout


def test_a_log_that_grew_since_is_at_risk_again(logs, run, checks) -> None:
    run("sync")
    (path,) = logs.rglob("5b0c*.jsonl")
    with path.open("a") as file:
        file.write("{}\n")
    aged(logs, 29.5)
    _, found = checks()
    assert found["claude expiry"][0]["status"] == "warn"


def test_the_agents_own_setting_is_respected(logs, checks) -> None:
    aged(logs, 25)
    (logs / "settings.json").write_text('{"cleanupPeriodDays": 365}')
    _, found = checks()
    assert found["claude expiry"][0]["text"] == "keeps 365 days; deletes nothing within 7 days"


@pytest.mark.only("sqlite")
def test_others_must_not_read_the_store(demo, checks) -> None:
    _, found = checks()
    assert [check["status"] for check in found["permissions"]] == ["ok"]
    demo.chmod(0o644)
    demo.parent.chmod(0o755)
    status, found = checks()
    hints = {check["hint"] for check in found["permissions"]}
    assert f"chmod 600 {demo}" in hints
    assert f"chmod 700 {demo.parent}" not in hints, "that directory is not ours to close"
    assert status == 3


def test_an_older_adapter_asks_for_a_rebuild(demo, checks) -> None:
    _, found = checks()
    assert "rebuild" not in found
    newer = msgspec.structs.replace(claude, version=claude.version + 1)
    with installed(newer, beside_ours=True):
        _, found = checks()
    (check,) = found["rebuild"]
    assert check["hint"] == "Read them again: session-memory store rebuild"


@pytest.mark.only("sqlite")
@pytest.mark.parametrize(("free", "status"), [(10 << 30, "ok"), (500 << 20, "warn"), (1, "bad")])
def test_little_space_is_a_warning_and_none_is_bad(free, status, demo, checks, monkeypatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    left, found = checks()
    assert found["disk"][0]["status"] == status
    if status == "bad":
        assert left == 1


def test_a_store_that_is_none_is_bad(home, run, tmp_path) -> None:
    path = tmp_path / "letter.db"
    path.write_text("Dear database, " * 100)
    result = run("doctor", "--store", str(path))
    assert result.exit_code == 1
    assert "bad " in result.stdout and "is not a store" in result.stdout


@pytest.mark.only("sqlite")
def test_quiet_shows_only_what_is_not_well(demo, run) -> None:
    demo.chmod(0o644)
    lines = run("doctor", "--quiet").stdout.splitlines()
    assert lines and not any(line.startswith("ok") for line in lines)


def test_all_well_is_status_0(logs, home, run) -> None:
    run("sync")
    result = run("doctor")
    assert result.exit_code == 0, result.stdout
    assert "adapters: aider" in result.stdout
    assert "1 piece of bad input" in result.stdout


def test_an_archive_that_is_gone_is_a_warning(logs, home, run, checks, tmp_path) -> None:
    run("sync", "--analyze")
    assert "archive" not in checks()[1]
    config = tmp_path / "small.toml"
    config.write_text("[retention]\nraw_max_age_days = 45\narchive_small = true\n")
    run("retain", "--config", str(config))
    [archive] = tmp_path.rglob("archive")
    assert [check["status"] for check in checks()[1]["archive"]] == ["ok"]
    shutil.rmtree(archive)
    status, found = checks()
    [check] = found["archive"]
    assert (status, check["status"]) == (3, "warn")
    assert "1 of 1 file with evicted sessions" in check["text"] and "archive_dir" in check["hint"]


def test_hooks_that_failed_are_told(home, checks) -> None:
    _, found = checks()
    assert "hooks" not in found
    note_failure("claude", "failure", "the store is locked")
    note_failure("codex", "end", "no store at \x1b[31m/x")
    status, found = checks()
    assert status == 3
    (check,) = found["hooks"]
    assert check["status"] == "warn" and "2 failures within 7 days" in check["text"]
    assert "\x1b" not in check["text"] and "session-memory sync" in check["hint"]
