"""Where an agent runs: a home of its own, a repository, and the address of the model."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from session_memory.conformance.isolation import proxies


@dataclass(frozen=True)
class AgentPlace:
    home: Path
    repo: Path
    url: str

    @classmethod
    def made(cls, directory: Path, url: str, repo: str = "repo") -> "AgentPlace":
        """Create an empty place below `directory`, whose earlier content is deleted."""
        shutil.rmtree(directory, ignore_errors=True)
        place = cls(directory / "home", directory / repo, url)
        for made in (place.home, place.repo, place.temporary):
            made.mkdir(parents=True)
        return place

    @property
    def temporary(self) -> Path:
        return self.home.parent / "tmp"

    def write(self, path: str, content: str | dict[str, Any]) -> None:
        """Write a file. ``path`` is relative to the agent's home directory."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        target.write_text(text)

    def environment(self, node: Path) -> dict[str, str]:
        """Return the only variables that every agent gets; its driver adds the agent's own."""
        paths = (node, "/usr/local/bin", "/usr/bin", "/bin", Path(sys.executable).parent)
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            # Some agents create sockets in this directory. If it is not set, they use /tmp.
            "XDG_RUNTIME_DIR": str(self.temporary),
            "PATH": os.pathsep.join(map(str, paths)),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            **proxies(),
        }


def make_repository(place: AgentPlace, files: dict[str, str], environment: dict[str, str]) -> None:
    """Create a git repository in the place, with these files in its first commit."""
    for name, text in files.items():
        target = place.repo / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    who = ("-c", "user.name=Script", "-c", "user.email=script@example.invalid")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        (*who, "commit", "-q", "-m", "Begin"),
    ):
        subprocess.run(["git", *words], cwd=place.repo, env=environment, check=True)
