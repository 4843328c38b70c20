"""A watch in a process of its own, and everything it said so far."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warm_forks import COLLECTING, WarmForks

HOST = "here"
LONGEST_S = 40.0

ASKED_EVERY_S = (0.02, 0.25)
FORKS = WarmForks(
    "session_memory.cli.commands.live.watch",
    "session_memory.collect.watch",
    "session_memory.cli.kit.adapter_remarks",
    "session_memory.cli.kit.calling",
    "session_memory.cli.lines.watch_output",
    "session_memory.memory.follow",
    "session_memory.memory.memory",
    "session_memory.memory.retention",
    "session_memory.memory.upkeep",
    "session_memory.memory.weekly_retro",
    "session_memory.retain.demo_sessions",
    "session_memory.retain.forget",
    "session_memory.store.recall",
    "watchfiles",
    *COLLECTING,
)

Said = dict[str, Any]


class Watching:
    """Its JSON lines are read by a thread; a test that waits for one wakes up when it comes.

    It is a fork of a process that has imported the package, or with ``fresh`` a new process.
    """

    def __init__(self, *words: str, fresh: bool = False) -> None:
        self.process = (
            new_process(*words) if fresh else FORKS.start("session_memory.cli:main", words)
        )
        self.said: list[Said] = []
        self.complaints = ""
        self._news = threading.Condition()
        self._readers = [threading.Thread(target=read) for read in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.said.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.complaints = self.process.stderr.read().decode()

    def until(self, is_so: Callable[[Said], bool], since: int = 0) -> Said:
        """The first thing it says, from number ``since`` on, for which this holds."""
        with self._news:
            found = self._news.wait_for(lambda: self._first(is_so, since), LONGEST_S)
        assert found, f"never said so; the last words were {self.said[-3:]} {self.complaints}"
        return found

    def _first(self, is_so: Callable[[Said], bool], since: int) -> Said | None:
        return next((said for said in self.said[since:] if is_so(said)), None)

    def caught_up(self) -> Said:
        return self.until(lambda said: said["event"] == "synced" and said["whole"])

    def has_events(self, uid: str, count: int, since: int = 0) -> Said:
        """Wait until it says that a session has so many events."""
        return self.until(
            lambda said: said.get("session_uid") == uid and said["events"] >= count, since
        )

    def stop(self, number: int = signal.SIGTERM) -> list[Said]:
        """Ask it to end, and all it said."""
        self.process.send_signal(number)
        self.wait()
        return self.said

    def kill(self) -> None:
        self.process.kill()
        self.wait()

    def wait(self) -> int:
        status = self.process.wait(timeout=LONGEST_S)
        for reader in self._readers:
            reader.join(LONGEST_S)
        return status

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def new_process(*words: str) -> "subprocess.Popen[bytes]":
    """The command line in a process that has imported nothing yet."""
    return subprocess.Popen(
        [sys.executable, "-m", "session_memory.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for something that nobody tells us about."""
    latest = time.monotonic() + LONGEST_S
    pause, longest = ASKED_EVERY_S
    while not is_so():
        assert time.monotonic() < latest, f"{what} does not happen"
        # Each question takes the processor from the watch.
        time.sleep(pause)
        pause = min(2 * pause, longest)


def resident_kb(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0])
