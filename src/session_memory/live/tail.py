"""Read the tail of a session: the last answer of the model, and everything after it.

A model is asked only when its earlier calls have results, so the calls that a runtime still has to
run are in the tail. Reading the tail costs the same in a session of any length.
"""

from collections.abc import Sequence

from session_memory.live.message_reading import MessageReader
from session_memory.live.rows import MessageRow
from session_memory.store.database import Row

# How many messages are read first. Most tails are shorter.
FIRST_LOOK = 16
# This many messages in a row without a call or a result belong to no unfinished answer.
LONGEST_SILENCE = 60

_ROLE, _BLOCKS, _CALLS, _CALL_ID = 2, 5, 6, 7


class TailReader(MessageReader):
    def _tail(self, session_id: str, branch: int, head: int) -> list[MessageRow]:
        """Return the tail of a path. It is empty only if the path is empty."""
        count = FIRST_LOOK
        while True:
            rows = self._last_rows(self._segments(branch, head), count)
            start = tail_start(rows)
            if start is not None or len(rows) < count:
                return self._messages(session_id, rows[start or 0 :])
            count *= 4


def tail_start(rows: Sequence[Row]) -> int | None:
    """Return the index of the tail's first row; None if the tail may begin before all ``rows``.

    An answer may be several messages in a row, such as thinking, a text and calls.
    """
    is_answered, silence = False, 0
    for place in range(len(rows) - 1, -1, -1):
        row = rows[place]
        if row[_ROLE] == "assistant":
            is_answered = True
        elif is_answered and row[_ROLE] in ("user", "tool"):
            return place + 1
        silence = 0 if _has_calls_or_results(row) else silence + 1
        if silence > LONGEST_SILENCE:
            return place
    return None


def _has_calls_or_results(row: Row) -> bool:
    blocks = row[_BLOCKS] or ""
    has_blocks = '"tool_use"' in blocks or '"tool_result"' in blocks
    has_columns = row[_CALLS] is not None or row[_CALL_ID] is not None
    return has_columns or has_blocks or row[_ROLE] == "tool"
