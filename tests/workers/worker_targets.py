"""What the worker processes of the tests do."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Orders = Callable[[tuple[str, int]], Iterator[int]]


def counter(place: Path) -> Orders:
    """Answers ``(how, count)`` with the numbers below ``count``, in one of several ways."""

    def answers(order: tuple[str, int]) -> Iterator[int]:
        how, count = order
        print("an adapter may print something")
        yield from range(count)
        if how == "dies once" and not (place / "died").exists():
            (place / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "dies":
            os.abort()
        if how == "raises":
            raise ValueError
        if how == "hangs":
            (place / "hangs").write_text(str(os.getpid()))
            while True:
                time.sleep(60)

    return answers


def broken(place: Path) -> Orders:
    raise ImportError
