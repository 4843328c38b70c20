"""The server as a process of its own: started, asked, named by other commands, and ended."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from reading.hostile import collected
from starlette.requests import Request

from session_memory import Memory
from session_memory.cli import main
from session_memory.config import Config
from session_memory.core.errors import StoreError
from session_memory.store import open_store
from session_memory.testing.claude import ClaudeHome
from session_memory.web.cancelling import Cancellation, run_while_awaited
from session_memory.web.running import SUFFIX, Running, mark_of, running, write_running

SECONDS = 30


def program(*words: str, store: Path) -> list[str]:
    return [sys.executable, "-m", "session_memory", *words, "--store", str(store)]


@pytest.mark.parametrize("follows", [False, True])
def test_it_starts_is_named_and_ends(tmp_path: Path, follows: bool) -> None:
    store = tmp_path / "memory.db"
    logs = ClaudeHome(tmp_path / "logs")
    logs.session("91d4f0a7", slug="one").prompt("What is the tide?")
    logs.write()
    collected(logs.path, store)
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    words = ["web", "--no-open", "--json", *([] if follows else ["--no-watch"])]
    process = subprocess.Popen(
        program(*words, store=store), stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(found["address"], timeout=SECONDS) as answer:
            assert answer.status == 200 and b"Session Memory" in answer.read()
        mark = tmp_path / f"memory{SUFFIX}"
        assert stat.S_IMODE(mark.stat().st_mode) == 0o600
        state = running(mark)
        assert state is not None and state.is_alive and state.port == found["port"]
        named = subprocess.run(
            program("open", "91d4f0a7", "--web", "--json", store=store),
            capture_output=True,
            env=environment,
            check=False,
        )
        assert named.returncode == 0, named.stderr
        assert json.loads(named.stdout)["address"].startswith(f"http://127.0.0.1:{state.port}/s/")
        shown = subprocess.run(
            program("show", "91d4f0a7", "--no-pager", store=store),
            capture_output=True,
            env=environment,
            check=True,
        )
        assert f"http://127.0.0.1:{state.port}/s/".encode() in shown.stderr
        # A second one is not started: the page of the first is named, with its token.
        again = subprocess.run(
            program("web", "--no-open", "--json", store=store),
            capture_output=True,
            env=environment,
            check=True,
            timeout=SECONDS,
        )
        assert json.loads(again.stdout) == found
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    after = running(mark)
    assert after is not None and after.port == found["port"] and not after.is_alive


def test_a_watch_serves_the_page_and_prints_no_token(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        program("watch", "--web", "--json", store=store),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(2)]
        mark = tmp_path / f"memory{SUFFIX}"
        until = time.monotonic() + SECONDS
        while (state := running(mark) or Running(0)).port == 0 or not state.answers():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert not Running(state.port, "wrong", state.pid).answers()
        assert stat.S_IMODE(mark.stat().st_mode) == 0o600
    finally:
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert state.token.encode() not in b"".join([*said, rest, errors])
    assert not state.answers()


@pytest.fixture
def served_mark(demo_store: Path) -> Iterator[Running]:
    """A note that a server runs for the store: this process does."""
    with open_store(demo_store) as opened:
        mark = mark_of(opened)
    assert mark is not None
    write_running(mark, Running(4711, "secret", os.getpid()))
    yield Running(4711, "secret", os.getpid())
    mark.unlink()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["digest", "91d4f0a7"], "/digest"),
        (["tree", "91d4f0a7"], "/family"),
        (["timeline", "91d4f0a7", "--no-pager"], "/map?by=time"),
        (["diff", "91d4f0a7", "--no-pager"], "/changes"),
        (["cost", "--audit", "91d4f0a7"], "/cost"),
        (["sessions"], "/sessions"),
        (["search", "tide tables"], "/sessions?q=tide%20tables"),
        (["fix", "AssertionError: x"], "/errors?q="),
        (["how", "tide tables"], "/sessions?q=tide%20tables"),
        (["similar", "91d4f0a7"], "/s/claude:91d4f0a7"),
        (["similar", "--text", "tide"], "/sessions?q=tide"),
        (["task", "91d4f0a7"], "/s/claude:91d4f0a7"),
        (["name", "91d4f0a7"], "/s/claude:91d4f0a7"),
        (["files", "91d4f0a7"], "/changes"),
        (["files"], "/work"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_commands_name_the_page_with_the_same_answer(
    words: list[str], page: str, demo_store: Path, served_mark: Running
) -> None:
    asked = [*words, "--store", str(demo_store)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "On the web" in line]
    assert "http://127.0.0.1:4711/" in line and page in line
    assert "secret" not in done.output and "On the web" not in done.stdout
    for silent in ("--json", "--quiet"):
        assert "On the web" not in CliRunner().invoke(main, [*asked, silent]).output


@pytest.mark.only("sqlite")
def test_work_for_a_request_that_nobody_waits_for_is_stopped(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    open_store(store).close()
    memory = Memory(str(store), Config())
    endless = (
        "with recursive n (x) as (select 1 union all select x + 1 from n) select count(*) from n"
    )
    asked: list[bool] = []

    def count(stopping: Cancellation) -> object:
        with stopping.of(memory):
            return memory.store.db.value(endless)

    async def receive() -> dict[str, str]:
        asked.append(True)
        return {"type": "http.request" if len(asked) == 1 else "http.disconnect"}

    request = Request({"type": "http"}, receive)
    with pytest.raises(StoreError):
        asyncio.run(run_while_awaited(request, count))
    # The next request may use the same memory, and nothing stops it.
    assert memory.store.db.value("select 1") == 1
    memory.close()
