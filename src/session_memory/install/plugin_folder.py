"""Write a folder with a plugin for each agent that installs plugins.

Each agent gets a plugin of its own, because each has other events and passes its name to the hook.
The catalogues at the top of the folder name the plugins and where they are.
"""

import json
from pathlib import Path
from typing import Any

from session_memory import __version__
from session_memory.core.errors import UnsafePath
from session_memory.install.agent import NAME, Request
from session_memory.install.agents import setups
from session_memory.install.skill import SKILL
from session_memory.store.private_files import whole_file

# A file that only our folders have.
MARK_FILE = ".session-memory-plugin"


def folder_files(request: Request) -> dict[str, str]:
    """The content of every file below the folder."""
    found: dict[str, str] = {MARK_FILE: f"{__version__}\n"}
    for setup in setups():
        if setup.plugin is None:
            continue
        plugin = setup.plugin(request)
        below = f"plugins/{setup.name}"
        for path, value in plugin.catalogs.items():
            found[path] = _text(value)
        for path, value in plugin.files.items():
            found[f"{below}/{path}"] = _text(value)
        found[f"{below}/skills/{NAME}/SKILL.md"] = SKILL
    return found


def install_commands(directory: Path, request: Request) -> dict[str, list[str]]:
    """The commands that install the plugin, by agent."""
    return {
        setup.name: [
            line.format(dir=directory, plugin=directory / "plugins" / setup.name)
            for line in setup.plugin(request).commands
        ]
        for setup in setups()
        if setup.plugin is not None
    }


def write_folder(directory: Path, request: Request) -> list[Path]:
    """Write the folder, and delete files of an earlier release. Returns the files that changed."""
    if directory.exists() and not _is_ours(directory):
        hint = "Name a directory that does not exist yet, or one that this command wrote."
        raise UnsafePath(f"{directory} is not an empty directory", hint)
    wanted, changed = folder_files(request), []
    for old in [path for path in directory.rglob("*") if path.is_file()]:
        if str(old.relative_to(directory)) not in wanted:
            old.unlink()
            changed.append(old)
    for name, text in wanted.items():
        path = directory / name
        if path.is_symlink() or not path.is_file() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, replace=True) as file:
                file.write(text.encode())
            path.chmod(0o644)
            changed.append(path)
    return changed


def _is_ours(directory: Path) -> bool:
    return directory.is_dir() and (
        (directory / MARK_FILE).is_file() or not any(directory.iterdir())
    )


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
