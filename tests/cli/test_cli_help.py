"""Help: every command explains itself, with examples that work, and --help loads nothing."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from session_memory import __version__
from session_memory.cli.commands import DAILY, HEADINGS, OLD_NAMES, look
from session_memory.cli.commands.admin import store as store_group
from session_memory.cli.kit import command_files as kit_files
from session_memory.cli.kit.command import Command
from session_memory.cli.kit.command_files import (
    CommandFile,
    command_files,
    find_file,
    top_level,
)
from session_memory.cli.kit.group import CommandGroup, load_command
from session_memory.cli.kit.reference import pages

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "adding-a-command.md"
COMMANDS = [file for file in command_files() if not file.is_group]
GROUPS = [file for file in command_files() if file.is_group]
NAMES = {file.name for file in top_level()}

# No store is opened by asking for help.
pytestmark = pytest.mark.only("sqlite")

every_command = pytest.mark.parametrize("file", COMMANDS, ids=lambda file: file.typed)
every_group = pytest.mark.parametrize("file", GROUPS, ids=lambda file: file.typed)


def command_of(line: str) -> tuple[CommandFile, list[str]]:
    """The command that a line of a shell names, and its words."""
    words = shlex.split(line.partition(" > ")[0].partition(" >> ")[0].partition(" < ")[0])
    for size in (2, 1):
        file = find_file(*(words or ["status"])[:size])
        if file is not None and " ".join(words[:size]) not in OLD_NAMES:
            return file, words
    raise AssertionError(f"no command is called that: {line}")


@every_command
def test_every_command_has_help_with_at_least_two_examples(file, run) -> None:
    result = run(*file.words, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    examples = load_command(file).examples
    assert 2 <= len(examples) <= 8, "give `make_command` two to eight examples"
    assert any(command_of(line)[0] == file for line, _ in examples)


@every_group
def test_every_group_lists_its_commands_with_an_example_of_each(file, run) -> None:
    group = load_command(file)
    assert isinstance(group, CommandGroup)
    result = run(*file.words, "--help")
    assert result.exit_code == 0
    for name in group.list_commands(click.Context(group)):
        assert f"\n  {name} " in result.stdout
        assert f"session-memory {file.typed} {name}" in result.stdout


@every_command
def test_every_example_is_a_command_line_that_parses(file) -> None:
    for line, _ in load_command(file).examples:
        named, words = command_of(line)
        command = load_command(named)
        known = {opt for param in command.params for opt in param.opts} | {"--help"}
        used = {word for word in words if word.startswith("--")}
        assert used <= known, line


@pytest.mark.parametrize("file", command_files(), ids=lambda file: file.typed)
def test_the_listing_shows_the_first_line_of_the_help(file) -> None:
    command = load_command(file)
    assert (command.help or "").splitlines()[0] == file.line
    assert file.line.endswith("."), f"the first line of {file.path.name} is no whole sentence"
    # It fits beside the longest name on a terminal of 80 columns.
    most = 80 - len("  restore-native  ")
    assert len(file.line) <= most or len(file.words) > 1, (
        f"the first line of {file.path.name} has {len(file.line)} characters: at most {most}"
    )
    assert command.name == file.name


@every_command
def test_every_command_takes_the_shared_options_and_says_what_its_json_is(file) -> None:
    command = load_command(file)
    assert isinstance(command, Command)
    options = {opt for param in command.params for opt in param.opts}
    assert {"--store", "--config", "--json", "--no-color", "--quiet"} <= options
    assert command.json_shape, "give `make_command` a json_shape: what --json prints"


@every_command
def test_every_argument_and_option_is_explained(file) -> None:
    for param in load_command(file).params:
        if isinstance(param, click.Option):
            assert param.help or isinstance(param.type, click.Choice), param.name


NEW_COMMAND = '''\
"""Count words.

