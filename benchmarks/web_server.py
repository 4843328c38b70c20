"""The servers that the benchmark of the web page asks: ours, started as a person starts it, and
agentsview, the nearest peer, over generated logs of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from web_store import write_logs, write_long

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PEER_SECONDS = 600
PEER_ENVIRONMENT = {
    "AGENTSVIEW_NO_DAEMON": "1",
    "AGENTSVIEW_TELEMETRY_ENABLED": "0",
    "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
    "DO_NOT_TRACK": "1",
    "PYTHONPATH": "",
}


class Process:
    """A server that runs: its memory and its processor time."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        assert self._process.stdout is not None
        self.out = self._process.stdout

    @property
    def cpu_ms(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_MS

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)


class Server(Process):
    """``session-memory web``, which follows the logs below ``home``."""

    def __init__(self, store: Path, home: Path) -> None:
        began = time.perf_counter()
        super().__init__(
            [sys.executable, "-m", "session_memory", "web", "--no-open", "--json"],
            # Installed programs have bytecode. Where it must not be written, it would be compiled
            # at every start.
            {
                "HOME": str(home),
                "SESSION_MEMORY_STORE": str(store),
                "PYTHONDONTWRITEBYTECODE": "",
                "PYTHONPYCACHEPREFIX": str(store.parent / "bytecode"),
            },
        )
        found = json.loads(self.out.readline())
        self.address: str = found["address"]
        self.base = f"http://127.0.0.1:{found['port']}"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.ask("/settings?" + self.address.partition("?")[2])
        self.start_ms = (time.perf_counter() - began) * 1000
        self.start_cpu_ms = self.cpu_ms

    def ask(self, path: str, part: str = "") -> tuple[float, bytes]:
        """Milliseconds until the whole answer, and the answer."""
        request = urllib.request.Request(self.base + path)
        if part:
            request.add_header("X-Part", part)
        began = time.perf_counter()
        with self._opener.open(request, timeout=120) as answer:
            body = answer.read()
        return (time.perf_counter() - began) * 1000, body

    def cost_of(self, path: str, part: str = "") -> tuple[float, float]:
        """Milliseconds until the answer, and of the processor. The clock of the latter ticks
        every 10 ms."""
        before = self.cpu_ms
        wall, _ = self.ask(path, part)
        return wall, self.cpu_ms - before


class Peer(Process):
    """agentsview over generated logs. Its first sync is done before it serves."""

    def __init__(self, program: Path, place: Path) -> None:
        environment = {
            **PEER_ENVIRONMENT,
            "AGENTSVIEW_DATA_DIR": str(place / "data"),
            "HOME": str(place / "home"),
        }
        words = [str(program), "serve", "--no-sync", "--no-browser", "--port", "0"]
        super().__init__(words, environment)
        line = next((line for line in self.out if b"listening at" in line), b"")
        found = re.search(rb"http://[\d.:]+", line)
        if found is None:
            raise RuntimeError("agentsview did not start")
        self.base = found[0].decode()


def peer_program(place: Path) -> Path | None:
    """agentsview from the PATH, or installed from PyPI below ``place``; None if that fails."""
    if found := shutil.which("agentsview"):
        return Path(found)
    venv = place / "agentsview"
    program = venv / "bin" / "agentsview"
    if program.exists():
        return program
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "agentsview"]
    made = subprocess.run([sys.executable, "-m", "venv", str(venv)], check=False)
    done = made.returncode == 0 and subprocess.run(pip, check=False).returncode == 0
    return program if done else None


def peer_store(program: Path, place: Path, sessions: int) -> Path:
    """A directory with logs and agentsview's database of them; it is made once."""
    kept = place / f"agentsview-{sessions}"
    if kept.exists():
        return kept
    making = place / "agentsview-making"
    shutil.rmtree(making, ignore_errors=True)
    home, data = making / "home", making / "data"
    data.mkdir(parents=True)
    write_logs(home, sessions)
    write_long(home)
    projects = home / ".claude" / "projects"
    (data / "config.toml").write_text(f'[agents.claude]\ndirs = ["{projects}"]\n')
    environment = {
        **os.environ,
        **PEER_ENVIRONMENT,
        "AGENTSVIEW_DATA_DIR": str(data),
        "HOME": str(home),
    }
    subprocess.run(
        [str(program), "sync"],
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=PEER_SECONDS,
    )
    making.rename(kept)
    return kept
