"""The server as a process of its own: started, asked, named by other commands, and ended."""

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from reading.hostile import collected

from session_memory.testing.claude import ClaudeHome
from session_memory.web.running import SUFFIX, running

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
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    after = running(mark)
    assert after is not None and after.port == found["port"] and not after.is_alive