More about it.
"""
from session_memory.cli.kit.command import make_command

@make_command(examples=(("store count-words", "all"),))
def command() -> None:
    print("4 words")
'''


@pytest.fixture
def another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of commands that has all headings, and the group ``store``."""
    directory = tmp_path / "commands"
    for heading in HEADINGS:
        (directory / heading).mkdir(parents=True)
    group = directory / "admin" / "store"
    group.mkdir()
    (group / "__init__.py").write_text(Path(str(store_group.__file__)).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(kit_files, "DIRECTORY", directory)
    monkeypatch.setattr(store_group, "__path__", [str(group)])
    kit_files.forget_files()
    yield directory
    monkeypatch.undo()
    kit_files.forget_files()


def test_a_new_file_is_a_new_command(another_directory: Path, run) -> None:
    """Adding a command needs one file: nothing else has to name it."""
    assert run("store", "count-words").exit_code == 2
    new = another_directory / "admin" / "store" / "count_words.py"
    new.write_text(NEW_COMMAND, "utf-8")
    kit_files.forget_files()
    assert "count-words  Count words." in run("store", "--help").stdout
    assert "More about it." in run("store", "count-words", "--help").stdout
    assert run("store", "count-words").stdout == "4 words\n"


def test_the_command_on_the_page_keeps_the_rules_and_passes_the_test_on_the_page(
    another_directory: Path, monkeypatch: pytest.MonkeyPatch, demo, run
) -> None:
    code, test = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    place = another_directory / "look"
    (place / "agents.py").write_text(code, "utf-8")
    monkeypatch.setattr(look, "__path__", [*look.__path__, str(place)])
    kit_files.forget_files()
    file = find_file("agents")
    assert file is not None
    test_every_command_has_help_with_at_least_two_examples(file, run)
    test_every_example_is_a_command_line_that_parses(file)
    test_the_listing_shows_the_first_line_of_the_help(file)
    test_every_command_takes_the_shared_options_and_says_what_its_json_is(file)
    test_every_argument_and_option_is_explained(file)
    written: dict[str, Any] = {}
    exec(compile(test, PAGE.name, "exec"), written)
    functions = [given for name, given in written.items() if name.startswith("test_")]
    assert len(functions) == 2
    for function in functions:
        function(demo, run)


# ---------------------------------------------------------------- the listing


def test_the_daily_commands_come_first_and_every_command_is_listed_once(run) -> None:
    lines = [line for line in run("--help").stdout.splitlines() if line.startswith("  ")]
    names = [line.split()[0].removesuffix(",") for line in lines]
    listed = [name for name in names if name in NAMES]
    assert tuple(listed[: len(DAILY)]) == DAILY
    assert sorted(listed) == sorted(NAMES)
    assert any(line.startswith("  sessions, ls  ") for line in lines)


def test_the_headings_are_in_order(run) -> None:
    lines = run("--help").stdout.splitlines()
    titles = [line.rstrip(":") for line in lines if line and not line.startswith(" ")][1:-3]
    assert titles == ["Every day", "Look", "Find", "Cost", "Learn", "Keep", "Live", "Admin"]


@pytest.mark.parametrize("old", OLD_NAMES)
def test_old_names_still_work_and_are_not_listed(old, run) -> None:
    new = OLD_NAMES[old].split()
    for typed in (["NAME", "--help"], ["help", "NAME"], ["NAME", "--no-such-option"]):
        answers = [
            run(*(part for word in typed for part in (name if word == "NAME" else [word])))
            for name in ([old], new)
        ]
        outputs = {(one.exit_code, one.stdout, one.stderr) for one in answers}
        assert len(outputs) == 1, outputs
    assert run(old, "--help").stdout.startswith(f"Usage: session-memory {OLD_NAMES[old]} ")
    assert find_file(old) == find_file(*OLD_NAMES[old].split())
    assert old not in NAMES
    assert f"\n  {old} " not in run("--help").stdout


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("verfy",), "store verify"),
        (("store", "verfy"), "store verify"),
        (("sesions",), "sessions"),
        (("accept",), "lessons accept"),
        (("lessons", "acept"), "lessons accept"),
        (("copy-stor",), "store copy"),
        (("sqll",), "lake sql"),
    ],
)
def test_an_unknown_command_suggests_near_ones(typed, meant, run) -> None:
    result = run(*typed)
    assert result.exit_code == 2
    assert f"no such command '{typed[-1]}'" in result.stderr
    hint = result.stderr.splitlines()[1]
    assert hint.startswith("hint: Did you mean ") and meant in hint


def test_an_unknown_command_that_is_near_to_none_points_to_the_help(run) -> None:
    assert run("qqqq").stderr.splitlines()[1] == "hint: See: session-memory --help"


def test_help_loads_neither_the_store_nor_anything_heavy() -> None:
    code = (
        "import sys\n"
        "from session_memory.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'apsw', 'msgspec', 'rich', 'json', 'asyncio', 'importlib.metadata'}\n"
        "rooms = {'session_memory.store', 'session_memory.collect', 'session_memory.views'}\n"
        "print(sorted((heavy | rooms) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("Usage: session-memory")
    assert done.stderr.strip() == "[]"


def test_help_is_a_command_too(run) -> None:
    assert run("help").stdout == run("--help").stdout
    assert run("help", "show").stdout == run("show", "--help").stdout
    assert run("help", "store", "verify").stdout == run("store", "verify", "--help").stdout
    assert run("help", "verify").stdout == run("verify", "--help").stdout


def test_help_for_an_unknown_command_suggests_near_ones(run) -> None:
    assert "Did you mean store verify" in run("help", "verfy").stderr
    assert "Did you mean store verify" in run("help", "store", "verfy").stderr
    assert run("help", "show", "me").exit_code == 2
    assert run("help", "--", "--json").exit_code == 2


def test_help_for_an_unknown_command_of_a_group_points_to_the_group(run) -> None:
    assert "See: session-memory lake --help" in run("help", "lake", "zzzz").stderr
    assert "See: session-memory --help" in run("help", "zzzz").stderr


def test_a_group_without_a_command_shows_its_help(run) -> None:
    result = run("store")
    assert result.exit_code == 2
    assert "Usage: session-memory store" in result.output


def written() -> dict[str, str]:
    found = [DOCS / "cli.md", *sorted((DOCS / "cli").glob("*.md"))]
    return {str(page.relative_to(DOCS)): page.read_text("utf-8") for page in found}


def test_every_command_has_a_page_that_is_up_to_date() -> None:
    made = pages()
    stale = sorted(name for name in {*written(), *made} if written().get(name) != made.get(name))
    assert not stale, f"run: make docs. Out of date: {stale}"
    assert {f"cli/{name}.md" for name in NAMES} == made.keys() - {"cli.md"}


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pages()
    monkeypatch.setenv("COLUMNS", "40")
    assert pages() == made


@pytest.mark.parametrize("words", [("version",), ("--version",)])
def test_the_version_is_printed(words, run) -> None:
    assert run(*words).stdout.startswith(f"session-memory {__version__}")
