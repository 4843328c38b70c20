"""A store with the demo sessions, and a connection to a server over it without a process."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.collect.discover import roots
from session_memory.collect.sync import sync
from session_memory.config import Config
from session_memory.demo import demo_home
from session_memory.learn.analyze import analyze
from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.protocol import Protocol, ToolJob
from session_memory.store import open_store

Ask = Callable[..., str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SESSION_MEMORY_STORE", "SESSION_MEMORY_CONFIG", "SESSION_MEMORY_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("mcp") / "demo.db"
    config = Config()
    with open_store(path) as store:
        sync(store, config, roots(config, (demo_home(),)), host="demo")
        analyze(store)
    return str(path)


@pytest.fixture
def tidewatch(tmp_path: Path) -> Path:
    """The checkout that most of the demo sessions worked in; here it is empty."""
    place = tmp_path / "tidewatch"
    place.mkdir()
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


@pytest.fixture
def ask(demo_store: str, tidewatch: Path) -> Ask:
    """The text of a tool's answer, asked in the tidewatch."""
    asked = AskedMemory(demo_store, None, tidewatch)

    def answer(name: str, **arguments: Any) -> str:
        return asked.answer(name, arguments)

    return answer


class Client:
    """A connection in this process. Jobs run at once, or when ``run_jobs`` is called."""

    def __init__(self, call: Callable[[str, dict[str, Any]], str], *, waits: bool = False) -> None:
        self.received: list[Any] = []
        self.jobs: list[ToolJob] = []
        run = self.jobs.append if waits else ToolJob.run
        self.protocol = Protocol(self.received.append, call, run)

    def send(self, line: Any) -> list[Any]:
        """What the server sends after this line, which may be a value to encode."""
        before = len(self.received)
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        self.protocol.receive(data)
        return self.received[before:]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        (answer,) = self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert answer["id"] == 1
        return dict(answer)

    def run_jobs(self) -> None:
        while self.jobs:
            self.jobs.pop(0).run()


@pytest.fixture
def client(demo_store: str, tidewatch: Path) -> Client:
    return Client(AskedMemory(demo_store, None, tidewatch).answer)
