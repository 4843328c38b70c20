"""copy-store, and addresses with passwords, which no command repeats."""

import json
import os
import re
from pathlib import Path

import pytest

from session_memory.cli.commands.admin.store import copy as copy_store
from session_memory.demo import demo_home

SECRET = "hunter2hunter2"


@pytest.fixture
def fingerprint(run):
    def of(*words: str) -> str:
        result = run("fingerprint", *words)
        assert result.exit_code == 0, result.stderr
        return str(result.stdout.strip())

    return of


def test_a_store_is_copied_and_the_copy_proved(demo, run, tmp_path, fingerprint) -> None:
    here, there = os.environ["SESSION_MEMORY_STORE"], str(tmp_path / "copy.db")
    result = run("copy-store", here, there)
    assert result.exit_code == 0, result.stderr
    copied, proved = result.stdout.splitlines()
    assert re.match(r"Copied 8 sessions of 10 sources \(.* of logs\) to ", copied)
    assert proved == f"Fingerprint of both: {fingerprint()}"
    assert fingerprint("--store", there) == fingerprint()
    assert run("verify", "--store", there).exit_code == 0


def test_a_copy_goes_back_and_is_followed_from_there(demo, run, tmp_path, stores) -> None:
    file, back = str(tmp_path / "copy.db"), stores.place("back")
    assert run("copy-store", os.environ["SESSION_MEMORY_STORE"], file, "--quiet").stdout == ""
    answer = json.loads(run("copy-store", file, back, "--json").stdout)
    assert (answer["same"], answer["sessions"], answer["sources"]) == (True, 8, 10)
    assert answer["from"] == file and answer["rows"] > 146 and answer["bytes"] > 200_000
    config = tmp_path / "config.toml"
    config.write_text('host = "demo"\n')
    words = ("--root", str(demo_home()), "--config", str(config), "--store", back, "--json")
    report = json.loads(run("sync", *words).stdout)
    assert (report["unchanged"], report["ingested"], report["failed"]) == (9, 0, 0)


def test_a_store_that_holds_something_is_not_copied_over(demo, run, tmp_path) -> None:
    here, other = os.environ["SESSION_MEMORY_STORE"], str(tmp_path / "other.db")
    run("demo", "--store", other)
    result = run("copy-store", other, here, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stderr)["error"]["kind"] == "not_empty"
    missing = run("copy-store", str(tmp_path / "nowhere.db"), str(tmp_path / "new.db"))
    assert missing.exit_code == 1 and "no store at" in missing.stderr
    assert not (tmp_path / "new.db").exists() and not (tmp_path / "nowhere.db").exists()


def test_a_copy_that_differs_is_status_1(demo, run, tmp_path, monkeypatch) -> None:
    prints = iter(("one", "two"))
    monkeypatch.setattr(
        "session_memory.store.store.Store.fingerprint", lambda self, **_: next(prints)
    )
    result = run("copy-store", os.environ["SESSION_MEMORY_STORE"], str(tmp_path / "copy.db"))
    assert result.exit_code == 1
    assert "The fingerprints differ: one and two. Do not use the copy." in result.stdout


def every_command(tmp_path: Path) -> list[tuple[str, ...]]:
    target = str(tmp_path / "target")
    return [
        ("sync", "--root", str(demo_home())),
        ("sync", "--dry-run"),
        ("sessions",),
        ("show", "91d4f0a7"),
        ("show", "91d4f0a7", "--full"),
        ("sources",),
        ("sources", "--accounting"),
        ("problems",),
        ("doctor",),
        ("verify",),
        ("fingerprint",),
        ("rebuild",),
        ("restore-native", "--all", "--to", f"{target}-logs"),
        ("backup", f"{target}.db"),
        ("compact",),
        ("export", f"{target}.smx"),
        ("import", f"{target}.smx"),
        ("config",),
        ("version",),
    ]


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("how", ["option", "environment", "configuration"])
def test_every_command_works_on_a_server_and_none_shows_the_password(
    demo, run, tmp_path, monkeypatch, how
) -> None:
    password = re.search(r":(\w+)@", demo)[1]
    config = tmp_path / "config.toml"
    printed = {"option": ("--store", demo), "configuration": ("--config", str(config))}.get(how, ())
    config.write_text(f"store = {json.dumps(demo)}\n")
    if how != "environment":
        monkeypatch.delenv("SESSION_MEMORY_STORE")
    seen = []
    # How a command finds its store is the same for all of them.
    commands = every_command(tmp_path) if how == "option" else [("sync",), ("doctor",), ("config",)]
    for words in commands:
        for mode in ((), ("--json",)):
            if mode and words[0] in ("restore-native", "backup", "export"):
                words = tuple(f"{word}2" if str(tmp_path) in word else word for word in words)
            result = run(*words, *printed, *mode)
            assert result.exit_code in (0, 3), (words, result.stderr)
            seen.append(result.output)
    assert password not in "".join(seen)
    assert "postgresql://tester@127.0.0.1" in "".join(seen)


@pytest.mark.only("postgresql")
@pytest.mark.parametrize("words", every_command(Path("/nowhere")), ids=" ".join)
def test_no_failure_shows_the_password(words, run, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("SESSION_MEMORY_STORE", f"postgresql://me:{SECRET}@127.0.0.1:1/team")
    if words[0] == "import":
        (tmp_path / "x").touch()
        words = ("import", str(tmp_path / "x"))
    for mode in ((), ("--json",)):
        result = run(*words, *mode)
        assert SECRET not in result.output
        assert result.exit_code == (0 if words[0] in ("config", "version") else 1)


@pytest.mark.only("postgresql")
def test_a_copy_shows_neither_password(demo, run, tmp_path, stores) -> None:
    password = re.search(r":(\w+)@", demo)[1]
    result = run("copy-store", demo, stores.place("other"), "--json")
    answer = json.loads(result.stdout)
    assert answer["same"] and password not in result.output
    assert answer["from"] == answer["to"] == re.sub(rf":{password}|\?.*", "", demo)
    assert copy_store.TEAM.startswith("postgresql://me@")


@pytest.mark.only("postgresql")
def test_a_backup_of_a_server_is_a_file_with_the_same_fingerprint(
    demo, run, tmp_path, fingerprint
) -> None:
    target = tmp_path / "backup.db"
    assert run("backup", str(target)).exit_code == 0
    assert fingerprint("--store", str(target)) == fingerprint()
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["backup.db"]
