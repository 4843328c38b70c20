"""Describe an agent that can be connected: which files it reads, and what we write there."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from session_memory.config import home
from session_memory.install.parts import FileParts

NAME = "session-memory"
EVENTS = ("failure", "end", "prompt", "start")
DEFAULT_EVENTS = ("failure", "end")


@dataclass(frozen=True)
class InstallPlace:
    """Where to install: for the user, or in the project whose directory is ``root``."""

    root: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def home(self) -> Path:
        return home(self.environ)

    def directory(self, variable: str, default: str) -> Path:
        """The directory that a variable names, else the default below the home directory."""
        named = self.environ.get(variable)
        return Path(named).expanduser() if named else self.home / default


@dataclass(frozen=True)
class Request:
    """What to install: ``words`` start this program, ``hooks`` are our names of events.

    ``present`` are the names of all agents that are installed at the same place. ``is_complete``
    asks for all files and parts that there may be, so that they can be removed. With
    ``through_server`` the running server answers hooks where the agent can ask it.
    """

    words: tuple[str, ...]
    hooks: tuple[str, ...] = DEFAULT_EVENTS
    skill: bool = True
    present: frozenset[str] = frozenset()
    is_complete: bool = False
    through_server: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The options after the program, such as ``--store``."""
        return self.words[self._size :]

    @property
    def program(self) -> tuple[str, ...]:
        return self.words[: self._size]

    @property
    def _size(self) -> int:
        # ``python -m session_memory`` are three words.
        return 3 if self.words[1:2] == ("-m",) else 1

    def call(self, *command: str) -> list[str]:
        """A command of this program with its options."""
        return [*self.program, *command, *self.options]


@dataclass(frozen=True)
class PluginFiles:
    """A plugin: ``files`` by their paths in the plugin's folder, ``catalogs`` by their paths in the
    folder of all plugins.

    ``commands`` install the plugin; ``{dir}`` stands for the folder of all plugins, ``{plugin}``
    for the plugin's own folder.
    """

    files: dict[str, Any]
    commands: tuple[str, ...]
    catalogs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AgentSetup:
    """Everything about one agent. ``events`` are our events that it knows, with its own names.

    ``files`` gives the files with our parts for a place, ``directory`` is where the agent keeps its
    settings, and ``advice`` are the sentences that its user must read. ``reads`` names other agents
    whose servers it uses as well, and ``notes`` are for its page of the documentation.
    """

    name: str
    title: str
    program: str
    events: Mapping[str, str]
    directory: Callable[[InstallPlace], Path]
    files: Callable[[InstallPlace, Request], list[FileParts]]
    advice: Callable[[InstallPlace, Request], list[str]]
    reads: tuple[str, ...] = ()
    plugin: Callable[[Request], PluginFiles] | None = None
    notes: tuple[str, ...] = ()

    def is_here(self, place: InstallPlace) -> bool:
        """Whether this machine seems to have the agent."""
        path = place.environ.get("PATH")
        found = shutil.which(self.program, path=path) is not None
        return found or self.directory(place).is_dir()

    def hooks_of(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(event for event in self.events if event in wanted)
