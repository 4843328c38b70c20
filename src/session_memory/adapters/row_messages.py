"""Messages in the rows of a database as records. A message may be read before it is complete."""

import msgspec

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.row_journal import JournalState

_MOST_GIVEN = 16

Block = tuple[str, NativeEvent]
"""A name that is unique in its message, and an event."""


class RowsState(msgspec.Struct):
    """What a line needs to know of the lines before it.

    - ``journal``: which rows have lines
    - ``last``: the last record
    - ``given``: of messages that were read before they were complete, the blocks that have events
    """

    journal: JournalState = msgspec.field(default_factory=JournalState)
    last: str = ""
    given: dict[str, list[str]] = {}


def add_blocks(
    record: Record,
    state: RowsState,
    name: str,
    own: str,
    blocks: list[Block],
    *,
    is_partial: bool = False,
    again: bool = False,
) -> list[str]:
    """Give a record the events of a message. Returns the names of its blocks.

    ``name`` is the message's id in the database, ``own`` the id that every copy of it has. More of
    a message that ``is_partial`` may follow, even after hours. Then it is another record, without
    the blocks that were given before. ``again``: only details of the rows changed.
    """
    given = state.given.get(name, [])
    for block, event in blocks:
        event.is_repeated = block in given
    names = [block for block, _ in blocks]
    if is_partial or given:
        if name not in state.given:
            bounded(state.given, _MOST_GIVEN)
        state.given[name] = sorted({*given, *names})
    if again or all(event.is_repeated for _, event in blocks):
        record.bookkeeping = "message"
        return names
    record.events = [event for _, event in blocks]
    record.native_id = f"{own}~{len(names)}" if is_partial else own
    if state.last and state.last != record.native_id:
        record.parent_id = state.last
    state.last = record.native_id
    return names
