"""The program of a worker process: takes orders from its parent, and sends back answers.

Orders come through standard input, answers go to standard output. Both are moved to other
descriptors first, so that the prints of an adapter do not get between the answers.
"""

import fcntl
import gc
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import IO, Any, BinaryIO

READY, ANSWER, END, RETURNED = range(4)
"""The kinds of frames. READY: the worker has started. ANSWER: an answer. END: all answers to an
order were sent. RETURNED: the worker cannot finish the order, and the parent must do the rest."""
HEADER = struct.Struct("<BQ")
# The pipes get this descriptor or a higher one, so none gets the number of a standard stream, even
# if the standard stream is closed.
FIRST_FREE = 10

Work = Callable[[Any], Iterator[Any]]


def main() -> None:
    """Serve orders until the parent closes the pipe or dies."""
    # The terminal sends Ctrl-C to the parent too, and the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _serve_all(*_own_pipes())
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _serve_all(orders_from: BinaryIO, answers_to: BinaryIO) -> None:
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    target, setting = pickle.loads(read_frame(orders_from)[1])
    threading.Thread(target=_take_orders, args=(orders_from, orders), daemon=True).start()
    gc.disable()
    module, _, name = target.partition(":")
    work: Work = getattr(import_module(module), name)(setting)
    write_frame(answers_to, READY)
    while True:
        _serve(work, orders.get(), answers_to)


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent. From then on, all prints of this process go to stderr."""
    ours = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE) for one in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    return os.fdopen(ours[0], "rb"), os.fdopen(ours[1], "wb", buffering=0)


def _take_orders(source: BinaryIO, orders: "queue.SimpleQueue[bytes]") -> None:
    """Put the orders from ``source`` into the queue. When the parent is gone, end this process at
    once, even in the middle of an order."""
    try:
        while True:
            orders.put(read_frame(source)[1])
    except EOFError:
        os._exit(0)


def _serve(work: Work, order: bytes, answers_to: BinaryIO) -> None:
    try:
        for answer in work(pickle.loads(order)):
            write_frame(answers_to, ANSWER, pickle.dumps(answer, protocol=5))
    except BrokenPipeError:
        raise
    except Exception:
        # The parent does the rest of the order itself. A real error is raised there again and
        # reported in the same words as without workers.
        write_frame(answers_to, RETURNED)
    else:
        write_frame(answers_to, END)


def write_frame(target: IO[bytes], kind: int, body: bytes = b"") -> None:
    for part in (HEADER.pack(kind, len(body)), body):
        rest = memoryview(part)
        while rest:
            rest = rest[target.write(rest) :]
    target.flush()


def read_frame(source: IO[bytes]) -> tuple[int, bytes]:
    """The next frame. Raises ``EOFError`` when the other side is gone."""
    kind, size = HEADER.unpack(_exactly(source, HEADER.size))
    return kind, _exactly(source, size)


def _exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


def command() -> list[str]:
    """How the parent starts a worker: with the same interpreter and the same import path.

    The program of the parent is not run again, so it needs no ``__main__`` guard.
    """
    start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
    return [sys.executable, "-c", start]
