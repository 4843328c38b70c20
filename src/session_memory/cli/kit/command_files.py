"""Find the commands from the names of the files below ``cli/commands``, without importing them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from session_memory.cli.commands import HEADINGS, OLD_NAMES

PACKAGE = "session_memory.cli.commands"
# The least similarity of a suggested name to what was typed; 1 means equal.
CLOSE = 0.75
DIRECTORY = Path(__file__).parents[1] / "commands"


@dataclass(frozen=True)
class CommandFile:
    """A command or a group: what the user types, the heading it is listed under, and its module."""

    words: tuple[str, ...]
    heading: str
    module: str
    path: Path

    @property
    def name(self) -> str:
        return self.words[-1]

    @property
    def typed(self) -> str:
        """What the user types after ``session-memory``."""
        return " ".join(self.words)

    @property
    def is_group(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def line(self) -> str:
        """The first line of the file's docstring, which describes the command in ``--help``."""
        with self.path.open(encoding="utf-8") as file:
            return file.readline().strip().removeprefix('"""').removesuffix('"""')

    def load(self) -> ModuleType:
        return import_module(self.module)


@cache
def command_files() -> tuple[CommandFile, ...]:
    """All commands and groups: by heading, then by name; a group is followed by its commands."""
    return tuple(
        found
        for heading in HEADINGS
        for found in _files(DIRECTORY / heading, heading, f"{PACKAGE}.{heading}", ())
    )


def _files(
    directory: Path, heading: str, package: str, words: tuple[str, ...]
) -> Iterator[CommandFile]:
    for path in sorted(directory.iterdir()):
        module, typed = f"{package}.{path.stem}", (*words, command_name(path.stem))
        if path.name.startswith("_"):
            continue
        if path.suffix == ".py":
            yield CommandFile(typed, heading, module, path)
        elif (path / "__init__.py").is_file():
            yield CommandFile(typed, heading, module, path / "__init__.py")
            yield from _files(path, heading, module, typed)


def command_name(module: str) -> str:
    """Return how a module's command is typed: ``import_`` as ``import``, ``a_b`` as ``a-b``."""
    return module.rpartition(".")[2].rstrip("_").replace("_", "-")


def top_level() -> Iterator[CommandFile]:
    """The commands and groups that are typed right after ``session-memory``."""
    return (file for file in command_files() if len(file.words) == 1)


def members(group: CommandFile) -> Iterator[CommandFile]:
    """The commands of a group."""
    return (file for file in command_files() if file.words[:-1] == group.words)


def find_file(*words: str) -> CommandFile | None:
    """Return the command or group with this present or old name (``"store", "verify"``)."""
    typed = " ".join(words)
    return _by_words().get(OLD_NAMES.get(typed, typed))


@cache
def _by_words() -> dict[str, CommandFile]:
    return {file.typed: file for file in command_files()}


def forget_files() -> None:
    """Clear the caches, so that the directory is read again; for tests that add a file."""
    command_files.cache_clear()
    _by_words.cache_clear()


def similar_commands(words: tuple[str, ...]) -> list[str]:
    """Return up to three commands whose names are similar to the ``words`` that were typed."""
    from difflib import get_close_matches

    names = {old: [new] for old, new in OLD_NAMES.items()}
    for file in command_files():
        for name in {file.typed, file.name}:
            names.setdefault(name, []).append(file.typed)
    close = [
        *get_close_matches(" ".join(words), names, n=3, cutoff=CLOSE),
        *get_close_matches(words[-1], names, n=3, cutoff=CLOSE),
    ]
    return list(dict.fromkeys(typed for name in close for typed in names[name]))[:3]
