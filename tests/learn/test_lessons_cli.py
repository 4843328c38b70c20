"""The commands about lessons, as a person and as a script run them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from session_memory.cli import main
from session_memory.store import open_store
from session_memory.testing.stores import Stores

from .fleets import AGENTS, BEFORE, ERROR, SyntheticFleet, recurring, trace


class World:
    """A home, a project and a store with a problem that came back in every agent's sessions."""

    def __init__(self, tmp_path: Path, place: str) -> None:
        self.home = tmp_path / "home"
        self.project = tmp_path / "app"
        self.project.mkdir()
        self.store = place
        self.fleet = SyntheticFleet(self.home)
        self.fleet.go_to(BEFORE)
        for agent in AGENTS:
            self.fleet.sessions(3, problem=ERROR, agent=agent)
        with open_store(place, durability="normal") as store:
            self.fleet.learned(store)
            self.pattern = recurring(store).id
        self.lesson = self.pattern.replace("p-", "l-")

    def run(self, *words: str, ok: int = 0, **extra: Any) -> Result:
        result = CliRunner().invoke(main, words, **extra)
        assert result.exit_code == ok, result.output + result.stderr
        return result

    def json(self, *words: str, ok: int = 0, **extra: Any) -> Any:
        result = self.run(*words, "--json", ok=ok, **extra)
        return json.loads(result.stdout)

    def failure(self, *words: str, ok: int = 1) -> dict[str, str]:
        output: dict[str, str] = json.loads(self.run(*words, "--json", ok=ok).stderr)["error"]
        return output


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores, database: str) -> World:
    (tmp_path / "home").mkdir(mode=0o700)
    place = stores.place("memory")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("SESSION_MEMORY_STORE", place)
    found = World(tmp_path, place)
    monkeypatch.chdir(found.project)
    return found


def test_the_loop_on_the_command_line(world: World) -> None:
    file = world.project / "CLAUDE.md"
    file.write_bytes(b"# Rules\r\n\r\nBe kind.")
    accepted = world.json("lessons", "accept", world.pattern, "--why", "again and again")
    assert accepted["lesson"]["id"] == world.lesson
    assert Path(accepted["file"]).is_file()

    (proposal,) = world.json("propose")["proposals"]
    assert proposal["target"] == str(file) and proposal["changes"]
    assert "+Be kind.\r\n" in proposal["diff"]
    assert file.read_bytes() == b"# Rules\r\n\r\nBe kind."

    (done,) = world.json("apply", "--by", "mira", "--why", "try it")["applied"]
    assert done["written"] and done["diff"] == proposal["diff"]
    written = file.read_bytes()
    assert written.startswith(b"# Rules\r\n\r\nBe kind.\r\n\r\n<!-- BEGIN session-memory lessons")
    assert written.count(b"\n") == written.count(b"\r\n")
    (again,) = world.json("apply")["applied"]
    assert not again["written"] and not again["changes"]

    (live,) = world.json("lessons", "live")["live"]
    assert (live["who"], live["state"], live["repo"]) == ("mira", "as written", "app")
    (row,) = world.json("lessons", "list")["lessons"]
    assert row["live"] == [str(file)] and row["seen"] == 9
    (item,) = world.json("measure", world.lesson)["lessons"]
    assert item["verdict"] == "too_little_data"
    assert item["before"]["showing"] == item["before"]["sessions"] == 3

    (undone,) = world.json("revert")["reverted"]
    assert undone["exact"]
    assert file.read_bytes() == b"# Rules\r\n\r\nBe kind."
    assert world.failure("revert")["kind"] == "not_applied"


