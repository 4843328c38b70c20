"""Retention on the command line, from the first sync to a forgotten session."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from session_memory.cli import main
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome, usage

UID = "claude:alpha"


class Machine:
    """A home of its own, and commands that run in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.claude = ClaudeHome(home)
        log = self.claude.session("alpha")
        log.prompt("please xylophone-quartet")
        log.answer("done with it", id="msg_1", used=usage(10))
        self.claude.write()
        config = home / ".session-memory" / "config.toml"
        config.parent.mkdir(mode=0o700)
        # The one session is small, and these tests follow it into the archive.
        config.write_text("[retention]\nraw_max_age_days = 45\narchive_small = true\n")

    def run(self, *words: str, status: int = 0, typed: str = "") -> str:
        environment = {"HOME": str(self.home), "NO_COLOR": "1"}
        done = CliRunner().invoke(main, words, input=typed, env=environment)
        assert done.exit_code == status, done.output
        return done.stdout + done.stderr

    def json(self, *words: str, status: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", "--quiet", status=status))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "home")
    made.run("sync")
    return made


def test_the_whole_way_from_the_store_to_the_archive_and_back(machine: Machine) -> None:
    assert "must be analyzed first" in machine.run("retain")
    before = machine.run("fingerprint", "-q")
    machine.run("analyze")
    plan = machine.json("retain", "--dry-run")
    assert plan["dry_run"] and plan["backstop_evicted"] == 1
    assert plan["evicted"][0]["sessions"] == [UID]
    done = machine.json("retain")
    assert (done["backstop_evicted"], done["overflow_data_loss"]) == (1, 0)
    assert done["final_usage_bytes"] == 0
    (file,) = machine.json("archive", "list")["files"]
    assert file["sessions"] == [UID]
    assert machine.json("archive", "verify")["ok"]
    assert machine.json("verify")["evicted"] == 1
    for words in (("verify",), ("verify", "--sample", "all")):
        said = machine.run(*words)
        assert "1 session evicted: read back from the archive, and not derived again." in said
        assert "Derive all sessions again" not in said
    assert "session-memory restore" in machine.run("show", UID)
    assert "1 of these is evicted: show reads the archive." in machine.run("sessions")
    refused = json.loads(machine.run("restore-native", UID, "--to", "x", "--json", status=1))
    assert refused["error"]["kind"] == "session_evicted"
    assert machine.json("restore", UID)["restored"][0]["sessions"] == [UID]
    assert machine.run("fingerprint", "-q") == before


def test_what_is_pinned_stays_until_it_is_unpinned(machine: Machine) -> None:
    machine.run("analyze")
    assert machine.json("pin", "alpha")["pinned"] == [UID]
    assert machine.json("retain")["backstop_evicted"] == 0
    assert machine.json("unpin", "alpha")["pinned"] == []
    assert machine.json("retain")["backstop_evicted"] == 1


def test_retain_says_that_nothing_can_go_if_it_is_over_its_cap(machine: Machine) -> None:
    machine.run("pin", UID)
    assert "Nothing has to be evicted." in machine.run("retain")
    config = machine.home / "small.toml"
    config.write_text("[retention]\nraw_soft_cap_bytes = 1\n")
    said = machine.run("retain", "--config", str(config))
    assert "Nothing can be evicted: what is over the soft cap is pinned or live." in said
    assert machine.json("retain", "--config", str(config))["over_soft_cap"] is True


def test_forgetting_asks_proves_and_lasts(machine: Machine) -> None:
    plan = machine.json("forget", "alpha", "--dry-run")
    assert (plan["forgotten"], plan["proof"]) == ([UID], None)
    machine.run("forget", "alpha", status=2, typed="n\n")
    assert len(machine.json("sessions")["sessions"]) == 1
    assert "none is left" in machine.run("forget", "alpha", "--yes")
    machine.run("sync")
    assert machine.json("sessions")["sessions"] == []
    for file in (machine.home / ".session-memory").rglob("*"):
        assert not file.is_file() or b"xylophone" not in file.read_bytes()
    assert machine.json("forget", "--lift", UID) == {"lifted": [UID]}
    machine.run("sync")
    assert len(machine.json("sessions")["sessions"]) == 1


@pytest.mark.parametrize("also", [("--before", "2099-01-01"), ("--repo", "app")])
def test_forget_takes_sessions_or_conditions_but_not_both(
    machine: Machine, also: tuple[str, str]
) -> None:
    machine.run("forget", UID, *also, "--yes", status=2)
    assert len(machine.json("sessions")["sessions"]) == 1


def test_a_repository_is_forgotten_as_a_whole(machine: Machine) -> None:
    done = machine.json("forget", "--repo", "app", "--yes")
    assert done["forgotten"] == [UID]
    assert done["proof"]["found"] == []
    assert machine.json("sessions")["sessions"] == []


def test_the_lake_answers_in_every_form(machine: Machine) -> None:
    hint = json.loads(machine.run("sql", "select 1", "--json", status=1))
    assert "lake export" in hint["error"]["hint"]
    assert machine.json("lake", "export")["sessions"] == 1
    question = "select session_uid, output_tokens, started_at from sessions"
    answer = machine.json("sql", question)
    assert answer["columns"] == ["session_uid", "output_tokens", "started_at"]
    assert answer["rows"] == [[UID, 10, "2026-07-01T10:00:01.000Z"]]
    lines = machine.run("sql", question, "--csv").split()
    assert lines == ["session_uid,output_tokens,started_at", f"{UID},10,2026-07-01T10:00:01.000Z"]
    assert UID in machine.run("sql", question)


def test_a_spreadsheet_neither_computes_nor_obeys_what_a_log_says(machine: Machine) -> None:
    machine.json("lake", "export")
    texts = ("=1+1", "-2+3|cmd", "@x", "+y", "a\x1b]0;b\x07\x9b", "\u202eevil", "two\nlines", "x=1")
    selects = (f"select {n} n, '{text}' t" for n, text in enumerate(texts))
    question = f"{' union all '.join(selects)} order by n"
    written = machine.run("sql", f"select n, t from ({question})", "--csv")
    assert list(csv.reader(io.StringIO(written))) == [
        ["n", "t"],
        ["0", "'=1+1"],
        ["1", "'-2+3|cmd"],
        ["2", "'@x"],
        ["3", "'+y"],
        ["4", "a\\x1b]0;b\\x07\\x9b"],
        ["5", "\\u202eevil"],
        ["6", "two\nlines"],
        ["7", "x=1"],
    ]
    assert machine.run("sql", "select -1 as n", "--csv").split() == ["n", "-1"]


def test_retention_is_due_a_day_after_the_first_sync_and_daily_from_then_on(
    machine: Machine,
) -> None:
    machine.run("config", "--retention", "on")
    machine.run("analyze")
    machine.run("sync")
    assert machine.json("verify")["evicted"] == 0
    place = machine.home / ".session-memory" / "memory.db"
    with open_store(place) as store, store.transaction():
        store.db.execute("update sources set discovered_at = discovered_at - 90000000")
    assert "evicted" in machine.run("sync")
    assert machine.json("verify")["evicted"] == 1
    for words in (("verify",), ("verify", "--sample", "all")):
        said = machine.run(*words)
        assert "1 session evicted: read back from the archive, and not derived again." in said
        assert "Derive all sessions again" not in said
    machine.run("restore", "--all")
    machine.run("unpin", UID)
    machine.run("analyze")
    machine.run("sync")
    assert machine.json("verify")["evicted"] == 0


def test_forget_names_the_files_that_hold_a_lesson_from_it(machine: Machine) -> None:
    for number in range(8):
        log = machine.claude.session(f"b{number}")
        log.prompt(f"do task {number}")
        log.run("make x", "Error: frobnicator zanzibar is not configured", exit_code=2)
        log.edit("/home/mira/code/app/frob.toml")
        log.run("make x", "ok")
        log.answer("done")
    machine.claude.write()
    machine.run("sync", "-q")
    machine.run("analyze")
    found = machine.json("patterns", "--limit", "0")["patterns"]
    (name,) = [one["id"] for one in found if one["type"] == "recurring_error"]
    lesson = machine.json("lessons", "accept", name)["lesson"]["id"]
    machine.run("lessons", "edit", lesson, "--resolution", "Configure the frobnicator first.")
    target = machine.home / "CLAUDE.md"
    target.write_text("# Mine\n")
    machine.run("apply", "--target", str(target), "--repo", "app")
    uids = [f"b{number}" for number in range(8)]
    for words in (("--dry-run",), ("--yes",)):
        lines = machine.json("forget", *uids, *words)["unreachable"]
        assert [line for line in lines if line.startswith(f"{target}: ")]
        assert any("train export" in line and "lake export --to" in line for line in lines)


def test_forget_shows_titles_and_asks_and_without_a_yes_nothing_is_deleted(
    machine: Machine,
) -> None:
    answer = machine.run("forget", UID, typed="n\n", status=2)
    assert "Would be forgotten: 1 session." in answer and "please xylophone-quartet" in answer
    assert "error: nothing was changed; answer yes, or give --yes" in answer
    assert "[y/N]: \nerror: nothing was changed" in machine.run("forget", UID, status=2)
    assert "give --yes or --dry-run" in machine.run("forget", UID, "--json", status=2)
    assert len(machine.json("sessions")["sessions"]) == 1


def test_forget_without_sessions_asks_for_them(machine: Machine) -> None:
    assert "give the sessions to forget" in machine.run("forget", status=2)
    assert "no session matches" in machine.run("forget", "--repo", "nope", status=1)


def test_lift_takes_the_whole_uid_and_nothing_else(machine: Machine) -> None:
    machine.run("forget", UID, "--yes")
    for more in (["--dry-run"], [UID], ["--repo", "x"], ["--before", "7d"]):
        assert "--lift deletes nothing" in machine.run("forget", "--lift", UID, *more, status=2)
    assert "Give the whole uid" in machine.run("forget", "--lift", "claude:al")
    assert machine.json("forget", "--lift", UID) == {"lifted": [UID]}


def test_the_logs_of_agents_come_last_among_what_cannot_be_deleted(machine: Machine) -> None:
    unreachable = machine.json("forget", UID, "--dry-run")["unreachable"]
    assert unreachable[-1].endswith("the agent's own log, which session-memory never changes")
    assert unreachable[0].startswith("copies made with")


def test_retain_without_archive_never_asks_a_program(machine: Machine) -> None:
    answer = machine.run("retain", "--without-archive", "--json", status=2)
    assert json.loads(answer)["error"]["message"] == "with --json, give --yes or --dry-run"
    answer = machine.run("retain", "--without-archive", typed="n\n", status=2)
    assert "nothing was changed" in answer and "interrupted" not in answer


def test_the_plan_of_retain_names_sessions_by_their_titles(machine: Machine) -> None:
    machine.run("analyze")
    *_, line = machine.run("retain", "--dry-run").splitlines()
    assert line.endswith("age  alpha    please xylophone-quartet")


def test_pin_says_until_when_a_restored_session_is_pinned(machine: Machine) -> None:
    assert "No session is pinned." in machine.run("pin")
    assert f"{UID} was not pinned" in machine.run("unpin", UID)
    machine.run("analyze")
    machine.run("retain")
    machine.run("restore", UID)
    assert f"{UID} is pinned until 20" in machine.run("pin")
    assert f"{UID} is pinned: please xylophone-quartet" in machine.run("pin", UID)
    assert f"{UID} is no longer pinned" in machine.run("unpin", UID)


def test_restoring_a_session_that_is_here_does_not_say_that_none_is_evicted(
    machine: Machine,
) -> None:
    other = machine.claude.session("beta")
    other.prompt("another one")
    other.answer("done", id="msg_2", used=usage(10))
    machine.claude.write()
    machine.run("sync")
    machine.run("analyze")
    machine.run("pin", "beta")
    machine.run("retain")
    assert "The session is not evicted" in machine.run("restore", "beta")
    assert "is back" in machine.run("restore", UID)


def test_a_rebuild_counts_only_what_it_derived(machine: Machine) -> None:
    machine.run("analyze")
    machine.run("retain")
    assert "Derived 0 sessions with 0 events again from 0 sources." in machine.run("rebuild")
    assert machine.json("rebuild")["sources"] == 0


def test_a_quiet_dry_run_prints_the_plan_and_nothing_else(machine: Machine) -> None:
    assert "Would be forgotten: 1 session." in machine.run("forget", UID, "--dry-run", "-q")
    machine.run("analyze")
    assert "please xylophone-quartet" in machine.run("retain", "--dry-run", "-q")
    assert "1 unchanged" in machine.run("sync", "--dry-run", "-q")
    machine.run("pin", UID)
    assert f"{UID} is pinned" in machine.run("pin", "-q")
    assert machine.run("forget", UID, "--yes", "-q") == ""
