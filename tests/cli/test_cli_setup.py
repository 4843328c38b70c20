"""config, completion and version."""

import json
import re
import subprocess
import tomllib

import pytest

from session_memory.cli.commands.admin.config import EXAMPLE
from session_memory.config import Config, load_config

# Others send a server the statements that these would send it.
pytestmark = pytest.mark.only("sqlite")


def test_the_example_changes_nothing_until_a_setting_is_uncommented(tmp_path, run) -> None:
    path = tmp_path / "config.toml"
    path.write_text(run("config", "--example").stdout)
    assert load_config(path) == Config()
    everything = re.sub(r"(?m)^#(?=[a-z\x5b\x22])", "", EXAMPLE)
    path.write_text(everything)
    config = load_config(path)
    assert config.host == "laptop"
    assert config.sources["claude"].roots and config.exclude.repos and config.domains
    shown = run("config", "--config", str(path)).stdout
    values = tomllib.loads(shown)
    assert values["domains"] == tomllib.loads(everything)["domains"]
    assert values["sources"] == tomllib.loads(everything)["sources"]


@pytest.mark.only("sqlite")
def test_the_example_is_json_too_when_asked(run) -> None:
    example = json.loads(run("config", "--example", "--json").stdout)["example"]
    assert example == run("config", "--example").stdout


def test_two_questions_to_config_are_refused(run) -> None:
    for words in (("--path", "--example"), ("--path", "--retention", "on")):
        result = run("config", *words)
        assert result.exit_code == 2 and "give one of" in result.stderr


def test_the_settings_in_effect_name_store_and_roots(home, run) -> None:
    answer = json.loads(run("config", "--json").stdout)
    assert answer["exists"] is False
    assert answer["store"] == str(home / ".session-memory" / "memory.db")
    assert {root["path"] for root in answer["roots"]} >= {str(home / ".claude")}
    assert set(answer["settings"]) == set(Config.__struct_fields__)
    assert "(does not exist: these are the defaults)" in run("config").stdout
    assert run("config", "--path").stdout.strip() == answer["path"]


@pytest.mark.only("sqlite")
def test_the_option_wins_over_the_environment_and_that_over_the_file(
    tmp_path, run, monkeypatch
) -> None:
    path = tmp_path / "config.toml"
    path.write_text('store = "/in/the/file.db"\n')

    def store(*words: str) -> str:
        printed = run("config", "--json", "--config", str(path), *words).stdout
        return str(json.loads(printed)["store"])

    assert store() == "/in/the/file.db"
    monkeypatch.setenv("SESSION_MEMORY_STORE", "/in/the/environment.db")
    assert store() == "/in/the/environment.db"
    assert store("--store", "/on/the/line.db") == "/on/the/line.db"


def test_shared_options_may_stand_before_the_command_too(home, run) -> None:
    before = run("--store", "/x/y.db", "--json", "config")
    assert json.loads(before.stdout)["store"] == "/x/y.db"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(shell, run) -> None:
    script = run("completion", shell).stdout
    assert "_SESSION_MEMORY_COMPLETE" in script and "session-memory" in script
    answer = json.loads(run("completion", shell, "--json").stdout)
    assert answer["shell"] == shell and answer["script"].strip() == script.strip()


def test_completion_is_for_the_shell_in_use_when_none_is_named(run, monkeypatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "#compdef session-memory" in run("completion").stdout
    monkeypatch.setenv("SHELL", "/bin/odd")
    assert run("completion").exit_code == 2


def test_the_bash_script_is_good_bash(run) -> None:
    script = run("completion", "bash").stdout
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "position", "expected"),
    [
        ("session-memory restore-", "1", "plain,restore-native"),
        ("session-memory sessions --out", "2", "plain,--outcome"),
        ("session-memory sessions --outcome ab", "3", "plain,abandoned"),
        ("session-memory show 91d", "2", "plain,91d4f0a7"),
        ("session-memory export file 7ac", "3", "plain,7ac31f58\nplain,7ac31f58:a5d20c71"),
    ],
)
def test_commands_options_and_sessions_are_completed(
    words, position, expected, demo, start
) -> None:
    env = {"COMP_WORDS": words, "COMP_CWORD": position}
    env["_SESSION_MEMORY_COMPLETE"] = "bash_complete"
    process = start(env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (out.decode().strip(), err) == (expected, b"")


def test_completion_without_a_store_offers_nothing_and_makes_none(home, start) -> None:
    env = {"COMP_WORDS": "session-memory show 9", "COMP_CWORD": "2"}
    env["_SESSION_MEMORY_COMPLETE"] = "bash_complete"
    process = start(env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    assert (out.strip(), err) == (b"", b"")
    assert list(home.iterdir()) == []


def test_the_versions_are_told_as_json(run) -> None:
    versions = json.loads(run("version", "--json").stdout)
    assert set(versions) == {"version", "schema_version", "store_schema", "python"}
    assert versions["schema_version"] == 2
