"""The order of the rows of a live session: messages, folds, moves and usage as one list.

Rows are only ever added, so rows that were read nearly always keep their order. The exception: the
times of two rows of different tables may not tell which came first. Then a row that is added later
may change the order of the two, and `digest_of` shows the change.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from session_memory.store.database import Row

MESSAGE, FOLD, MOVE, USAGE = range(4)
KINDS = 4


class LiveItem(NamedTuple):
    """A row of a live session. ``number`` is the seq of a message, else a count from 1."""

    kind: int
    number: int

    @property
    def place(self) -> int:
        return self.number * KINDS + self.kind


def item_at(place: int) -> LiveItem:
    """Return the item that has this `LiveItem.place`."""
    return LiveItem(place % KINDS, place // KINDS)


def digest_of(items: Iterable[LiveItem]) -> str:
    """A checksum of the order. It changes if an item is inserted between earlier ones."""
    return f"{crc32(bytes(item.kind for item in items)):08x}"


def in_order(
    first_lane: int,
    messages: Sequence[Row],
    folds: Sequence[Row],
    moves: Sequence[Row],
    usage_times: Sequence[int],
) -> list[LiveItem]:
    """The rows of a session in order.

    Messages are ordered by seq, and a fold is at the seq of its note. A move follows the last
    message of the lane that it left, even if times disagree. Usage follows every row that is not
    later than it.
    """
    items: list[LiveItem] = []
    latest = placed = 0
    times = list(_rising(usage_times))
    for item, at in _with_moves(first_lane, _by_seq(messages, folds), moves):
        latest = max(latest, at)
        while placed < len(times) and times[placed] < latest:
            placed += 1
            items.append(LiveItem(USAGE, placed))
        items.append(item)
    items += [LiveItem(USAGE, number + 1) for number in range(placed, len(times))]
    return items


def _by_seq(
    messages: Sequence[Row], folds: Sequence[Row]
) -> list[tuple[LiveItem, int | None, int]]:
    """``(item, lane, time)`` in the order of seq. A fold has no lane."""
    rows = [(seq, LiveItem(MESSAGE, seq), lane, at) for seq, lane, at in messages]
    rows += [(note, LiveItem(FOLD, number), None, at) for number, note, at in folds]
    return [(item, lane, at) for _, item, lane, at in sorted(rows, key=lambda row: row[0])]


def _with_moves(
    lane: int, stream: Sequence[tuple[LiveItem, int | None, int]], moves: Sequence[Row]
) -> Iterator[tuple[LiveItem, int]]:
    """Messages, folds and moves in order, each as ``(item, time)``."""
    done = 0

    def is_before_move(item: LiveItem, its_lane: int) -> bool:
        return its_lane == lane and (done == len(moves) or item.number <= moves[done][0])

    for index, (item, its_lane, at) in enumerate(stream):
        while done < len(moves):
            if its_lane is not None:
                is_before = is_before_move(item, its_lane)
            else:
                # A fold has no lane. It comes before the move if the next message does, or if its
                # time is not later than that of the move.
                message = next((row for row in stream[index:] if row[1] is not None), None)
                is_before = message is not None and is_before_move(message[0], message[1] or 0)
                is_before = is_before or at <= moves[done][3]
            if is_before:
                break
            lane, done = moves[done][1], done + 1
            yield LiveItem(MOVE, done), moves[done - 1][3]
        yield item, at
    for number in range(done, len(moves)):
        yield LiveItem(MOVE, number + 1), moves[number][3]


def _rising(times: Iterable[int]) -> Iterator[int]:
    """The times, with each that is before an earlier one replaced by the earlier one."""
    latest = 0
    for at in times:
        latest = max(latest, at)
        yield latest
