"""Files that agents read their instructions from: which agent reads which, and what is refused.

Never written: links, anything that is no Markdown, and whatever lies where agents keep their own
settings and logs.
"""

from pathlib import Path

import msgspec

from session_memory.collect.discover import roots
from session_memory.config import Config, home
from session_memory.core.errors import UnsafePath
from session_memory.derive.agents import instruction_files, own_directories, reads_instructions

# Directories that belong to git, to us, or to an agent that has no adapter here.
_OWN = frozenset({".git", ".session-memory", ".gemini", ".cursor"})


class Target(msgspec.Struct, frozen=True):
    """A file to write lessons to; ``repo`` is the name that sessions there go by. ``names`` are
    its own and those of links beside it that lead to it."""

    path: Path
    repo: str
    names: tuple[str, ...]

    def is_read_by(self, flavor: str) -> bool:
        return any(reads_instructions(name, flavor) for name in self.names)


def target(path: Path, config: Config, repo: str | None = None) -> Target:
    """The file itself, its directory without links; refuses what must not be written."""
    if path.name.lower().rpartition(".")[2] != "md":
        hint = f"Name a Markdown file that agents read: {', '.join(instruction_files())}."
        raise UnsafePath(f"{path} is no instruction file", hint)
    if path.is_symlink():
        raise UnsafePath(f"{path} is a link", f"Name the file it leads to: {path.resolve()}")
    folder = path.parent.resolve()
    if not folder.is_dir():
        raise UnsafePath(f"{folder} is no directory", "Name a file in a directory that exists.")
    _refuse_own(folder, path, config)
    real = folder / path.name
    links = [name for name in instruction_files() if (folder / name).is_symlink()]
    also = [name for name in links if (folder / name).resolve() == real]
    return Target(real, repo or folder.name, (path.name, *also))


def _refuse_own(folder: Path, path: Path, config: Config) -> None:
    hint = f"Name a file of a project instead: {', '.join(instruction_files())}."
    if (_OWN | own_directories()) & set(folder.parts):
        raise UnsafePath(f"{path} lies among an agent's own files", hint)
    for root in roots(config):
        place = root.path.resolve()
        # Whoever has logs read from all over a home still has projects in it.
        if folder.is_relative_to(place) and not home().resolve().is_relative_to(place):
            raise UnsafePath(f"{path} lies where {root.flavor} keeps its own files", hint)


def default_targets(folder: Path) -> list[Path]:
    """The instruction files of the project that ``folder`` is in; AGENTS.md where it has none."""
    top = project_of(folder)
    # A link among them leads to another of them, which is there as itself.
    files = [top / name for name in instruction_files()]
    there = [file for file in files if file.is_file() and not file.is_symlink()]
    return there or [top / "AGENTS.md"]


def project_of(folder: Path) -> Path:
    """The directory that git knows as the top, else the folder itself."""
    folder = folder.resolve()
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