def test_people_are_shown_diffs_and_what_to_do_next(world: World) -> None:
    text = world.run("lessons", "accept", world.pattern)
    assert "`ModuleNotFoundError: No module named 'zonal'`" in text.stdout
    assert f"session-memory lessons edit {world.lesson}" in text.stderr
    proposed = world.run("propose")
    assert "+<!-- BEGIN session-memory lessons" in proposed.stdout
    assert "session-memory lessons apply" in proposed.stderr
    assert not (world.project / "AGENTS.md").exists()
    assert "Undo: session-memory lessons revert --target" in world.run("apply").stdout
    assert world.lesson in world.run("lessons", "list").stdout
    assert "as written" in world.run("lessons", "live").stdout
    page = world.run("lessons", "show", world.lesson).stdout
    assert "accept by" in page and f"session-memory patterns {world.pattern}" in page
    measured = world.run("measure").stdout
    assert "too little data" in measured and "with errors" in measured
    with (world.project / "AGENTS.md").open("ab") as file:
        file.write(b"mine\n")
    undone = world.run("revert", ok=3)
    assert "the file had been edited: only the lessons were removed" in undone.stdout
    assert (world.project / "AGENTS.md").read_bytes() == b"mine\n"


@pytest.mark.only("sqlite")
def test_decisions_on_the_command_line_are_versions(world: World) -> None:
    world.run("lessons", "accept", world.pattern)
    world.run("lessons", "edit", world.lesson, "--resolution", "-", input="Run `uv sync`.\n")
    world.run("lessons", "edit", world.lesson, "--title", "Sync first", "--why", "shorter")
    world.run("lessons", "edit", world.lesson, "--everywhere")
    world.run("lessons", "edit", world.lesson, "--everywhere", "--repo", "app", ok=2)
    assert "No rejected lesson in" in world.run("lessons", "list", "--status", "rejected").stderr
    world.run("lessons", "reject", world.lesson, "--why", "solved")
    result = world.json("lessons", "show", world.lesson)
    assert [one["version"] for one in result["versions"]] == [1, 2, 3, 4, 5]
    last = result["lesson"]
    assert (last["title"], last["resolution"], last["repos"], last["status"]) == (
        "Sync first",
        "Run `uv sync`.",
        [],
        "rejected",
    )
    actions = [(one["action"], one["why"]) for one in result["decisions"]]
    assert actions[2] == ("edit", "shorter") and actions[-1] == ("reject", "solved")
    world.run("lessons", "accept", world.lesson)
    assert world.json("lessons", "list", "--status", "accepted")["lessons"]


