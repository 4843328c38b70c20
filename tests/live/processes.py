"""Processes that the tests start, kill and talk to."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from forking import start_fork

from . import crash_child

CHILD = Path(__file__).with_name("crash_child.py")
# Of a machine that is busy with other things: a failure, and not how long anything takes.
PATIENCE_S = 60


def environment(**more: str) -> dict[str, str]:
    source = Path(sys.modules["session_memory"].__file__ or "").parents[1]
    paths = os.pathsep.join(map(str, (source, CHILD.parents[1])))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "error", **more}


def command(task: str, *arguments: object) -> list[str]:
    return [sys.executable, str(CHILD), task, *map(str, arguments)]


def run(
    task: str, *arguments: object, before: tuple[str, ...] = (), **more: str
) -> "subprocess.CompletedProcess[str]":
    """A child with a limit, a disk or a right of its own is a new program, others are forks."""
    if not before and not more:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        child = _forked(task, *arguments, **pipes)
        out, error = child.communicate(timeout=10 * PATIENCE_S)
        return subprocess.CompletedProcess(task, child.returncode, out, error)
    return subprocess.run(
        [*before, *command(task, *arguments)],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE_S,
        check=False,
    )


def _forked(task: str, *arguments: object, **popen: Any) -> "subprocess.Popen[Any]":
    words = (task, *map(str, arguments))
    return start_fork(lambda: sys.exit(crash_child.main()), words, **popen)


def said(done: "subprocess.CompletedProcess[str]") -> list[Any]:
    """What a child said that ended as it should."""
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class Child:
    """A process to talk to, a line at a time; it does not outlive the test."""

    def __init__(self, task: str, *arguments: object) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = _forked(task, *arguments, **pipes)

    def tell(self, line: str) -> None:
        _stream(self._process.stdin).write(line.encode() + b"\n")
        _stream(self._process.stdin).flush()

    def hear(self) -> Any:
        return json.loads(_stream(self._process.stdout).readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)
        assert kind is not None or self._process.returncode == 0


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


class Worker:
    """A process that announces and acknowledges steps in a pipe, until it is killed."""

    def __init__(self, nursery: Child, pipe: Path, tag: str) -> None:
        self.lines: list[dict[str, Any]] = []
        self._rest = b""
        self._nursery = nursery
        os.mkfifo(pipe)
        self._pipe = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        nursery.tell(f"{pipe} {tag}")
        self.pid = int(nursery.hear())

    @property
    def acknowledged(self) -> int:
        return sum("done" in line for line in self.lines)

    def listen(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Until the time is over, or there is enough, or it died."""
        end = time.monotonic() + seconds
        while not enough() and (left := end - time.monotonic()) > 0:
            if select.select([self._pipe], [], [], left)[0] and not self.hear():
                # Before a pipe was opened for writing it reads as if it were at its end.
                select.select([], [], [], min(left, 0.001))

    def hear(self) -> bool:
        """Take in what it has said by now; whether it was anything."""
        try:
            heard = os.read(self._pipe, 1 << 20)
        except BlockingIOError:
            return False
        *lines, self._rest = (self._rest + heard).split(b"\n")
        self.lines += map(json.loads, lines)
        return bool(heard)

    def kill(self) -> None:
        """At once, wherever it is; then all it had said."""
        os.kill(self.pid, signal.SIGKILL)
        self._nursery.tell("wait")
        assert self._nursery.hear() == -signal.SIGKILL, "it had ended by itself"
        while self.hear():
            pass
        os.close(self._pipe)
