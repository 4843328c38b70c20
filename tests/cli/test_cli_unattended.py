"""Commands that nobody types: from a hook, a timer or a service; and what waits for them."""

import json
import re
import shlex
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from session_memory.config import default_store
from session_memory.memory.weekly_retro import last_week
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome

ON = "[retention]\nafter_sync = true\nraw_soft_cap_bytes = 0\narchive_small = true\n"


@pytest.fixture
def claude(home: Path) -> ClaudeHome:
    claude = ClaudeHome(home)
    for name in ("alpha", "beta"):
        log = claude.session(name)
        log.prompt("test it")
        log.run("pytest -q", "1 passed in 0.10s")
        log.answer("It passes.")
    claude.write()
    return claude


@pytest.fixture
def limited(home: Path) -> Path:
    """A configuration with retention on."""
    path = home / ".session-memory" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{ON}archive_dir = "{home / "archive"}"\n')
    return path


def shown(result: Result) -> Any:
    return json.loads(result.stdout)


def a_day_passes() -> None:
    with open_store(default_store()) as store, store.transaction():
        store.db.execute("update sources set discovered_at = discovered_at - 86400000")


def test_retain_says_what_waits_for_analysis(run, claude: ClaudeHome, limited: Path) -> None:
    # SWITCHING 0.69
    run("sync", "--quiet")
    for words in (("retain", "--dry-run"), ("retain",)):
        told = run(*words).stdout
        assert "Nothing can be evicted yet." in told
        assert "2 sessions (" in told and "must be analyzed first: session-memory analyze" in told
    report = shown(run("retain", "--json"))
    assert (report["waiting_for_analysis"], report["budget_evicted"]) == (2, 0)
    assert report["waiting_bytes"] > 0
    run("analyze", "alpha", "--quiet")
    report = shown(run("retain", "--json"))
    assert report["waiting_for_analysis"] == 1
    assert report["backstop_evicted"] + report["budget_evicted"] == 1
    run("analyze", "--quiet")
    told = run("retain").stdout
    assert "1 session evicted" in told and "analyzed first" not in told
    assert shown(run("retain", "--json"))["waiting_for_analysis"] == 0


@pytest.mark.only("sqlite")
def test_what_is_pinned_or_within_the_limits_does_not_wait(
    run, claude: ClaudeHome, limited: Path
) -> None:
    run("sync", "--quiet")
    run("pin", "alpha")
    assert shown(run("retain", "--json"))["waiting_for_analysis"] == 1
    limited.write_text("[retention]\nraw_max_age_days = 36500\n")
    told = run("retain").stdout
    assert "Nothing has to be evicted." in told and "analyzed" not in told


def test_doctor_says_what_waits_for_analysis(run, claude: ClaudeHome, limited: Path) -> None:
    # SWITCHING 0.69
    run("sync", "--quiet")

    def check() -> tuple[str, str] | None:
        report = shown(run("doctor", "--json"))
        found = [one for one in report["checks"] if one["name"] == "analysis"]
        assert report["store"]["waiting_for_analysis"] == (2 if found else 0)
        return (found[0]["status"], found[0]["text"]) if found else None

    text = "2 of 2 sessions wait for analysis"
    assert check() == ("warn", f"{text}; 2 of them over the limits of retention")
    assert "session-memory service install" in run("doctor").stdout
    # Without retention nothing needs the analysis.
    limited.write_text("[retention]\nafter_sync = false\n")
    assert check() == ("ok", text)
    run("analyze", "--quiet")
    assert check() is None


def test_a_hook_collects_analyzes_and_retains_silently(
    run, claude: ClaudeHome, limited: Path, home: Path
) -> None:
    # SWITCHING 0.63, 0.67: retention comes after the analysis, in the same run.
    run("sync", "--quiet")
    a_day_passes()
    stdin = json.dumps({"session_id": "alpha", "hook_event_name": "SessionEnd", "reason": "exit"})
    done = run("sync", "-q", "--analyze", input=stdin)
    assert (done.exit_code, done.output) == (0, "")
    assert shown(run("verify", "--json"))["evicted"] == 2


@pytest.mark.only("sqlite")
def test_a_sync_that_finds_nothing_analyzed_says_so(
    run, claude: ClaudeHome, limited: Path, home: Path
) -> None:
    run("sync", "--quiet")
    a_day_passes()
    assert "2 sessions (" in (told := run("sync").stderr) and "must be analyzed first" in told


@pytest.mark.only("sqlite")
def test_a_timer_writes_the_retrospective_of_last_week_once(run, home: Path) -> None:
    # SWITCHING 0.64, 0.102
    claude = ClaudeHome(home)
    day = last_week(datetime.now().astimezone()).since + timedelta(days=2)
    log = claude.session("alpha")
    log.prompt("test it", timestamp=day.isoformat())
    claude.write()
    words = ("sync", "--quiet", "--json", "--retro", str(home / "retros"))
    first, second = shown(run(*words)), shown(run(*words))
    assert Path(first["retro"]).read_text().startswith("# Retrospective of week ")
    assert (first["analysis"]["analyzed"], second["retro"]) == (1, None)
    assert "retro" not in shown(run("sync", "--json"))


@pytest.mark.only("sqlite")
def test_a_session_that_cannot_be_analyzed_does_not_keep_retention_from_running(
    run, claude: ClaudeHome, limited: Path
) -> None:
    run("sync", "--quiet")
    a_day_passes()
    with open_store(default_store()) as store, store.transaction():
        # A name that the store does not have.
        store.db.execute(
            "update events set tool = 99999 where session_id = (select min(id) from sessions)"
        )
    done = run("sync", "--quiet", "--analyze", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stderr)["error"]["kind"] == "analysis_failed"
    assert json.loads(done.stdout)["discovered"] == 2
    report = shown(run("retain", "--json"))
    assert (report["waiting_for_analysis"], report["budget_evicted"]) == (1, 0)


def test_the_hook_of_the_page_runs_as_it_is_written(start, run, claude: ClaudeHome) -> None:
    # SWITCHING 0.63
    page = (Path(__file__).parents[2] / "docs" / "watch.md").read_text()
    (block,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    hooks = json.loads(block)["hooks"]
    assert set(hooks) == {"Stop", "SessionEnd"}
    commands = {hook["command"] for [entry] in hooks.values() for hook in entry["hooks"]}
    (program, *words) = shlex.split(*commands)
    assert program == "session-memory"
    # Ten sessions end at once.
    running = [
        start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(10)
    ]
    sent = b'{"session_id": "alpha", "hook_event_name": "SessionEnd"}'
    assert [process.communicate(sent)[0] for process in running] == [b""] * 10
    assert {process.returncode for process in running} == {0}
    assert shown(run("analyze", "--json"))["unchanged"] == 2
