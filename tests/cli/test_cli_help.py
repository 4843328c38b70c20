"""Help: every command explains itself, with examples that work, and --help loads nothing."""

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from session_memory import __version__
from session_memory.cli import SECTIONS, main
from session_memory.cli.kit.command import Command
from session_memory.cli.kit.reference import pages

DOCS = Path(__file__).parents[2] / "docs"
ROOT = click.Context(main, info_name="session-memory")
NAMES = main.list_commands(ROOT)

# No store is opened by asking for help.
pytestmark = pytest.mark.only("sqlite")


def found(name: str) -> Command:
    command = main.get_command(ROOT, name)
    assert isinstance(command, Command)
    return command


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_at_least_two_examples(name, run) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert 2 <= len(found(name).examples) <= 8
    assert any(line.split()[0] == name for line, _ in found(name).examples)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_a_command_line_that_parses(name) -> None:
    for line, _ in found(name).examples:
        words = shlex.split(line.partition(" > ")[0].partition(" >> ")[0])
        command = found(words[0])
        known = {opt for param in command.params for opt in param.opts} | {"--help"}
        used = {word for word in words if word.startswith("--")}
        assert used <= known, line


@pytest.mark.parametrize("name", NAMES)
def test_the_list_of_commands_says_what_their_help_says(name) -> None:
    (line,) = [section[name] for section in SECTIONS.values() if name in section]
    assert (found(name).help or "").splitlines()[0] == line


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_the_shared_options_and_says_what_its_json_is(name) -> None:
    options = {opt for param in found(name).params for opt in param.opts}
    assert {"--store", "--config", "--json", "--no-color", "--quiet"} <= options
    assert found(name).json_shape


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_and_option_is_explained(name) -> None:
    for param in found(name).params:
        if isinstance(param, click.Option):
            assert param.help or isinstance(param.type, click.Choice), param.name


def test_every_command_has_a_file_of_its_own() -> None:
    folder = Path(str(sys.modules["session_memory.cli"].__file__)).parent / "commands"
    files = {path.stem.rstrip("_").replace("_", "-") for path in folder.glob("[a-z]*.py")}
    assert files == set(NAMES)


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


def test_without_arguments_the_help_is_shown(run) -> None:
    result = run()
    assert "Usage: session-memory" in result.output
    assert result.exit_code == 2


def written() -> dict[str, str]:
    found = [DOCS / "cli.md", *sorted((DOCS / "cli").glob("*.md"))]
    return {str(page.relative_to(DOCS)): page.read_text("utf-8") for page in found}


def test_every_command_has_a_page_that_is_up_to_date() -> None:
    made = pages()
    assert written() == made, "run: python -m session_memory.cli.kit.reference docs"
    assert {f"cli/{name}.md" for name in NAMES} == made.keys() - {"cli.md"}


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert written() == pages()


@pytest.mark.parametrize("words", [("version",), ("--version",)])
def test_the_version_is_printed(words, run) -> None:
    assert run(*words).stdout.startswith(f"session-memory {__version__}")
