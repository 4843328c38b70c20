"""The MCP server at 10,000 sessions: start, first answer, later answers, memory.

    python benchmarks/remember_mcp.py                 makes a store in a temporary directory
    python benchmarks/remember_mcp.py --keep DIR      makes it in DIR, or uses the one that is there
    python benchmarks/remember_mcp.py --store FILE --cwd DIR    asks another store

The store holds invented Claude Code logs. In each session a command fails, an edit follows, and the
command passes. The server is started as an agent starts it, and every tool is asked over its pipes.
The median and the slowest of several times are printed, next to the budget.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from session_memory import Memory
from session_memory.testing.collecting import collect

SESSIONS = 10_000
STARTS, TIMES = 5, 9
START = datetime(2026, 1, 1, tzinfo=UTC)
REPOS = ("webshop", "billing", "search", "mobile", "tools")
PARTS = (
    *("cart", "invoice", "webhook", "login", "export", "import", "cache", "queue", "mail"),
    *("price", "search", "index"),
)
ACTIONS = (
    *("repair", "extend", "rename", "document", "speed-up", "test", "review", "split"),
    *("remove", "migrate"),
)
# Milliseconds; the last one is in megabytes.
BUDGETS = {"initialize + tools/list": 60, "first answer": 250, "later answer": 30, "memory": 80}


def write_logs(home: Path, sessions: int) -> None:
    random = Random(14)
    for number in range(sessions):
        native = str(uuid.UUID(int=random.getrandbits(128), version=4))
        repo = REPOS[number % len(REPOS)]
        folder = home / ".claude" / "projects" / f"-home-ada-{repo}"
        folder.mkdir(parents=True, exist_ok=True)
        moment = START + timedelta(minutes=7 * number)
        lines = _lines(random, native, repo, moment, number)
        (folder / f"{native}.jsonl").write_text("".join(lines))


def _lines(random: Random, native: str, repo: str, moment: datetime, number: int) -> Iterator[str]:
    part, action = random.choice(PARTS), random.choice(ACTIONS)
    file = f"/home/ada/{repo}/src/{part}_{number % 400}.py"
    test = f"pytest tests/test_{part}_{number % 400}.py"
    error = (
        f"E   AttributeError: '{part.title()}' object has no attribute '{action}_{number % 900}'"
    )
    edit = {
        "file_path": file,
        "old_string": f"self.{action} = None",
        "new_string": f"self.{action}_{number % 900} = None",
    }
    blocks: list[tuple[str, Any]] = [
        ("user", f"Please {action} the {part} of {repo}, case {number}"),
        ("assistant", [_call("c1", "Bash", {"command": test})]),
        ("user", [_result("c1", f"FAILED {test}\n{error}\n1 failed", is_error=True)]),
        ("assistant", [_text(f"The attribute is missing in {part}. I add it.")]),
        ("assistant", [_call("c2", "Edit", edit)]),
        ("user", [_result("c2", "The file was updated.", is_error=False)]),
        ("assistant", [_call("c3", "Bash", {"command": test})]),
        ("user", [_result("c3", "1 passed in 0.1s", is_error=False)]),
        (
            "assistant",
            [_text(f"The {part} is done: {action} {number} works, and its test passes.")],
        ),
    ]
    parent = None
    for place, (role, content) in enumerate(blocks):
        own = f"{native[:24]}{place:012d}"
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            usage = {"input_tokens": 900, "output_tokens": 40}
            message |= {"id": f"msg_{own}", "model": "claude-sonnet-4-5", "usage": usage}
        yield (
            json.dumps(
                {
                    "type": role,
                    "uuid": own,
                    "parentUuid": parent,
                    "sessionId": native,
                    "cwd": f"/home/ada/{repo}",
                    "gitBranch": "main",
                    "version": "2.1.0",
                    "timestamp": (moment + timedelta(seconds=place)).isoformat(),
                    "message": message,
                }
            )
            + "\n"
        )
        parent = own


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(name: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def _result(name: str, text: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": is_error}


QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall", {"query": "split the webhook of the webshop"}),
    ("recall", {"query": "zebra frobnicator"}),
    ("fix", {"error": "AttributeError: 'Cart' object has no attribute 'document_55'"}),
    ("fix", {"error": "XyzzyError: plugh"}),
    ("sessions", {}),
    ("sessions", {"file": "src/cart_15.py"}),
    ("cost", {"since": "30d"}),
    ("cost", {"by": "model"}),
)


class Server:
    """The server as an agent starts it."""

    def __init__(self, store: str, cwd: Path) -> None:
        program = shutil.which("session-memory", path=str(Path(sys.executable).parent))
        assert program is not None
        environment = {**os.environ, "SESSION_MEMORY_STORE": store}
        self.process = subprocess.Popen(
            [program, "mcp"],
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, *requests: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        assert self.process.stdin is not None and self.process.stdout is not None
        for number, (method, params) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return [json.loads(self.process.stdout.readline())["result"] for _ in requests]

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        (result,) = self.ask(("tools/call", {"name": name, "arguments": arguments}))
        text: str = result["content"][0]["text"]
        return text

    def memory_mb(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return 0.0

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def timed(server: Server, name: str, arguments: dict[str, Any]) -> float:
    begun = time.perf_counter()
    server.call(name, arguments)
    return (time.perf_counter() - begun) * 1000


def measure(store: str, cwd: Path, questions: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    handshake = ("initialize", {"protocolVersion": "2025-06-18"}), ("tools/list", {})
    starts: list[float] = []
    firsts: dict[str, list[float]] = {name: [] for name, _ in questions}
    for name, arguments in dict(reversed(questions)).items():
        for _ in range(STARTS):
            begun = time.perf_counter()
            server = Server(store, cwd)
            server.ask(*handshake)
            starts.append((time.perf_counter() - begun) * 1000)
            firsts[name].append(timed(server, name, arguments))
            server.end()
    _row("initialize + tools/list", starts, BUDGETS["initialize + tools/list"])
    for name, times in firsts.items():
        _row(f"first answer: {name}", times, BUDGETS["first answer"])
    server = Server(store, cwd)
    server.ask(*handshake)
    for name, arguments in questions:
        server.call(name, arguments)
        times = [timed(server, name, arguments) for _ in range(TIMES)]
        tokens = len(server.call(name, arguments)) // 4
        what = f"{name} {json.dumps(arguments)[:48]} ({tokens} tokens)"
        _row(f"later answer: {what}", times, BUDGETS["later answer"])
    _row("memory, MB", [server.memory_mb()], BUDGETS["memory"])
    server.end()


def _row(what: str, times: list[float], budget: int) -> None:
    if times:
        print(f"{what:<88}{median(times):8.0f}{max(times):8.0f}{budget:8}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the store is kept")
    parser.add_argument("--store", metavar="FILE", help="another store")
    parser.add_argument("--cwd", type=Path, metavar="DIR", help="the working directory")
    parser.add_argument("--sessions", type=int, default=SESSIONS, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = options.keep or Path(scratch)
        store = Path(options.store or place / f"mcp-{options.sessions}.db")
        if not store.exists():
            place.mkdir(parents=True, exist_ok=True)
            home = Path(scratch) / "home"
            write_logs(home, options.sessions)
            with Memory(store, durability="normal") as memory:
                collect(memory.store, home)
                memory.analyze()
        cwd = options.cwd or Path(scratch) / "webshop"
        (cwd / ".git").mkdir(parents=True, exist_ok=True)
        print(f"{'milliseconds':<88}{'median':>8}{'slowest':>8}{'budget':>8}")
        measure(str(store), cwd, QUESTIONS)


if __name__ == "__main__":
    main()
