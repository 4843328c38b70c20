"""One agent's place in the scratch directory, and one run of a program in it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from real_agents.agent import Agent, Place
from real_agents.isolation import end_all_in, proxies
from real_agents.model import Model, Script

PROGRAM = "session-memory"
# What agents and servers may take to end by themselves after the agent has ended.
GRACE = 20.0


@dataclass(frozen=True)
class Run:
    status: int | None
    seconds: float
    output: str
    left: list[str]


class Bed:
    """The home, the repository and the environment of one agent."""

    def __init__(
        self,
        agent: Agent,
        program: Path,
        node: Path,
        directory: Path,
        url: str,
        level: tuple[str, ...] = (),
    ) -> None:
        """`level` are options of `install`: the user's settings, or those of the project."""
        self.agent, self.level = agent, level
        self._program, self._directory = program, directory
        home, repo = directory / "home", directory / "webshop"
        shutil.rmtree(directory, ignore_errors=True)
        for made in (home, repo):
            made.mkdir(parents=True)
        self.place = Place(home, repo, url)
        found = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
        if found is None:
            raise SystemExit(f"{PROGRAM} is not installed beside {sys.executable}")
        self.memory = found
        paths = (node, "/usr/local/bin", "/usr/bin", "/bin")
        self.environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join(map(str, paths)),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            **proxies(),
        }

    @property
    def store(self) -> Path:
        """The default one, because most agents start servers with few of their variables."""
        return self.place.home / ".session-memory" / "memory.db"

    def ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run Session Memory as the user does."""
        return subprocess.run(
            [self.memory, *words],
            cwd=self.place.repo,
            env=self.environment,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def play(self, model: Model, script: Script) -> Run:
        """One session of the agent; whatever it leaves behind is ended."""
        model.play(script)
        words = [str(self._program), *self.agent.arguments(script.prompt)]
        environment = self.environment | self.agent.environment(self.place)
        log = self._directory / f"{script.name}.log"
        begun = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=self.place.repo,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            status = _wait(process, self.agent.seconds)
        seconds = time.monotonic() - begun
        left = end_all_in(self.place.home, GRACE)
        for number, sent in enumerate(script.requests):
            (self._directory / f"{script.name}-{number}.json").write_bytes(sent.raw)
        return Run(status, seconds, log.read_text(errors="replace"), left)


def _wait(process: "subprocess.Popen[bytes]", seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
