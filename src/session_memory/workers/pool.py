"""A pool of worker processes that answer numbered orders.

An order is any value that tells a worker what to do. The answers to one order keep their sequence.
This process has a thread for each worker. The thread gives orders to the worker and keeps a bounded
amount of its answers until they are taken. If a worker dies, another process tries the rest of its
order once more.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from session_memory.workers.process import (
    ANSWER,
    END,
    READY,
    RETURNED,
    command,
    read_frame,
    write_frame,
)

# The most bytes of a worker's answers that wait to be taken.
MOST_WAITING = 6 * 1024 * 1024
PIPE_BYTES = 1024 * 1024
TRIES = 2
# The kind of the last frame of an order during which `TRIES` processes died.
DIED = 99

Continued = Callable[[Any, Any], Any]
"""Makes an order for the rest of an order, after its last answer. None if nothing is left to do."""


class OrderReturned(Exception):
    """No worker can finish the order. The caller does the rest of the order."""


class NeedsParent(Exception):
    """A worker raises this if it cannot finish its order properly. The parent process does it."""


class WorkerDied(Exception):
    """Two processes died over the same order, most likely because of the order."""


def default_jobs() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_start() -> bool:
    """Whether this program can start workers. It cannot outside POSIX systems, and not as a frozen
    program, which has no separate interpreter."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and os.name == "posix"


class Pool:
    """Workers for some numbered orders, which are begun in the order of their numbers.

    ``target`` names the function ``module:name`` that each worker calls once with ``setting``. That
    function returns the work: a function from an order to its answers. After a worker died,
    ``continued`` returns an order for what it left undone.
    """

    def __init__(
        self,
        target: str,
        setting: Any,
        orders: Mapping[int, Any],
        jobs: int,
        continued: Continued,
    ) -> None:
        self._start = pickle.dumps((target, setting), protocol=5)
        self._orders = dict(orders)
        self._waiting = deque(sorted(orders))
        self._continued = continued
        self._changed = threading.Condition()
        self._inboxes: dict[int, _Inbox] = {}
        self._is_closed = False
        self._workers = [_Worker(self) for _ in range(min(jobs, len(orders)))]
        self._running = len(self._workers)

    def __enter__(self) -> "Pool":
        for worker in list(self._workers):
            try:
                worker.thread.start()
            except RuntimeError:
                # The system allows no more threads. The other workers and the caller do the work.
                self._workers.remove(worker)
                self.note_end()
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_closed = True
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.thread.join()

    def take(self, number: int, *, wait: bool) -> Iterator[Any] | None:
        """Return the answers to an order. None: no worker has begun the order, and none ever will.

        With ``wait``, first wait until a worker begins it, as long as workers are running.
        """
        with self._changed:
            while wait and number in self._orders and self._running:
                self._changed.wait()
            inbox = self._inboxes.pop(number, None)
            if inbox is None:
                if self._orders.pop(number, None) is not None:
                    self._waiting.remove(number)
                return None
        return inbox.answers()

    def claim(self, worker: "_Worker") -> tuple[Any, "_Inbox"] | None:
        """The next order for a worker; None when there is none left."""
        with self._changed:
            if self._is_closed or not self._waiting:
                return None
            number = self._waiting.popleft()
            inbox = self._inboxes[number] = _Inbox(worker)
            self._changed.notify_all()
            return self._orders.pop(number), inbox

    def note_end(self) -> None:
        """Note that one worker takes no further order."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def start(self) -> bytes:
        return self._start

    def rest_of(self, order: Any, last: bytes) -> Any:
        return self._continued(order, pickle.loads(last))


class _Inbox:
    """The answers to one order that wait to be taken."""

    def __init__(self, worker: "_Worker") -> None:
        self._worker = worker
        self._frames: deque[tuple[int, bytes]] = deque()

    def put(self, kind: int, body: bytes = b"") -> None:
        """Add a frame. Then wait while more than `MOST_WAITING` bytes of the worker's answers are
        not taken."""
        with self._worker.changed:
            self._worker.waiting += len(body)
            self._frames.append((kind, body))
            self._worker.changed.notify_all()
            while self._worker.waiting > MOST_WAITING and not self._worker.is_killed:
                self._worker.changed.wait()

    def answers(self) -> Iterator[Any]:
        while True:
            with self._worker.changed:
                while not self._frames:
                    self._worker.changed.wait()
                kind, body = self._frames.popleft()
                self._worker.waiting -= len(body)
                self._worker.changed.notify_all()
            if kind == ANSWER:
                yield pickle.loads(body)
            elif kind == END:
                return
            elif kind == RETURNED:
                raise OrderReturned
            else:
                raise WorkerDied(body.decode())


class _Worker:
    """One process, and the thread that feeds it. ``waiting`` counts bytes of its answers."""

    def __init__(self, pool: Pool) -> None:
        self.changed = threading.Condition()
        self.waiting = 0
        self.is_killed = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self._pool = pool
        self._process: subprocess.Popen[bytes] | None = None

    def _run(self) -> None:
        # The process is started before an order is claimed. While it starts, the caller can do the
        # first orders itself.
        try:
            if self._started() is not None:
                while (claimed := self._pool.claim(self)) is not None:
                    self._answer(*claimed)
        finally:
            self._pool.note_end()
            self.kill()

    def _answer(self, order: Any, inbox: _Inbox) -> None:
        status = 0
        for _ in range(TRIES):
            last = b""
            process = self._process or self._started()
            if process is None:
                inbox.put(RETURNED)
                return
            try:
                assert process.stdin is not None and process.stdout is not None
                write_frame(process.stdin, ANSWER, pickle.dumps(order, protocol=5))
                kind, body = read_frame(process.stdout)
                while kind == ANSWER:
                    last = body
                    inbox.put(kind, body)
                    kind, body = read_frame(process.stdout)
                inbox.put(kind)
                return
            except (EOFError, OSError):
                status = self._end(process)
            if last and (order := self._pool.rest_of(order, last)) is None:
                inbox.put(END)
                return
        inbox.put(DIED, f"the process that read it ended twice ({_ending(status)})".encode())

    def _started(self) -> "subprocess.Popen[bytes] | None":
        """Start the process, and wait until it can take orders. None if that fails."""
        process = None
        try:
            with self.changed:
                if self.is_killed:
                    return None
                process = self._process = subprocess.Popen(
                    command(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    pipesize=PIPE_BYTES if sys.platform == "linux" else -1,
                )
            assert process.stdin is not None and process.stdout is not None
            write_frame(process.stdin, ANSWER, self._pool.start)
            if read_frame(process.stdout)[0] == READY:
                return process
        except (EOFError, OSError):
            pass
        if process is not None:
            self._end(process)
        return None

    def _end(self, process: "subprocess.Popen[bytes]") -> int:
        """End a process that is no longer used, and return its exit status."""
        with self.changed:
            self._process = None
        process.kill()
        # Closing the pipe fails if an order is still on its way.
        with suppress(OSError), process:
            pass
        return process.wait()

    def kill(self) -> None:
        """End the process at once, and start no other."""
        with self.changed:
            self.is_killed = True
            process = self._process
            if process is not None:
                process.kill()
            self.changed.notify_all()
        if process is not None and threading.current_thread() is self.thread:
            self._end(process)


def _ending(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
