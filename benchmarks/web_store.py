"""The invented logs that the benchmark of the web page is run on, and the store made of them.

Sessions are small and differ: some only answer, some run commands, edit files and test, some fail.
Every tenth one has two subagents. One session is long. The last one ends when the logs are made.
"""

import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from session_memory import open_store
from session_memory.learn.analyze import analyze
from session_memory.testing.claude import ClaudeHome, call, text
from session_memory.testing.collecting import collect

LONG = "cccccccc"
ROUNDS = 33_335
APART = timedelta(minutes=7)
REPOS = ("webshop", "billing", "search", "mobile", "tools")
VERBS = ("repair", "explain", "extend", "rename", "speed up", "test", "review", "remove")
THINGS = ("import", "parser", "invoice", "login", "export", "cache", "report", "migration")
MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "claude-haiku-4-5-20251001")


def write_logs(home: Path, sessions: int, now: datetime | None = None) -> None:
    """``sessions`` small logs below ``home``, the last of which ends at ``now``."""
    random = Random(sessions)
    first = (now or datetime.now(UTC)) - APART * sessions
    for repo in REPOS:
        (home / ".claude" / "projects" / f"-home-ada-{repo}").mkdir(parents=True, exist_ok=True)
    for number in range(sessions):
        native = str(uuid.UUID(int=random.getrandbits(128), version=4))
        repo = random.choice(REPOS)
        folder = home / ".claude" / "projects" / f"-home-ada-{repo}"
        prompt = f"Task {number}: {random.choice(VERBS)} the {repo} {random.choice(THINGS)}"
        log = _Log(native, repo, first + APART * number, random)
        _write(folder / f"{native}.jsonl", log.lines(prompt, random.randrange(4)))
        if number % 10:
            continue
        below = folder / native / "subagents"
        below.mkdir(parents=True)
        for child in range(2):
            agent = f"a{random.getrandbits(64):016x}"
            log = _Log(native, repo, first + APART * number, random, agent)
            _write(below / f"agent-{agent}.jsonl", log.lines(f"Look at part {child}", child))


def _write(path: Path, lines: Iterator[str]) -> None:
    path.write_text("".join(lines))


class _Log:
    """The lines of one log, each a minute or less after the one before."""

    def __init__(
        self, native: str, repo: str, moment: datetime, random: Random, agent: str = ""
    ) -> None:
        self._common = {
            "sessionId": native,
            "cwd": f"/home/ada/{repo}",
            "version": "2.1.0",
            "gitBranch": random.choice(("main", "main", "next")),
            "isSidechain": bool(agent),
            **({"agentId": agent} if agent else {}),
        }
        self._prefix = f"{native[:24]}{agent[:9]}"
        self._model = random.choice(MODELS)
        self._moment, self._random, self._number = moment, random, 0

    def lines(self, prompt: str, rounds: int) -> Iterator[str]:
        yield self._line("user", {"role": "user", "content": prompt})
        for number in range(rounds):
            yield from self._round(number)
        yield self._answer({"type": "text", "text": "Done."})

    def _round(self, number: int) -> Iterator[str]:
        """A call and its result: a command, an edit or a test run, one of seven fails."""
        failed = self._random.randrange(7) == 0
        name, given, output = self._random.choice(
            (
                ("Bash", {"command": "git status --short"}, "M src/app.py"),
                ("Read", {"file_path": "src/app.py"}, "import os\nprint(os.name)"),
                ("Bash", {"command": "pytest -q"}, "1 failed" if failed else "12 passed in 0.4s"),
                (
                    "Edit",
                    {"file_path": "src/app.py", "old_string": "os", "new_string": "sys"},
                    "done",
                ),
            )
        )
        identity = f"toolu_{self._prefix}{number}"
        yield self._answer({"type": "tool_use", "id": identity, "name": name, "input": given})
        result = {"type": "tool_result", "tool_use_id": identity, "content": output}
        if failed:
            result |= {"is_error": True, "content": f"Exit code 1\nModuleNotFoundError: {output}"}
        yield self._line("user", {"role": "user", "content": [result]})

    def _answer(self, block: dict[str, Any]) -> str:
        read = self._random.randrange(40_000)
        usage = {"input_tokens": 10, "output_tokens": 200, "cache_read_input_tokens": read}
        message = {
            "id": f"msg_{self._prefix}{self._number}",
            "role": "assistant",
            "model": self._model,
            "content": [block],
            "usage": usage,
        }
        return self._line("assistant", message, requestId=f"req_{self._prefix}{self._number}")

    def _line(self, kind: str, message: dict[str, Any], **more: Any) -> str:
        own = f"{self._prefix}{self._number:04}"
        parent = f"{self._prefix}{self._number - 1:04}" if self._number else None
        self._number += 1
        self._moment += timedelta(seconds=self._random.randrange(2, 50))
        stamp = self._moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"uuid": own, "parentUuid": parent, "timestamp": stamp, "type": kind}
        return f"{json.dumps({**self._common, **record, 'message': message, **more})}\n"


def write_long(place: Path) -> None:
    """One session of 100,005 events."""
    long = ClaudeHome(place)
    log = long.session(LONG, slug="long")
    for number in range(ROUNDS):
        if number % 40 == 0:
            log.prompt(f"question {number}")
        log.answer(text(f"answer {number}"), call("Bash", f"c{number}", command=f"echo {number}"))
        log.result(f"output {number}", is_error=number % 50 == 0)
    long.write()


def make_store(place: Path, sessions: int) -> Path:
    """The store below ``place``, with analyzed sessions; it is made once."""
    store = place / f"web-{sessions}.db"
    if store.exists():
        return store
    began = time.monotonic()
    home, long, partial = place / "home", place / "long", place / "making.db"
    for old in (home, long):
        shutil.rmtree(old, ignore_errors=True)
    for old in place.glob("making.db*"):
        old.unlink()
    write_logs(home, sessions)
    write_long(long)
    _say(f"logs written, {time.monotonic() - began:.0f} s")
    with open_store(partial, durability="normal") as opened:
        collect(opened, home)
        collect(opened, long)
        _say(f"collected, {time.monotonic() - began:.0f} s")
        analyze(opened)
        _say(f"analyzed, {time.monotonic() - began:.0f} s, CPU {time.process_time():.0f} s")
    partial.rename(store)
    shutil.rmtree(home)
    shutil.rmtree(long)
    return store


def _say(what: str) -> None:
    print(f"  {what} (load {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)
