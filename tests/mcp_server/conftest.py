"""A store with the demo sessions, and a connection to a server over it without a process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.mcp.asking import AskedMemory
from session_memory.mcp.protocol import Protocol, ToolJob

Ask = Callable[..., str]


@pytest.fixture(autouse=True)
def home(own_home: Path) -> Path:
    return own_home


@pytest.fixture(scope="session")
def demo_store(analyzed_demo: Path) -> str:
    return str(analyzed_demo)


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
