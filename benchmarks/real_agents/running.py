"""One agent's place in the scratch directory, and one run of a program in it."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from real_agents.agents import WithMemory
from real_agents.script import Script
from session_memory.conformance.driver import Launch
from session_memory.conformance.place import AgentPlace
from session_memory.conformance.running import Run, run_agent
from session_memory.conformance.server import Model

PROGRAM = "session-memory"
USER, PROJECT, PLUGIN = "user", "project", "plugin"
# What agents and servers may take to end by themselves after the agent has ended.
GRACE = 20.0


class Bed:
    """The home, the repository and the environment of one agent."""

    def __init__(
        self,
        agent: WithMemory,
        program: Path,
        node: Path,
        directory: Path,
        url: str,
        level: str = USER,
        options: tuple[str, ...] = (),
    ) -> None:
        """`level`: in the user's settings, in those of the project, or as a plugin. `options` are
        further ones of `install`."""
        self.agent, self.level, self._options = agent, level, options
        self._program, self._directory = program, directory
        self.place = AgentPlace.made(directory, url, "webshop")
        found = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
        if found is None:
            raise SystemExit(f"{PROGRAM} is not installed beside {sys.executable}")
        self.memory = found
        self.environment = self.place.environment(node)

    @property
    def store(self) -> Path:
        """The default one, because most agents start servers with few of their variables."""
        return self.place.home / ".session-memory" / "memory.db"

    def ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run Session Memory as the user does."""
        return self._run([self.memory, *words], {})

    def _run(
        self, words: list[str], variables: dict[str, str], said: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            words,
            cwd=self.place.repo,
            env=self.environment | variables,
            text=True,
            capture_output=True,
            input=said,
            timeout=120,
        )

    def install(self, name: str, *options: str) -> str | None:
        """Install the memory in an agent; why not, if it fails."""
        words = ("install", name, *self._place, *self._options, *options, "--yes")
        return self._done(self.ask(*words))

    def uninstall(self, name: str) -> str | None:
        return self._done(self.ask("uninstall", name, *self._place, "--yes"))

    def hooks(self) -> list[str]:
        """The hooks that the agent has now."""
        agents = json.loads(self.ask("install", "--status", "--json").stdout)["agents"]
        return [
            event for one in agents if one["agent"] == self.agent.name for event in one["hooks"]
        ]

    @property
    def _place(self) -> list[str]:
        return ["--project"] if self.level == PROJECT else []

    def add_plugin(self) -> str | None:
        """Make the folder of plugins, and let the agent install its own."""
        made = self.ask("plugin", str(self._directory / "plugins"), "--json")
        if reason := self._done(made):
            return reason
        lines = json.loads(made.stdout)["commands"][self.agent.name]
        for line in lines:
            words = [str(self._program), *shlex.split(line)[1:]]
            if line == lines[-1]:
                words += self.agent.consent
            # The user is asked whether to trust the folder.
            run = self._run(words, self.agent.environment(self.place), "y\n")
            if reason := self._done(run):
                return f"{line}: {reason}"
        return None

    @staticmethod
    def _done(run: "subprocess.CompletedProcess[str]") -> str | None:
        return (run.stderr or run.stdout).strip()[-300:] if run.returncode else None

    def play(self, model: Model, script: Script) -> Run:
        """One session of the agent; whatever it leaves behind is ended."""
        model.play(script)
        words = [str(self._program), *self.agent.arguments(Launch(script.prompt), self.place)]
        environment = self.environment | self.agent.environment(self.place)
        log = self._directory / f"{script.name}.log"
        seconds = self.agent.seconds
        run = run_agent(words, self.place.repo, environment, log, seconds, grace=GRACE)
        for number, sent in enumerate(script.requests):
            (self._directory / f"{script.name}-{number}.json").write_bytes(sent.raw)
        return run
