"""Retention runs by itself only after the user turned it on."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from session_memory.cli import main
from session_memory.config import RetentionConfig, load_config
from session_memory.memory import Memory
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome
from session_memory.views import doctor

pytestmark = pytest.mark.only("sqlite")


class Machine:
    """A home with one session that is far older than 45 days, and a store older than a day."""

    def __init__(self, home: Path) -> None:
        self.home = home
        claude = ClaudeHome(home)
        claude.session("alpha").prompt("please help")
        claude.write()
        assert self.run("sync", "--analyze").exit_code == 0
        with open_store(home / ".session-memory" / "memory.db") as store, store.transaction():
            store.db.execute("update sources set discovered_at = discovered_at - 90000000")

    @property
    def config(self) -> Path:
        return self.home / ".session-memory" / "config.toml"

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, words, env={"HOME": str(self.home), "NO_COLOR": "1"})

    def evicted_by_a_sync(self) -> int:
        assert self.run("sync").exit_code == 0
        evicted: int = json.loads(self.run("verify", "--json").stdout)["evicted"]
        return evicted


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home")


def test_no_session_leaves_a_store_whose_user_said_nothing(machine: Machine) -> None:
    assert not RetentionConfig().after_sync
    assert machine.evicted_by_a_sync() == 0
    shown = machine.run("config")
    assert "after_sync = false" in shown.stdout
    assert "session-memory config --retention on" in shown.stderr


def test_the_user_turns_it_on_and_off_with_one_command(machine: Machine) -> None:
    before = "# mine\n[budget]\nday = 3\n\n[retention]\narchive_small = true\n"
    machine.config.write_text(before)
    done = machine.run("config", "--retention", "on")
    assert "Retention is on" in done.stdout and "sessions older than 45 days" in done.stdout
    assert machine.config.read_text().startswith(before[: before.index("archive_small")])
    small = {"archive_small": True}
    assert load_config(machine.config).retention == RetentionConfig(after_sync=True, **small)
    assert machine.evicted_by_a_sync() == 1
    off = json.loads(machine.run("config", "--retention", "off", "--json").stdout)
    assert off["retention"]["after_sync"] is False
    assert load_config(machine.config).retention == RetentionConfig(**small)


@pytest.mark.parametrize(
    ("text", "is_on"),
    [
        ("", False),
        ("[retention]\narchive_dir = '/x'\n", False),
        ("[retention]\nafter_sync = true\n", True),
        ("[retention]\nraw_max_age_days = 45\n", True),
        ("[retention]\nraw_soft_cap_bytes = 1000\n", True),
        ("[retention]\nraw_hard_cap_bytes = 1000\nafter_sync = false\n", False),
    ],
)
def test_a_file_that_sets_a_limit_keeps_what_it_says(
    tmp_path: Path, text: str, is_on: bool
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert load_config(file).retention.after_sync is is_on


def test_retain_by_hand_evicts_nothing_without_a_limit(machine: Machine) -> None:
    foreseen = machine.run("retain", "--dry-run").stdout
    assert "With the suggested limits (older than 45 days" in foreseen
    done = machine.run("retain")
    assert "Retention is off and no limit is set: nothing was evicted." in done.stdout
    assert "session-memory retain --max-age 45" in done.stderr
    report = json.loads(machine.run("retain", "--json").stdout)
    assert (report["is_off"], report["evicted"]) == (True, [])


def test_retain_takes_a_limit_and_leaves_what_would_make_the_whole_larger(machine: Machine) -> None:
    machine.config.write_text("[retention]\nafter_sync = false\n")
    small = machine.run("retain", "--max-age", "45")
    assert "1 session (" in small.stdout and "would take more space" in small.stdout
    assert json.loads(machine.run("retain", "--max-age", "45", "--json").stdout)["too_small"] == 1
    machine.config.write_text("[retention]\nafter_sync = false\narchive_small = true\n")
    assert "Nothing has to be evicted." in machine.run("retain", "--max-age", "36500").stdout
    done = machine.run("retain", "--max-age", "45")
    assert "1 session evicted" in done.stdout
    assert "into ~/.session-memory/archive/memory." in done.stdout
    assert "does not run by itself" in done.stderr


def test_limits_of_the_file_apply_by_hand_although_it_does_not_run_by_itself(
    machine: Machine,
) -> None:
    machine.config.write_text(
        "[retention]\nafter_sync = false\nraw_max_age_days = 60\narchive_small = true\n"
    )
    assert "1 session evicted" in machine.run("retain").stdout


def test_doctor_suggests_it_for_a_large_store_or_a_full_disk(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> dict[str, str]:
        found = json.loads(machine.run("doctor", "--json").stdout)["checks"]
        (one,) = [one for one in found if one["name"] == "retention"]
        return dict(one)

    assert check()["status"] == "ok"
    monkeypatch.setattr(doctor, "LARGE_STORE", 1000)
    assert (check()["status"], check()["hint"]) == ("warn", doctor.TURN_ON_RETENTION)
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "LITTLE_SPACE", 1 << 60)
    assert (check()["status"], check()["hint"]) == ("warn", doctor.TURN_ON_RETENTION)
    machine.run("config", "--retention", "on")
    assert check()["status"] == "ok"


def test_a_configuration_of_a_program_is_off_too(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        assert not memory.config.retention.after_sync
