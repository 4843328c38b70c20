"""What an adapter remembers from line to line, as the text in a cursor."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef

S = TypeVar("S", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode


class StateText(Generic[S]):
    """Turns a state into the text of a cursor, and back. A cursor without text is a new state."""

    def __init__(self, shape: type[S]) -> None:
        self._new = shape
        self._decode = msgspec.json.Decoder(shape).decode

    def saved(self, state: S) -> str:
        return _encode(state).decode()

    def restored(self, text: str) -> S:
        return self._decode(text) if text else self._new()


def read_lines(
    source: Readable,
    cursor: Cursor,
    texts: StateText[S],
    from_line: Callable[[SourceRef, S, int, int, bytes | None], Record],
) -> Iterator[tuple[Cursor, Record]]:
    """Every record from ``cursor`` on, of a log whose lines need a state to be translated."""
    state = texts.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        translate = partial(from_line, source.ref, state)
        for end, record in jsonl.records(stream, cursor.offset, translate):
            yield Cursor(end, texts.saved(state)), record


def bounded(entries: dict[str, Any], most: int) -> dict[str, Any]:
    """The entries, with room for one more: the oldest is dropped when there are too many.

    A cursor is saved after every record, so no state may grow with the length of a log.
    """
    if len(entries) >= most:
        del entries[next(iter(entries))]
    return entries
