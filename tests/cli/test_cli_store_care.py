"""verify, fingerprint, rebuild, restore-native, backup, compact, export, import."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from session_memory.core.errors import StoreDamaged
from session_memory.demo import demo_home
from session_memory.store.raw import Raw

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")

PROJECTS = Path(".claude") / "projects"


@pytest.fixture
def fingerprint(run):
    def of(*words: str) -> str:
        result = run("fingerprint", *words)
        assert result.exit_code == 0, result.stderr
        return str(result.stdout.strip())

    return of


def files_below(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_a_good_store_is_verified(demo, run) -> None:
    result = run("verify")
    assert result.exit_code == 0
    assert "everything is as it was written" in result.stdout
    answer = json.loads(run("verify", "--json", "--sample", "2").stdout)
    assert answer["ok"] is True and answer["findings"] == []
    assert answer["packs"] > 0 and answer["bytes"] > 200_000 and answer["sessions"] >= 2


def test_a_damaged_store_is_status_1_and_says_what(demo, run, monkeypatch) -> None:
    def damaged(self, source_id, pack):
        raise StoreDamaged("pack 1@0", "its hash does not match")

    monkeypatch.setattr(Raw, "unpacked", damaged)
    result = run("verify")
    assert result.exit_code == 1
    assert "its hash does not match" in result.stdout


def test_a_name_and_a_task_that_a_person_gave_are_no_damage(demo, run) -> None:
    run("analyze")
    run("name", "91d4f0a7", "My own name")
    run("task", "91d4f0a7", "#12")
    for _ in range(2):
        result = run("verify", "--sample", "all")
        assert (result.exit_code, "differ" in result.stdout) == (0, False), result.stdout
        # The name is a part of the digest, which is made again.
        run("analyze")
    assert "91d4f0a7" in run("how", "my own name").stdout


def test_rebuild_keeps_the_fingerprint(demo, run, fingerprint) -> None:
    before = fingerprint()
    result = run("rebuild")
    assert result.exit_code == 0
    assert "Derived 8 sessions with 146 events again from 10 sources." in result.stdout
    assert "Next: session-memory analyze" in result.stderr
    assert fingerprint() == before
    assert json.loads(run("rebuild", "--json").stdout) == {
        "sources": 10,
        "sessions": 8,
        "events": 146,
        "skipped": {},
    }


def test_everything_is_restored_byte_for_byte(demo, run, tmp_path) -> None:
    target = tmp_path / "restored"
    result = run("restore-native", "--all", "--to", str(target))
    assert result.exit_code == 0, result.stderr
    assert files_below(target) == files_below(demo_home())
    assert "10 files" in result.stderr
    again = run("restore-native", "--all", "--to", str(target))
    assert again.exit_code == 1
    assert "exists already" in again.stderr


def test_one_session_is_restored_where_the_agent_looks_for_it(home, run) -> None:
    shutil.copytree(demo_home() / ".claude", home / ".claude")
    run("sync")
    shutil.rmtree(home / PROJECTS)
    answer = json.loads(run("restore-native", "5b0c", "--json").stdout)
    (file,) = answer["files"]
    assert file["bytes"] == answer["bytes"]
    original = demo_home() / Path(file["path"]).relative_to(home)
    assert Path(file["path"]).read_bytes() == original.read_bytes()


def test_a_backup_is_a_store_for_oneself_alone(demo, run, tmp_path, fingerprint) -> None:
    copy = tmp_path / "copy.db"
    result = run("backup", str(copy))
    assert result.exit_code == 0 and "Copied" in result.stdout
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert fingerprint("--store", str(copy)) == fingerprint()
    again = run("backup", str(copy), "--json")
    assert again.exit_code == 1
    assert json.loads(again.stderr)["error"]["kind"] == "unsafe_path"


def test_compacting_keeps_everything(demo, run, fingerprint) -> None:
    before = fingerprint()
    sizes = json.loads(run("compact", "--json").stdout)
    assert 0 < sizes["after"] <= sizes["before"]
    assert fingerprint() == before
    assert "before" in run("compact").stdout


def test_an_export_brings_everything_to_another_store(demo, run, tmp_path, fingerprint) -> None:
    file, other = str(tmp_path / "all.smx"), str(tmp_path / "other.db")
    exported = json.loads(run("export", file, "--json").stdout)
    assert (exported["path"], exported["sources"]) == (file, 10)
    imported = run("import", file, "--store", other)
    assert imported.exit_code == 0, imported.stderr
    assert "10 imported" in imported.stdout and "8 new sessions" in imported.stdout
    assert fingerprint("--store", other) == fingerprint()
    again = json.loads(run("import", file, "--store", other, "--json").stdout)
    assert (again["sources"], again["known"], again["sessions"]) == (10, 10, 0)
    assert run("export", file).exit_code == 1


@pytest.mark.parametrize(
    "words", [("--all",), ("--no-children",), ("--inherited",), ("--depth", "user")]
)
def test_an_option_that_changes_nothing_in_a_portable_file_is_refused(
    words, demo, run, tmp_path
) -> None:
    file = tmp_path / "all.smx"
    result = run("export", *words, str(file))
    assert result.exit_code == 2 and f"{words[0]} is only for transcripts" in result.stderr
    assert not file.exists()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.99])
def test_a_file_that_is_cut_off_anywhere_is_refused_whole(share, demo, run, tmp_path) -> None:
    file = tmp_path / "all.smx"
    run("export", str(file))
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    result = run("import", str(file), "--store", str(tmp_path / "other.db"))
    assert result.exit_code == 1 and "it is no portable file, or it is damaged" in result.stderr


def test_some_sessions_are_exported_alone(demo, run, tmp_path) -> None:
    file, other = str(tmp_path / "one.smx"), str(tmp_path / "other.db")
    assert run("export", file, "5b0c", "--quiet").stdout == ""
    run("import", file, "--store", other)
    listing = json.loads(run("sessions", "--json", "--store", other).stdout)
    assert [one["title"] for one in listing["sessions"]] == ["Tide table: clock change bug fixed"]
    assert run("export", str(tmp_path / "none.smx"), "zzzz").exit_code == 1


@pytest.mark.parametrize("word", ["91d4f0a7", "claude:91d4f0a7-6b2e-4d15-8c93-e50b7a36f218"])
def test_a_session_given_as_the_file_is_not_a_file_of_all(
    demo, run, tmp_path, monkeypatch, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("export", word)
    assert result.exit_code == 2 and f"{word} is a session" in result.stderr
    assert not (tmp_path / word).exists()
    assert run("export", f"./{word}").exit_code == run("export", "-o", f"{word}.2").exit_code == 0


def test_what_is_no_export_is_refused(demo, run, tmp_path) -> None:
    file = tmp_path / "letter.smx"
    file.write_text("Dear importer")
    result = run("import", str(file))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ") and "hint: " in result.stderr
    assert run("import", str(tmp_path / "nowhere")).exit_code == 2


# ---------------------------------------------------------------- what is no store


@pytest.mark.parametrize("command", ["sessions", "doctor", "cost"])
def test_reading_makes_no_store_of_an_empty_file(run, tmp_path, command: str) -> None:
    empty = tmp_path / "z.db"
    empty.touch(mode=0o644)
    result = run(command, "--store", str(empty))
    assert "no store at" in result.stderr + result.stdout
    assert empty.stat().st_size == 0


def test_a_store_made_of_an_empty_file_is_private(run, tmp_path) -> None:
    empty = tmp_path / "z.db"
    empty.touch(mode=0o644)
    assert run("sync", "--quiet", "--store", str(empty)).exit_code == 0
    assert stat.S_IMODE(empty.stat().st_mode) == 0o600


def test_what_is_no_store_is_called_neither_full_nor_damaged(run, tmp_path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("notes of mine\n" * 100)
    assert (
        "is not a store: it is not an SQLite database"
        in run("sessions", "--store", str(text)).stderr
    )
    folder = run("sessions", "--store", str(tmp_path))
    assert folder.exit_code == 1 and "is not a store: it is a directory" in folder.stderr
    nothing = run("sessions", "--store", "")
    assert nothing.exit_code == 2 and "--store" in nothing.stderr
