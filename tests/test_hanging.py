"""A test that hangs ends with a traceback."""

import os
import subprocess
import sys
from pathlib import Path

HANG = """
import threading
from hanging import HangLimit
limit = HangLimit(limit_s=0.2)
limit.pytest_runtest_logstart()
if "finished" in {words!r}:
    limit.pytest_sessionfinish()
def hang():
    threading.Event().wait({seconds})
hang()
"""


def run(*words: str, seconds: float) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    environment.pop("EFFORT", None)
    code = HANG.format(words=words, seconds=seconds)
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_what_hangs_ends_and_says_where() -> None:
    ended = run(seconds=60)
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr and "in hang" in ended.stderr


def test_the_limit_ends_with_the_tests() -> None:
    assert run("finished", seconds=0.4).returncode == 0
