"""Read messages that an agent writes several times, each time with more blocks.

Each version of a message has all its blocks. The blocks that an earlier version had are marked as
repeated, so that every block becomes one event. A block whose text changed becomes a new event, and
the earlier event stays.
"""

from zlib import crc32

import msgspec

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.event_text import event_text
from session_memory.core.ids import fit_native_id

# A message is written again at most a few messages later.
_MOST_MESSAGES = 64
_MOST_BLOCKS = 200
WRITTEN_AGAIN = "written again"
"""The kind of bookkeeping for a version of a message without new blocks."""


class WrittenMessages(msgspec.Struct):
    """The state of an adapter that reads messages which are written several times.

    ``last`` is the native id of the record that the session continues after. ``given`` has, for
    the last messages by their ids, how often each was written and the checksums of its blocks.
    """

    session: str = ""
    parent: str = ""
    mode: str = ""
    model: str = ""
    last: str = ""
    given: dict[str, tuple[int, list[int]]] = {}

    def add(self, record: Record, own: str, events: list[NativeEvent]) -> None:
        """Set the events, the id and the parent of a message's record.

        ``own`` is the id of the message. A message without an id (``""``) counts as a new one.
        """
        record.events = events
        times, before = self.given.get(own, (0, [])) if own else (0, [])
        prints = [_print(event) for event in events]
        for event, checksum in zip(events, prints, strict=True):
            event.is_repeated = checksum in before
        if times and all(event.is_repeated for event in events):
            record.events, record.bookkeeping = [], WRITTEN_AGAIN
            return
        if not own:
            record.follows = True
            return
        if own not in self.given:
            bounded(self.given, _MOST_MESSAGES)
        known = [*before, *(one for one in prints if one not in before)]
        self.given[own] = (times + 1, known[-_MOST_BLOCKS:])
        record.native_id = _name(own, times)
        if self.last and self.last != record.native_id:
            record.parent_id = self.last
        self.last = record.native_id

    def go_back(self, record: Record, own: str) -> None:
        """Note in ``record`` that the session goes back to the message ``own``; to its beginning
        if that is ``""``."""
        times = self.given[own][0] - 1 if own in self.given else 0
        self.last = _name(own, times) if own else ""
        record.follows, record.stands_at = True, self.last


def _name(own: str, times: int) -> str:
    """Return the native id of a version of a message. Each version with new blocks is a record of
    its own; ``times`` is the number of earlier ones."""
    return fit_native_id(f"{own}+{times}" if times else own)[0]


def _print(event: NativeEvent) -> int:
    content = (event.kind, event.role, event.call_id, event_text(event), str(event.arguments))
    return crc32(repr(content).encode("utf-8", "surrogatepass"))
