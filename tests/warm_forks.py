"""Processes that begin with the package imported: forks of a process that only imports and forks.

Python takes longer to import the package than most tests take for the rest. A fork does what a new
process does after its imports. Tests of the start itself, of plugins and of inherited signals
start a new process instead.
"""

import atexit
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

SOURCE = Path(__file__).parent.parent / "src"
# What a sync imports while it runs.
COLLECTING = (
    "session_memory.collect.sync",
    "session_memory.store.sqlite",
    "session_memory.store.postgres",
    "session_memory.adapters.live",
    "session_memory.adapters.power_loop.layout",
    "session_memory.adapters.skill.layout",
    *(
        f"session_memory.adapters.{agent}.{module}"
        for agent in ("claude", "codex", "grok", "mycode")
        for module in ("layout", "source")
    ),
)
LARGEST_REQUEST = 1 << 20
PATIENCE_S = 60.0


class Fork:
    """What the tests need of `subprocess.Popen`, for a process that is no child of this one."""

    def __init__(self, report: int, stdout: int, stderr: int) -> None:
        self.stdout, self.stderr = os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb")
        self.returncode: int | None = None
        self._report = os.fdopen(report, "rb", buffering=0)
        self.pid = int(self._report.readline())

    def wait(self, timeout: float = PATIENCE_S) -> int:
        if self.returncode is None:
            if not select.select([self._report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout)
            self.returncode = int(self._report.readline())
            self._report.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[bytes, bytes]:
        """Wait for its end. Returns all that it wrote."""
        streams = (self.stdout, self.stderr)
        written = dict.fromkeys(streams, b"")
        waiting = [stream for stream in streams if not stream.closed]
        while waiting:
            ready = select.select(waiting, [], [], timeout)[0]
            if not ready:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout)
            for stream in ready:
                data = os.read(stream.fileno(), 1 << 16)
                written[stream] += data
                if not data:
                    waiting.remove(stream)
                    stream.close()
        self.wait(timeout)
        return written[self.stdout], written[self.stderr]


class WarmForks:
    """A process that has imported ``modules`` and forks. The first call of `start` starts it."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._requests: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def _begin(self) -> socket.socket:
        paths = os.pathsep.join(map(str, (SOURCE, Path(__file__).parent)))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, *self._modules],
                stdin=theirs,
                env={**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "error"},
            )
        return ours

    def start(self, function: str, words: Sequence[object]) -> Fork:
        """Call ``MODULE:FUNCTION`` with ``words`` in a fork. It returns the exit status.

        The fork has the environment that this process has now.
        """
        if self._requests is None:
            self._requests = self._begin()
        pipes = [os.pipe() for _ in range(3)]
        request = json.dumps([function, list(map(str, words)), dict(os.environ)])
        socket.send_fds(self._requests, [request.encode()], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        return Fork(*(start for start, _ in pipes))

    def close(self) -> None:
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait(PATIENCE_S)


# ---------------------------------------------------------------- the process that forks


def serve(modules: Sequence[str]) -> int:
    """Fork for each request until the other end of the standard input, a socket, is closed."""
    for module in modules:
        importlib.import_module(module)
    # No search for garbage in a fork visits what was imported, and so copies its pages.
    gc.freeze()
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 3)
        if not request:
            requests.close()
            break
        if os.fork() == 0:
            requests.close()
            _keep(request, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        _reap(os.WNOHANG)
    _reap(0)
    return 0


def _reap(options: int) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _keep(request: bytes, report: int, stdout: int, stderr: int) -> NoReturn:
    """Fork once more, and report the process id and the exit status of that fork."""
    pid = os.fork()
    if pid == 0:
        os.close(report)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        os.close(stdout)
        os.close(stderr)
        # Those that exist know what kind of file the process before wrote to.
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        _end(_perform(*json.loads(request)))
    os.close(stdout)
    os.close(stderr)
    os.write(report, b"%d\n" % pid)
    os.write(report, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _perform(function: str, words: list[str], environment: dict[str, str]) -> int:
    os.environ.clear()
    os.environ.update(environment)
    module, _, name = function.partition(":")
    perform: Callable[[list[str]], int] = getattr(importlib.import_module(module), name)
    try:
        return perform(words)
    except SystemExit as error:
        if not isinstance(error.code, int):
            raise
        return error.code


def _end(status: int) -> NoReturn:
    """End as any process does that ends without an exception, but leave the modules as they are.

    To take them apart takes longer than most of what the forks do.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
