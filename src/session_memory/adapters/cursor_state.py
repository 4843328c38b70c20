"""Keep the state that an adapter needs from line to line as a text in the cursor."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from session_memory.adapters import jsonl
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef

S = TypeVar("S", bound=msgspec.Struct)

_encode = msgspec.json.Encoder().encode


class StateText(Generic[S]):
    """Converts an adapter's state to the text in a cursor and back. No text gives a new state."""

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
    """Yield the records after ``cursor`` of a log whose lines need the state of the lines before.

    ``from_line`` translates one line and changes the state, which is then saved in the cursor.
    """
    state = texts.restored(cursor.state)
    with source.open(cursor.offset) as stream:
        translate = partial(from_line, source.ref, state)
        for end, record in jsonl.records(stream, cursor.offset, translate):
            yield Cursor(end, texts.saved(state)), record


def bounded(entries: dict[str, Any], most: int) -> dict[str, Any]:
    """Remove the oldest of ``entries`` if there are ``most``, and return ``entries``.

    The state of an adapter is saved after every record, so it must not grow with the log.
    """
    if len(entries) >= most:
        del entries[next(iter(entries))]
    return entries
