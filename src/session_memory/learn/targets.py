"""Find the instruction files that lessons are written to, and refuse unsafe files.

Links, files that are not Markdown, and files in the directories of git, of this program or of an
agent are refused.
"""

from pathlib import Path

import msgspec

from session_memory.collect.discover import roots
from session_memory.config import Config, home
from session_memory.core.errors import UnsafePath
from session_memory.derive.agents import instruction_files, own_directories, reads_instructions

# Directories that are refused in addition to those that adapters declare (`own_directories`).
_OWN = frozenset({".git", ".session-memory", ".gemini", ".cursor"})


class Target(msgspec.Struct, frozen=True):
    """A file to write lessons to. ``repo`` is the repository whose lessons belong into it.

    ``names`` are its own name and the names of links to it in the same directory: an agent reads
    the file under any of them.
    """

    path: Path
    repo: str
    names: tuple[str, ...]

    def is_read_by(self, flavor: str) -> bool:
        return any(reads_instructions(name, flavor) for name in self.names)


def target(path: Path, config: Config, repo: str | None = None) -> Target:
    """Return the target for a file. Raises `UnsafePath` for a file that must not be written.

    ``repo`` is by default the name of the file's directory.
    """
    if path.name.lower().rpartition(".")[2] != "md":
        hint = f"Name a Markdown file that agents read: {', '.join(instruction_files())}."
        raise UnsafePath(f"{path} is not an instruction file", hint)
    if path.is_symlink():
        raise UnsafePath(f"{path} is a link", f"Name the file it points to: {path.resolve()}")
    folder = path.parent.resolve()
    if not folder.is_dir():
        raise UnsafePath(f"{folder} is not a directory", "Name a file in a directory that exists.")
    _refuse_own(folder, path, config)
    real = folder / path.name
    links = [name for name in instruction_files() if (folder / name).is_symlink()]
    also = [name for name in links if (folder / name).resolve() == real]
    return Target(real, repo or folder.name, (path.name, *also))


def _refuse_own(folder: Path, path: Path, config: Config) -> None:
    hint = f"Name a file of a project instead: {', '.join(instruction_files())}."
    if (_OWN | own_directories()) & set(folder.parts):
        raise UnsafePath(f"{path} is in a directory of an agent or of git", hint)
    for root in roots(config):
        place = root.path.resolve()
        # A user may configure the whole home directory as a root; projects in it are fine.
        if folder.is_relative_to(place) and not home().resolve().is_relative_to(place):
            raise UnsafePath(f"{path} is where {root.flavor} keeps its own files", hint)


def default_targets(folder: Path) -> list[Path]:
    """Return the instruction files of the project around ``folder``; AGENTS.md if it has none."""
    top = project_of(folder)
    # A link is skipped, because it usually points to another of these files.
    files = [top / name for name in instruction_files()]
    there = [file for file in files if file.is_file() and not file.is_symlink()]
    return there or [top / "AGENTS.md"]


def project_of(folder: Path) -> Path:
    """Return the top directory of the git repository around a folder, else the folder itself."""
    folder = folder.resolve()
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
