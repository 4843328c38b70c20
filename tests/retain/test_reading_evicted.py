"""Eviction, then every reading command: the archive is read, or the answer says what is missing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from keeping import Keeper, talk

from session_memory.cli import main
from session_memory.core.errors import ArchiveError, SessionEvicted
from session_memory.memory import Memory

pytestmark = pytest.mark.every(3)

UID = "claude:alpha"
ONE = {
    "show": ("show", UID),
    "show --full": ("show", UID, "--full"),
    "show a fork": ("show", "claude:fork", "--inherited"),
    "diff": ("diff", UID),
    "commands": ("commands", UID),
    "files": ("files", UID),
    "timeline": ("timeline", UID),
    "tree": ("tree", UID),
    "digest": ("digest", UID),
    "cost": ("cost", "--session", UID),
    "secrets": ("secrets", UID),
}
TEXTS = {
    "text": ("show", UID, "--no-pager"),
    "around": ("show", UID, "--around", "3", "--no-pager"),
    "markdown": ("export", "--format", "markdown", UID),
    "html": ("export", "--format", "html", UID),
    "jsonl": ("export", "--format", "jsonl", UID),
}
MANY = {
    "commands": ("commands",),
    "files": ("files",),
    "secrets": ("secrets",),
    "search": ("search", "pear"),
    "stats": ("stats",),
}


class Machine:
    """A store with a session that has a subagent, a fork of it and another session."""

    def __init__(self, keeper: Keeper, directory: Path) -> None:
        self.keeper = keeper
        self.config = directory / "config.toml"
        self.config.write_text(
            f'[retention]\nafter_sync = false\narchive_dir = "{keeper.archive}"\n'
        )
        claude = keeper.claude
        self.log = log = talk(claude.session("alpha"), "apple", "pear")
        log.run("make pear", "Error: no pear", exit_code=2)
        log.edit("/home/mira/code/app/pear.py")
        log.run("make pear", "ok")
        log.answer("done")
        beta = talk(claude.session("beta"), "quince", "lemon", "cherry", "medlar")
        beta.prompt("Error: no pear")
        talk(claude.fork(log, "fork"), "plum")
        keeper.collect()
        self.run("analyze", status=0)

    def run(self, *words: str, status: int | None = None) -> Result:
        words = (*words, "--store", self.keeper.place, "--config", str(self.config))
        done = CliRunner().invoke(main, words, env={"NO_COLOR": "1", "COLUMNS": "100"})
        assert status is None or done.exit_code == status, done.output
        return done

    def json(self, *words: str, status: int = 0) -> Any:
        return json.loads(self.run(*words, "--json", status=status).stdout)

    def evict(self, *uids: str) -> None:
        before = self.keeper.store.retention.used_bytes()
        self.keeper.evict(*uids)
        assert self.keeper.store.retention.used_bytes() < before


@pytest.fixture
def machine(keeper: Keeper, tmp_path: Path) -> Machine:
    return Machine(keeper, tmp_path)


def without_eviction(value: Any) -> Any:
    """The answer without the time of eviction, and without `analyzed`, which the tests set."""
    if isinstance(value, dict):
        left_out = ("evicted_at", "analyzed_at", "evicted")
        return {k: without_eviction(v) for k, v in value.items() if k not in left_out}
    return [without_eviction(one) for one in value] if isinstance(value, list) else value


def test_every_question_about_one_session_is_answered_from_the_archive(machine: Machine) -> None:
    before = {name: machine.json(*words) for name, words in ONE.items()}
    texts = {name: machine.run(*words, status=0).stdout for name, words in TEXTS.items()}
    similar = machine.json("similar", UID)
    machine.evict(UID, "claude:fork")
    for name, words in ONE.items():
        assert without_eviction(machine.json(*words)) == without_eviction(before[name]), name
    for name, words in TEXTS.items():
        after = machine.run(*words, status=0).stdout
        lines = [line for line in after.splitlines() if not line.startswith("  evicted")]
        if name != "jsonl":
            assert lines == texts[name].splitlines(), name
        assert "pear" in after
    assert "error" in similar["words"] and "error" in machine.json("similar", UID)["words"]
    assert "read from the archive" in machine.run("show", UID).stdout
    # Nothing came back into the store.
    assert machine.keeper.store.retention.count_evicted() == 2
    assert machine.keeper.store.events.count() == 9


def test_a_program_reads_them_too(machine: Machine) -> None:
    def read() -> tuple[Any, ...]:
        with Memory(machine.keeper.place, machine.config) as memory:
            session = memory.session(UID)
            events = list(session.events)
            return (
                [event.to_dict() for event in events],
                [session.text(event) for event in events],
                [session.payload(event).record for event in events],
                [call.state for call in session.calls()],
                len(list(session.transcript())),
                len(session.timeline().moments),
                session.diff().totals,
            )

    before = read()
    machine.evict(UID, "claude:fork")
    assert read() == before


@pytest.mark.parametrize("name", MANY)
def test_answers_about_many_sessions_say_how_many_are_left_out(machine: Machine, name: str) -> None:
    words = MANY[name]
    assert "evicted" not in machine.json(*words)
    machine.evict(UID, "claude:fork")
    assert machine.json(*words, status=3)["evicted"] == 2
    said = machine.run(*words, status=3).stderr
    assert "session-memory restore --all" in said
    elsewhere = (*words, "--repo", "nowhere")
    assert "evicted" not in machine.json(*elsewhere)
    machine.run("restore", "--all", status=0)
    assert "evicted" not in machine.json(*words)


@pytest.mark.parametrize("words", [("how", "pear"), ("similar", "--text", "pear")])
def test_an_evicted_session_is_recalled_as_before(machine: Machine, words: tuple[str, ...]) -> None:
    before = machine.json(*words)
    machine.evict(UID, "claude:fork")
    assert machine.json(*words) == before


def test_exports_of_everything_say_how_many_are_left_out(machine: Machine, tmp_path: Path) -> None:
    machine.evict(UID, "claude:fork")
    assert machine.json("export", str(tmp_path / "all.smx"), status=3)["evicted"] == 2
    back = ("restore-native", "--all", "--to", str(tmp_path / "back"), "--host", "here")
    assert machine.json(*back, status=3)["evicted"] == 2
    assert "restore --all" in machine.run("export", str(tmp_path / "2.smx"), status=3).stderr
    for words in (("export", str(tmp_path / "one.smx"), UID), ("restore-native", UID)):
        failed = machine.run(*words, "--json", status=1)
        assert json.loads(failed.stderr)["error"]["kind"] == "session_evicted"


def test_figures_that_come_from_usage_are_whole(machine: Machine) -> None:
    before = machine.json("stats", "models", "cache")
    machine.evict(UID, "claude:fork")
    assert machine.json("stats", "models", "cache") == before


@pytest.mark.parametrize("how", ["no archive", "missing", "damaged"])
def test_what_cannot_be_read_is_said(machine: Machine, how: str) -> None:
    if how == "no archive":
        machine.keeper.limits.archive = False
    machine.evict(UID, "claude:fork")
    if how == "missing":
        shutil.rmtree(machine.keeper.archive)
    if how == "damaged":
        for file in machine.keeper.archive.glob("*.tar"):
            file.write_bytes(file.read_bytes()[:4096])
    shown = machine.json("show", UID, status=3)
    assert shown["events"] == [] and shown["session"]["cost"]["output_tokens"]
    assert shown["missing"]["kind"] in ("session_evicted", "archive_error")
    assert "evicted" in shown["missing"]["message"]
    said = machine.run("show", UID, "--no-pager", status=3)
    assert "its events are missing" in said.stdout
    for name in ("diff", "commands", "files", "timeline"):
        failed = machine.run(*ONE[name], "--json", status=1)
        assert json.loads(failed.stderr)["error"]["kind"] == shown["missing"]["kind"], name
        assert failed.stdout == ""
    for name in ("markdown", "html", "jsonl"):
        assert "was evicted" in machine.run(*TEXTS[name], status=1).stderr
    assert "claude:beta" in machine.run("similar", UID, "--json", status=0).stdout
    with (
        Memory(machine.keeper.place, machine.config) as memory,
        pytest.raises((ArchiveError, SessionEvicted)),
    ):
        list(memory.session(UID).events)


def test_a_session_that_grew_while_it_was_evicted_is_whole(machine: Machine) -> None:
    machine.evict(UID, "claude:fork")
    shutil.move(machine.keeper.archive, machine.keeper.archive.with_name("away"))
    talk(machine.log, "melon")
    machine.keeper.collect()
    shutil.move(machine.keeper.archive.with_name("away"), machine.keeper.archive)
    texts = [event["summary"] for event in machine.json("show", UID)["events"]]
    assert "apple" in texts and "melon" in texts


def test_a_session_without_a_title_keeps_its_name(machine: Machine) -> None:
    def names() -> list[str]:
        with Memory(machine.keeper.place, machine.config) as memory:
            return sorted(session.title for session in memory.sessions())

    with machine.keeper.store.transaction():
        machine.keeper.store.db.execute("update sessions set title = null")
    before = names()
    machine.evict(UID, "claude:fork")
    assert names() == before == ["apple", "plum", "quince"]


def test_training_reads_them_too(machine: Machine, tmp_path: Path) -> None:
    def exported(name: str) -> Any:
        answer = machine.json("train", "export", "--kind", "chat", "--out", str(tmp_path / name))
        return answer["rows"], answer["dropped"]

    before = exported("before")
    machine.evict(UID, "claude:fork")
    assert exported("after") == before