@pytest.mark.only("sqlite")
def test_an_editor_changes_the_words_and_nothing_else(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run("lessons", "accept", world.pattern)
    editor = tmp_path / "editor"
    script = "s/^title: .*/title: Sync first/; s/^version: .*/version: 99/; s/^id: .*/id: l-bad/"
    editor.write_text(
        f"#!/bin/sh\nsed -i '{script.replace('; s/^id: .*/id: l-bad/', '')}' \"$1\"\n"
    )
    editor.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.setenv("VISUAL", str(editor))
    world.run("lessons", "edit", world.lesson)
    lesson = world.json("lessons", "show", world.lesson)["lesson"]
    assert (lesson["title"], lesson["version"]) == ("Sync first", 2)


@pytest.mark.only("sqlite")
def test_floors_are_told_with_a_hint_and_can_be_forced(world: World, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[lessons]\npromote_sessions = 20\ndistribute_sessions = 20\n")
    result = world.failure("lessons", "accept", world.pattern, "--config", str(config))
    assert result["kind"] == "too_little_evidence"
    assert "9 sessions show" in result["message"] and "--force" in result["hint"]
    world.run("lessons", "accept", world.pattern, "--config", str(config), "--force")
    (proposal,) = world.json("propose", "--config", str(config))["proposals"]
    assert not proposal["changes"]
    (left,) = proposal["skipped"]
    assert left["reason"] == "it was seen in 9 sessions, 20 are needed"
    world.failure("apply", world.lesson, "--config", str(config))
    (done,) = world.json("apply", world.lesson, "--config", str(config), "--force")["applied"]
    assert done["written"]


@pytest.mark.only("sqlite")
def test_the_folder_can_be_chosen(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    world.run("lessons", "accept", world.pattern, "--dir", str(folder))
    assert [path.name for path in folder.glob("*.md")] == [f"{world.lesson}.md"]
    assert world.json("lessons", "list")["lessons"] == []
    config = tmp_path / "config.toml"
    config.write_text(f'[lessons]\ndir = "{folder}"\n')
    assert world.json("lessons", "list", "--config", str(config))["directory"] == str(folder)
    assert len(world.json("lessons", "list", "--dir", str(folder))["lessons"]) == 1


@pytest.mark.only("sqlite")
def test_a_lesson_that_cannot_be_read_is_a_problem_and_the_others_are_listed(world: World) -> None:
    folder = Path(world.json("lessons", "accept", world.pattern)["file"]).parent
    (folder / "l-000000000000.md").write_text("nonsense")
    result = world.json("lessons", "list", ok=3)
    assert len(result["lessons"]) == 1 and len(result["problems"]) == 1
    assert world.failure("lessons", "show", "l-0000")["kind"] == "broken_lesson"


@pytest.mark.only("sqlite")
def test_a_verdict_is_marked_and_never_removes_the_lesson(world: World) -> None:
    world.run("lessons", "accept", world.pattern)
    file = world.project / "CLAUDE.md"
    world.run("apply", "--target", str(file))
    config = world.project / "config.toml"
    config.write_text("[lessons]\nmeasure_sessions = 3\n")
    fleet = world.fleet
    fleet.go_to("2027-02-01T09:00:00Z")
    fleet.sessions(4, problem=ERROR)
    with open_store(world.store, durability="normal") as store:
        fleet.learned(store)
    more = ("--config", str(config), "--days", "900")
    (item,) = world.json("measure", "--mark", *more)["lessons"]
    assert item["verdict"] == "did_not_help"
    assert (item["before"]["sessions"], item["after"]["sessions"]) == (3, 4)
    assert "did not help" in world.run("measure", world.lesson, *more).stdout
    written = file.read_bytes()
    (proposal,) = world.json("propose", "--target", str(file))["proposals"]
    assert [one["id"] for one in proposal["lessons"]] == [world.lesson]
    world.run("apply", "--target", str(file))
    assert world.lesson.encode() in file.read_bytes() and world.lesson.encode() in written


@pytest.mark.only("sqlite")
def test_a_baseline_is_kept_with_its_date(world: World) -> None:
    world.run("measure", "--baseline", "--days", "9000")
    fleet = world.json("measure", "--days", "9000")["fleet"]
    assert fleet["baseline"]["metrics"] == fleet["metrics"]
    assert fleet["baseline"]["taken_at"][:2] == "20"
    assert fleet["error_rate_change"][0] == 0
    assert "baseline" in world.run("measure", "--days", "9000").stdout


@pytest.mark.only("sqlite")
def test_a_baseline_is_about_all_sessions_and_not_about_one_lesson(world: World) -> None:
    world.run("lessons", "accept", world.pattern)
    assert "leave out the lesson" in world.run("measure", world.lesson, "--baseline", ok=2).stderr


@pytest.mark.only("sqlite")
def test_fix_shows_what_resolved_it_and_reads_stdin(world: World) -> None:
    shown = world.run("fix", ERROR).stdout
    assert "an edit resolved it" in shown
    assert '+deps = ["orjson", "zonal"]' in shown
    assert "then this passed: `python main.py`" in shown
    assert "session-memory show " in shown
    output = f"=== run ===\n{trace(ERROR, '/elsewhere/x.py', 1)}\n"
    result = world.json("fix", "-", "--limit", "0", input=output)
    assert result["basis"] == "same"
    assert {one["flavor"] for one in result["remedies"]} == set(AGENTS)
    similar = world.run("fix", "ModuleNotFoundError: No module named 'yaml'").stdout
    assert similar.startswith("Not the same error, but a similar one:")
    assert "No analyzed session had" in world.run("fix", "quux exploded").stderr
    assert world.failure("fix", "-", ok=2)["kind"] == "usage"
    assert world.json("fix", "-", input=b"\xff\xfe" + output.encode())["basis"] == "same"


@pytest.mark.only("sqlite")
def test_fix_says_so_if_only_a_similar_error_was_resolved(world: World) -> None:
    log = world.fleet.claude.session("unresolved")
    log.prompt("run it")
    log.run("python main.py", f"{ERROR} imported", exit_code=1)
    world.fleet.claude.write()
    world.run("sync", "--analyze")
    shown = world.run("fix", f"{ERROR} imported", "--limit", "0").stdout
    assert shown.startswith("This error was not resolved before. A similar one:")
    assert "not resolved in that session" in shown


def test_how_lists_sessions_with_commands(world: World) -> None:
    result = world.json("how", "work on part 4", "--limit", "1")
    assert result["sessions"][0]["title"] == "work on part 4"
    assert "python main.py" in result["sessions"][0]["commands"]
    assert "session-memory show" in world.run("how", "work", "on", "part", "4").stdout


@pytest.mark.only("sqlite")
def test_ids_are_completed(world: World) -> None:
    world.run("lessons", "accept", world.pattern)
    complete = ShellComplete(main, {}, "session-memory", "_SESSION_MEMORY_COMPLETE")

    def completed(*words: str) -> list[str]:
        return [item.value for item in complete.get_completions(list(words), "")]

    assert completed("lessons", "show") == [world.lesson]
    assert completed("propose") == [world.lesson]
    assert completed("measure") == [world.lesson]
    assert world.pattern in completed("lessons", "accept")
    assert completed("lessons")[:3] == ["accept", "apply", "edit"]


def test_forgetting_a_session_reaches_the_lessons(world: World) -> None:
    folder = Path(world.json("lessons", "accept", world.pattern)["file"]).parent
    world.run("apply", "--target", "CLAUDE.md")
    world.run("apply", "--target", "CLAUDE.md", "--force", "--why", "again")
    quoted = world.json("lessons", "show", world.lesson)["lesson"]["quotes"]
    uids = {one["session_uid"] for one in quoted if "zonal" in one["text"]}
    # Whether the store itself is clean is shown in the tests of forget.
    CliRunner().invoke(main, ["forget", *sorted(uids), "--yes"])
    files = [path for path in folder.rglob("*") if path.is_file()]
    text = b"".join(path.read_bytes() for path in files).decode()
    assert "zonal" not in text
    assert not [uid for uid in uids if uid in text]
    kept = (folder.parent / "applied").rglob("*")
    assert not [path for path in kept if path.is_file() and b"zonal" in path.read_bytes()]


@pytest.mark.only("sqlite")
def test_a_store_in_memory_has_no_place_for_lessons(world: World) -> None:
    result = world.failure("lessons", "live", "--store", ":memory:")
    assert result["kind"] == "lesson_error"


@pytest.mark.only("sqlite")
def test_what_three_sessions_agree_on_is_suggested_until_somebody_decides(world: World) -> None:
    (one,) = world.json("lessons", "suggest")["lessons"]
    assert (one["pattern"], one["sessions"]) == (world.pattern, 9)
    assert one["text"].startswith("When `python main.py` fails with `ModuleNotFoundError")
    assert "edit `pyproject.toml`" in one["text"]
    assert world.pattern in world.run("lessons", "suggest").stdout
    world.run("lessons", "reject", world.pattern)
    assert world.json("lessons", "suggest")["lessons"] == []


def test_a_retrospective_says_what_was_decided(world: World) -> None:
    def found() -> dict[str, Any]:
        (repo,) = world.json("retro", "--since", "2020-01-01")["repos"]
        (one,) = (one for one in repo["suggestions"] if one["pattern_id"] == world.pattern)
        return dict(one)

    accept = f"session-memory lessons accept {world.pattern}"
    assert found()["decided"] == ""
    assert accept in world.run("retro", "--since", "2020-01-01").stdout
    world.run("lessons", "reject", world.pattern, "--why", "one machine only")
    assert found()["decided"] == "rejected"
    for style in ("text", "markdown"):
        shown = world.run("retro", "--since", "2020-01-01", "--format", style).stdout
        assert accept not in shown and f"session-memory lessons show {world.lesson}" in shown
        assert "(rejected)" in shown
    world.run("lessons", "accept", world.pattern)
    assert found()["decided"] == "accepted"
