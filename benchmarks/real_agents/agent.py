"""What the bench has to know about an agent: its package, how it is started in one shot against
the scripted model, and by which names a model calls the shell and the memory in it."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_agents.wires import MODEL, Call

SERVER = "session-memory"
KEY = "scripted"


@dataclass(frozen=True)
class Place:
    """Where an agent runs: its own home, a repository, and the address of the model."""

    home: Path
    repo: Path
    url: str

    def write(self, path: str, content: str | dict[str, Any]) -> None:
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        target.write_text(text)


class Agent(ABC):
    """One agent. `configure` writes what its user had set up before Session Memory came: the
    model, and where the format allows it a comment and a server and a hook of the user's own."""

    name = ""
    title = ""
    package = ""
    program = ""
    seconds = 90
    # What is added to the command that installs a plugin, and how its server is called then.
    consent: tuple[str, ...] = ()
    plugin_server = SERVER
    # An agent whose servers and hooks this one reads as well.
    reads = ""

    @abstractmethod
    def configure(self, place: Place) -> None:
        """Write the settings with which the agent asks the scripted model."""

    def trust(self, place: Place) -> None:
        """What the user does once so that the agent reads the settings of a project."""
        return

    def environment(self, place: Place) -> dict[str, str]:
        return {}

    @abstractmethod
    def arguments(self, prompt: str) -> list[str]:
        """The words after the program's name that answer one prompt and end."""

    @abstractmethod
    def shell(self, command: str) -> Call:
        """The call of the agent's own tool that runs a command."""

    @abstractmethod
    def memory(self, server: str, tool: str, arguments: dict[str, Any]) -> Call:
        """The call of a tool of an MCP server, as this agent names it."""


__all__ = ["KEY", "MODEL", "SERVER", "Agent", "Call", "Place"]
