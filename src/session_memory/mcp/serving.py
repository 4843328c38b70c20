"""Run the MCP server: read requests from standard input, write answers to standard output.

One thread reads the requests and answers all except calls of tools. A second thread runs the calls
of tools, one at a time. The server ends when its input ends or its parent process is gone.
"""

import gc
import json
import os
import select
import sys
import time
from collections import deque
from threading import Condition, Lock, Thread

from session_memory.mcp.catalog import HOOK
from session_memory.mcp.protocol import INVALID_REQUEST, Protocol, ToolJob

TYPE_CHECKING = False  # Importing `typing` takes long: see `protocol`.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

LONGEST_LINE = 1 << 20
MOST_WAITING = 32
# The longest time until a tool's answer, in seconds.
TIME_LIMIT = 10.0
# Seconds between two checks of whether the parent process still exists and the running job is late.
IDLE_LOOK, BUSY_LOOK = 2.0, 0.1
PIECE = 1 << 16
INTERRUPTED = 130


def serve(store: str | None = None, config: "Path | None" = None) -> int:
    """Answer a client until it closes the connection. Return the exit status: 130 after Ctrl-C,
    else 0."""
    if os.isatty(0):
        print("Waiting for an MCP client on standard input; docs/mcp.md", file=sys.stderr)
    output = _private_output()
    lock = Lock()

    def send(message: "Any") -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        with lock:
            while data:
                data = data[os.write(output, data) :]

    worker = ToolWorker()
    protocol = Protocol(send, late_answers(store, config), worker.put)
    try:
        for line in read_lines(0, worker):
            if line is None:
                protocol.refuse(INVALID_REQUEST, f"a message has at most {LONGEST_LINE:,} bytes")
            else:
                protocol.receive(line)
        worker.finish()
    except OSError:
        # The client is gone: its ends of the pipes are closed.
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    if worker.is_busy:
        # A thread that still works on a question can only be ended together with the process.
        os._exit(0)
    return 0


def late_answers(
    store: str | None, config: "Path | None"
) -> "Callable[[str, dict[str, Any]], str]":
    """Return a function that answers calls of tools. Its first call imports and opens what it
    needs."""
    asked: Any = None

    def call(name: str, arguments: "dict[str, Any]") -> str:
        nonlocal asked
        if name == HOOK:
            # Hooks need less than the tools, and the agent waits for them.
            from session_memory.mcp.hook_tool import answer_hook

            return answer_hook(arguments, store, None if config is None else str(config))
        if asked is not None:
            answer: str = asked.answer(name, arguments)
            return answer
        # Everything that is loaded for the first answer stays in memory. The garbage collector
        # need not visit it.
        gc.disable()
        try:
            from session_memory.mcp.asking import AskedMemory

            asked = AskedMemory(store, config)
            first: str = asked.answer(name, arguments)
            return first
        finally:
            gc.freeze()
            gc.enable()

    return call


def _private_output() -> int:
    """Return a copy of standard output that only the protocol uses.

    Anything else that is printed goes to standard error, because one foreign line would end the
    connection.
    """
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    return output


class ToolWorker:
    """Runs jobs in their order in one thread.

    A job that exceeds the time limit is answered with an error, but it runs on. Until it ends, new
    jobs are refused at once, so a stuck question costs only one thread.
    """

    def __init__(self, limit: float = TIME_LIMIT) -> None:
        self._limit = limit
        self._changed = Condition()
        self._waiting: deque[ToolJob] = deque()
        self._running: ToolJob | None = None
        self._started = 0.0
        self._thread: Thread | None = None

    @property
    def _is_late(self) -> bool:
        return self._running is not None and time.monotonic() > self._started + self._limit

    @property
    def is_busy(self) -> bool:
        return self._running is not None or bool(self._waiting)

    def put(self, job: ToolJob) -> None:
        with self._changed:
            is_stuck = self._is_late
            is_full = len(self._waiting) >= MOST_WAITING
            if not (is_stuck or is_full):
                self._waiting.append(job)
                self._changed.notify_all()
        if is_stuck:
            job.answer("an earlier question is still running; ask again later", is_error=True)
        elif is_full:
            job.answer(f"{MOST_WAITING} questions are waiting; ask again later", is_error=True)
        elif self._thread is None:
            self._thread = Thread(target=self._work, name="tools", daemon=True)
            self._thread.start()

    def answer_late(self) -> None:
        """If the running job takes too long, answer it and all waiting jobs with an error."""
        with self._changed:
            if not self._is_late:
                return
            late = [self._running, *self._waiting]
            self._waiting.clear()
        for job in filter(None, late):
            job.answer(f"no answer within {self._limit:g} seconds; ask for less", is_error=True)

    def finish(self) -> None:
        """Wait until all jobs are answered, each at the time limit at the latest."""
        while self.is_busy and not self._is_late:
            with self._changed:
                self._changed.wait(BUSY_LOOK)
        self.answer_late()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._running = None
                self._changed.notify_all()
                while not self._waiting:
                    self._changed.wait()
                self._running, self._started = self._waiting.popleft(), time.monotonic()
            self._running.run()


def read_lines(
    source: int, worker: ToolWorker, longest: int = LONGEST_LINE
) -> "Iterator[bytes | None]":
    """Yield the lines of a file descriptor. None stands for a line that is too long."""
    parent, held, is_too_long = os.getppid(), bytearray(), False
    poll = select.poll()
    poll.register(source, select.POLLIN)
    while True:
        if not poll.poll(1000 * (BUSY_LOOK if worker.is_busy else IDLE_LOOK)):
            worker.answer_late()
            if os.getppid() != parent:
                return
            continue
        piece = os.read(source, PIECE)
        if not piece:
            break
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = bytes(held) + line
            held.clear()
            yield None if is_too_long or len(whole) > longest else whole
            is_too_long = False
        if len(held) + len(rest) > longest:
            held.clear()
            is_too_long = True
        elif not is_too_long:
            held += rest
    if held or is_too_long:
        # The last line may lack its end.
        yield None if is_too_long else bytes(held)
