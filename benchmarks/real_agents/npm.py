"""The agents' newest releases from npm, each in a directory of its own.

npm and the install scripts get a home of their own: some write programs into it.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from real_agents.agent import Agent

NODE = "22"
_LEAST_NODE = (22, 19)
# So many older releases are tried if the newest cannot be installed.
_TRIES = 6


@dataclass(frozen=True)
class Installed:
    """An agent that is there, or why it is not. `remark` tells of releases that do not install."""

    program: Path | None
    version: str
    remark: str = ""


class Npm:
    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._home = scratch / "npm-home"
        self._home.mkdir(parents=True, exist_ok=True)
        self.node: Path | None = None
        self.node = self._node()

    def install(self, agent: Agent) -> Installed:
        """The newest release that can be installed; one that is there already is used."""
        place = self._scratch / "npm" / agent.name
        if (found := _found(agent, place)) is not None:
            return found
        versions, remarks = ["latest"], []
        while versions:
            version = versions.pop(0)
            failure = self._add(place, f"{agent.package}@{version}")
            if failure is None:
                break
            if version == "latest":
                versions = self._older(agent.package)
                version = versions.pop(0) if versions else version
            remarks.append(f"{agent.package} {version} does not install: {failure}")
        remark = "; ".join(remarks)
        place.mkdir(parents=True, exist_ok=True)
        (place / "remark.txt").write_text(remark)
        return _found(agent, place) or Installed(None, "", remark)

    def _older(self, package: str) -> list[str]:
        done = self._run(["npm", "view", package, "versions", "--json"], self._scratch)
        found = json.loads(done.stdout or "[]")
        return list(reversed(found))[:_TRIES] if isinstance(found, list) else []

    def _add(self, place: Path, spec: str) -> str | None:
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text('{"private": true}\n')
        done = self._run(["npm", "install", "--no-audit", "--no-fund", spec], place)
        if done.returncode == 0:
            return None
        shutil.rmtree(place / "node_modules", ignore_errors=True)
        told = re.findall(r"npm error (?:notarget )?(.+)", done.stderr)
        return next((line for line in told if not line.startswith("code ")), done.stderr[-200:])

    def _run(self, command: list[str], cwd: Path) -> "subprocess.CompletedProcess[str]":
        # The machine's own variables may say how the registry is reached.
        path = f"{self.node}{os.pathsep}{os.environ['PATH']}" if self.node else os.environ["PATH"]
        environment = {**os.environ, "HOME": str(self._home), "PATH": path}
        return subprocess.run(
            command, cwd=cwd, env=environment, text=True, capture_output=True, timeout=900
        )

    def _node(self) -> Path:
        """The directory of a Node.js that is new enough for all agents."""
        own = shutil.which("node")
        if own and _version_of(Path(own)) >= _LEAST_NODE:
            return Path(own).parent
        kind = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
        package = f"node-linux-{kind}"
        place = self._scratch / "npm" / "node"
        program = place / "node_modules" / package / "bin"
        if not program.exists() and (failure := self._add(place, f"{package}@{NODE}")):
            raise SystemExit(f"Node.js {NODE} cannot be installed: {failure}")
        return program


def _version_of(node: Path) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], text=True, capture_output=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)))


def _found(agent: Agent, place: Path) -> Installed | None:
    program = place / "node_modules" / ".bin" / agent.program
    if not program.exists():
        return None
    about = json.loads((place / "node_modules" / agent.package / "package.json").read_text())
    note = place / "remark.txt"
    return Installed(program, about["version"], note.read_text() if note.exists() else "")
