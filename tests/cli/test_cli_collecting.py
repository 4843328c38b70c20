"""sync and demo: what they print, what they leave, how they end."""

import json
import shutil
import subprocess
import sys

import pytest

from session_memory.demo import demo_home
from session_memory.store import open_store
from session_memory.views.figures import size

# A server gets every statement from the few that run on both databases.
pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")

FIELDS = ["discovered", "ingested", "unchanged", "failed", "problems"]
FIELDS += ["sessions", "events", "bytes", "seconds"]


@pytest.fixture
def logs(home):
    """The bundled logs, as if they were the user's own."""
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    return home / ".claude"


def test_the_report_of_a_sync_is_its_nine_figures(logs, run) -> None:
    result = run("sync", "--json")
    report = json.loads(result.stdout)
    assert list(report) == FIELDS
    assert report["discovered"] == sum(report[name] for name in FIELDS[1:4]) == 9
    assert (report["ingested"], report["problems"], report["sessions"]) == (9, 1, 8)
    again = json.loads(run("sync", "--json").stdout)
    assert (again["unchanged"], again["ingested"], again["events"], again["bytes"]) == (9, 0, 0, 0)


def test_new_problems_are_status_3_and_known_ones_are_not(logs, run) -> None:
    first = run("sync")
    assert first.exit_code == 3
    assert "What could not be read: session-memory problems" in first.stdout
    assert first.stdout.splitlines()[-1] == "Next: session-memory sessions"
    second = run("sync")
    assert second.exit_code == 0
    assert "The store notes 1 problem." in " ".join(second.stdout.split())


def test_a_file_that_cannot_be_read_is_status_3_every_time(logs, run) -> None:
    (logs / "projects" / "-x.jsonl").mkdir()
    (logs / "projects" / "-p" / "loop.jsonl").mkdir(parents=True)
    assert run("sync").exit_code == 3
    result = run("sync", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["failed"] >= 1


@BOTH
def test_the_summary_says_what_was_done_in_one_paragraph(logs, run, database) -> None:
    text = " ".join(run("sync").stdout.split())
    assert text.startswith("Discovered 9 sources: 9 new or grown, 0 unchanged, 0 unreadable.")
    assert "into 8 sessions with 146 new events." in text
    place = "~/.session-memory/memory.db" if database == "sqlite" else "postgresql://tester@127"
    assert f"The store {place}" in text
    again = " ".join(run("sync").stdout.split())
    assert "0 new or grown, 9 unchanged" in again and "Nothing new to read." in again


def test_the_summary_names_what_was_found_of_each_agent(logs, home, run) -> None:
    assert "By agent" not in run("sync").stdout
    history = home / ".aider.chat.history.md"
    history.write_text("# aider chat started at 2026-11-16 10:00:00\n\n#### go  \n")
    assert "By agent: aider 1, claude 9." in " ".join(run("sync").stdout.split())


def test_without_logs_it_says_where_it_looked(home, run) -> None:
    result = run("sync")
    assert result.exit_code == 0
    assert "claude: ~/.claude (no such directory)" in result.stdout
    assert "session-memory demo" in result.stdout
    assert json.loads(run("sync", "--json").stdout)["discovered"] == 0


def test_a_dry_run_reads_nothing_and_leaves_nothing(logs, home, run) -> None:
    result = run("sync", "--dry-run")
    assert result.exit_code == 0
    assert "9 to read" in result.stdout
    assert not (home / ".session-memory").exists()
    run("sync")
    assert "0 to read, 9 unchanged" in " ".join(run("sync", "--dry-run").stdout.split())


def test_a_dry_run_counts_the_problems_of_the_store(logs, run) -> None:
    problems = json.loads(run("sync", "--json").stdout)["problems"]
    assert problems > 0
    assert json.loads(run("sync", "--dry-run", "--json").stdout)["problems"] == problems


def test_a_root_is_read_in_place_of_the_default(home, run, tmp_path) -> None:
    store = str(tmp_path / "s" / "m.db")
    result = run("sync", "--json", "--root", str(demo_home()), "--store", store)
    assert json.loads(result.stdout)["ingested"] == 9
    assert not (home / ".session-memory").exists()
    missing = run("sync", "--root", str(tmp_path / "nowhere"))
    assert missing.exit_code == 1
    assert "there is no such directory" in missing.stderr
    unknown = run("sync", "--flavor", "claud")
    assert "Did you mean claude?" in unknown.stderr


@BOTH
def test_a_deleted_log_is_mentioned_and_its_session_stays(logs, run) -> None:
    run("sync")
    shutil.rmtree(logs / "projects" / "-home-mira-code-tidewatch")
    text = " ".join(run("sync").stdout.split())
    assert "The agent has deleted 4 logs since the last sync" in text
    assert len(json.loads(run("sessions", "--json").stdout)["sessions"]) == 8
    assert json.loads(run("sources", "--json", "--state", "gone").stdout)["total"] == 4


def test_the_command_runs_as_a_program(logs) -> None:
    """From nothing, unlike all that ``start`` starts."""
    program = [sys.executable, "-m", "session_memory.cli", "sync", "--json"]
    done = subprocess.run(program, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (3, b"")
    assert json.loads(done.stdout)["sessions"] == 8


@BOTH
def test_sync_says_how_large_the_store_is_when_it_is_closed(run, home, database) -> None:
    if database == "postgresql":
        pytest.skip("a server's files are its own")
    printed = run("sync", "--root", str(demo_home())).stdout
    path = home / ".session-memory" / "memory.db"
    assert f"takes {size(path.stat().st_size)} for" in printed
    with open_store(path) as store:
        assert store.db.bytes_on_disk() == path.stat().st_size
