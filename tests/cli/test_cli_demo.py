"""The demo has a store of its own. The figures of a real store never contain it."""

import json
import os
import shutil

import pytest

from session_memory.core.errors import NotEmpty
from session_memory.demo import demo_home
from session_memory.memory import Memory
from session_memory.store import open_store

pytestmark = pytest.mark.only("sqlite")
BOTH = pytest.mark.only("sqlite", "postgresql")
FIELDS = ["discovered", "ingested", "unchanged", "failed", "problems"]
FIELDS += ["sessions", "events", "bytes", "seconds"]


@pytest.fixture
def logs(home):
    """Two real sessions."""
    project = "-home-mira-code-tidewatch"
    origin = demo_home() / ".claude" / "projects" / project
    target = home / ".claude" / "projects" / project
    target.mkdir(parents=True)
    for file in sorted(origin.glob("*.jsonl"))[:2]:
        text = file.read_text(encoding="utf-8").replace(file.stem, f"real-{file.stem}")
        (target / f"real-{file.name}").write_text(text, encoding="utf-8")
    return home / ".claude"


@pytest.fixture
def size(tmp_path):
    """How many sources and sessions the demo has."""
    with Memory(tmp_path / "whole-demo.db") as memory:
        found = memory.sync_demo()
    return found.discovered, found.sessions


def sessions(run, *words):
    return json.loads(run("sessions", "--limit", "0", "--json", *words).stdout)["sessions"]


def test_an_empty_machine_gets_the_demo_in_a_store_of_its_own(home, run, size) -> None:
    result = run("sync", "--demo-if-empty")
    assert result.exit_code == 0
    assert result.stdout.startswith("DEMO: these sessions are invented")
    assert sessions(run) == []
    kept = str(home / ".session-memory" / "demo.db")
    assert len(sessions(run, "--store", kept)) == size[1]
    *_, last = result.stdout.splitlines()
    assert last == "Next: session-memory demo"
    shown = run(*last.removeprefix("Next: session-memory ").split())
    assert shown.exit_code == 0 and "Station cache" in shown.stdout
    *_, last = shown.stdout.splitlines()
    assert last == f"Next: session-memory show 91d4f0a7 --store {kept}"
    assert run(*last.removeprefix("Next: session-memory ").split()).exit_code == 0
    again = run("sync", "--demo-if-empty", "--json")
    report = json.loads(again.stdout)
    assert [report[name] for name in FIELDS[:6]] == [0] * 6
    assert (report["demo"]["store"], report["demo"]["unchanged"]) == (kept, size[0])
    assert "DEMO" in again.stderr


@BOTH
def test_a_store_that_holds_the_demo_is_cleaned_by_the_next_sync(demo, logs, run) -> None:
    run("analyze")
    assert len(sessions(run)) == 8
    result = run("sync", "--demo-if-empty")
    assert "8 demo sessions removed" in result.stderr and "DEMO" not in result.stdout
    assert all(one["native_session_id"].startswith("real-") for one in sessions(run))
    with open_store(os.environ["SESSION_MEMORY_STORE"]) as store:
        assert not any(row.host == "demo" for row in store.sources.every())
    fresh = str(logs.parent / "fresh.db")
    run("sync", "--store", fresh)
    assert run("fingerprint", "-q").stdout == run("fingerprint", "-q", "--store", fresh).stdout
    assert run("verify").exit_code == 0
    assert "demo session" not in run("sync").stderr


def test_a_store_with_the_demo_alone_is_cleaned_too(demo, run, home, size) -> None:
    result = run("sync", "--demo-if-empty", "--json")
    report = json.loads(result.stdout)
    assert (report["demo_removed"], report["sessions"]) == (8, 0)
    assert report["demo"]["sessions"] == size[1]
    assert sessions(run) == []


def test_an_evicted_demo_leaves_the_archive_as_well(demo, run, home) -> None:
    run("analyze")
    (home / "config.toml").write_text("[retention]\nraw_max_age_days = 0\narchive_small = true\n")
    retained = run("retain", "--json", "--config", str(home / "config.toml"))
    assert json.loads(retained.stdout)["backstop_evicted"] == 8
    assert "8 demo sessions removed" in run("sync").stderr
    assert json.loads(run("archive", "list", "--json").stdout)["files"] == []
    assert json.loads(run("archive", "verify", "--json").stdout)["ok"]


def test_logs_of_a_machine_named_demo_stay(logs, run, home) -> None:
    (home / ".session-memory").mkdir(mode=0o700)
    (home / ".session-memory" / "config.toml").write_text('host = "demo"\n')
    run("sync")
    assert "removed" not in run("sync").stderr
    assert len(sessions(run)) == 2


def test_a_session_that_also_has_a_real_log_stays(demo, run, home) -> None:
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    with Memory() as memory:
        memory.sync([home, demo_home()], host="laptop")
        memory.sync([home], host="laptop")
        assert len(memory.sessions().listing().sessions) == 8
        assert memory.verify().ok


def test_a_dry_run_removes_and_collects_nothing(demo, run, home) -> None:
    assert run("sync", "--dry-run", "--demo-if-empty").exit_code == 0
    assert len(sessions(run)) == 8
    assert list(home.iterdir()) == []


def test_a_program_cannot_mix_the_demo_with_real_sessions(logs, home) -> None:
    with Memory() as memory:
        memory.sync()
        with pytest.raises(NotEmpty):
            memory.sync_demo()


def test_demo_if_empty_stays_away_from_real_logs(logs, run, home) -> None:
    assert "DEMO" not in run("sync", "--demo-if-empty").output
    shutil.rmtree(logs)
    # Everything was deleted by the agent, but the store is no longer empty.
    assert "DEMO" not in run("sync", "--demo-if-empty").output


def test_the_demo_is_thrown_away_unless_a_store_is_named(
    home, run, tmp_path, monkeypatch, size
) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", str(tmp_path / "real.db"))
    result = run("demo")
    assert result.exit_code == 0
    assert result.stdout.startswith("DEMO:")
    assert "Station cache" in result.stdout
    assert not (tmp_path / "real.db").exists() and list(home.iterdir()) == []
    kept = str(tmp_path / "kept.db")
    answer = json.loads(run("demo", "--store", kept, "--json").stdout)
    assert (answer["demo"], answer["store"], len(answer["sessions"])) == (True, kept, size[1])
    assert list(answer["sync"]) == FIELDS
    assert run("show", "91d4f0a7", "--store", kept).exit_code == 0


def test_the_demo_is_not_mixed_with_real_sessions(logs, run, home) -> None:
    run("sync")
    place = os.environ.get("SESSION_MEMORY_STORE") or str(home / ".session-memory" / "memory.db")
    result = run("demo", "--store", place)
    assert result.exit_code == 1
    assert "is not empty" in result.stderr
