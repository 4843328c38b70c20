"""Long work in short transactions, so that other writers do not wait long for their turn.

A *piece* is the work of one transaction. It ends by the clock, because the same work takes longer
on a busy machine. Readers see the store between two pieces, so each piece must leave it in a valid
state.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

# The time for the commit of a piece is not included.
PIECE_S = 0.03
FIRST_SHARE, LEAST_SHARE = 1 / 4, 1 / 32

Item = TypeVar("Item")


def end_of_piece() -> float:
    """Return the time at which a piece that begins now must end, as `time.monotonic` counts."""
    return time.monotonic() + PIECE_S


def write_in_pieces(
    transaction: Callable[[], AbstractContextManager[object]],
    items: Iterable[Item],
    write: Callable[[Item], object],
) -> None:
    """Call ``write`` for each item, within as many transactions of `PIECE_S` seconds as needed."""
    waiting = deque(items)
    while waiting:
        with transaction():
            until = end_of_piece()
            while waiting:
                write(waiting.popleft())
                if time.monotonic() >= until:
                    break


def run_in_pieces(
    transaction: Callable[[], AbstractContextManager[object]], steps: Iterator[object]
) -> None:
    """Take all steps of a generator, within as many transactions of `PIECE_S` seconds as needed."""
    more = True
    while more:
        with transaction():
            until = end_of_piece()
            while more := next(steps, steps) is not steps:
                if time.monotonic() >= until:
                    break


class PieceShare:
    """How much of a full piece to write next, so that writing it takes about `PIECE_S` seconds.

    ``value`` is a share from `LEAST_SHARE` to 1. After each piece, it is adapted to the time that
    the piece took.
    """

    def __init__(self) -> None:
        # A guess: only the first piece shows how busy the machine is.
        self.value = FIRST_SHARE

    def note(self, seconds: float) -> None:
        """Adapt the share to the seconds that the last piece took."""
        fitting = self.value * PIECE_S / max(seconds, 0.001)
        self.value = max(min(fitting, 2 * self.value, 1.0), LEAST_SHARE)
