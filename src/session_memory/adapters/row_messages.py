"""Turn messages in the rows of a database into records, even if the agent is still writing one."""

import msgspec

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.cursor_state import bounded
from session_memory.adapters.row_journal import JournalState

_MOST_GIVEN = 16

Block = tuple[str, NativeEvent]
"""A name that is unique in its message, and an event."""


class RowsState(msgspec.Struct):
    """The state after a line of a journal, which the translation of the next line needs.

    - ``journal``: which rows have lines.
    - ``last``: the native id of the last record.
    - ``given``: for messages that were read before they were complete: their blocks that already
      have events.
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
    """Set the events, the id and the parent of a message's record. Return the names of its blocks.

    - ``name``: the message's id in the database.
    - ``own``: the native id of the record, which every copy of the message has.
    - ``is_partial``: the message is not complete. A later sync makes another record of the rest,
      even after hours. A block that already has an event gets no second one.
    - ``again``: only details of the rows changed, so the record is bookkeeping.
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
