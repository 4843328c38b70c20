"""Turn the changing rows of an agent's database into a journal: lines that only grow.

A source is one session of a database. Each sync appends a line for every unit of rows (a message
with its parts, for example) that is new or changed. The last line of a unit has its present rows;
the lines before it have the rows that earlier syncs found. So a session that was collected can be
derived again without the database.

The state that is needed to find the changed rows (`JournalState`) can be computed from the lines,
and is part of the cursor. If a sync is killed between two lines, the next one continues there.

A line is a JSON object with the rows of a unit, and with these fields:

- ``table``: the unit's main table
- ``key``: the id of the unit
- ``at``: when its rows changed last
- ``check``: a checksum of its rows, which stays the same when secrets are masked
- ``open``: the agent is still writing the unit
- ``again``: an earlier line has the same texts; only details of the rows changed
- ``stays``: the next syncs read the unit again even if it did not change
- ``batch``: the time of the last change that the sync found
- ``end``: in the last line of a sync, the largest row ids
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import msgspec

from session_memory.adapters.cursor_state import bounded
from session_memory.core.text import escaped

_encode = msgspec.json.Encoder().encode
# A row may be committed after another row with a later time. So each sync also reads the rows that
# changed in this time before the last change that is known.
WINDOW_MS = 15_000
MOST_RECENT = 200
MOST_OPEN = 16
MOST_BLOCKS = 500


class RowUnit(msgspec.Struct):
    """Rows of a database that make one line of a journal, such as a message with its parts.

    - ``key``: the id of the unit. Units are in the order of their keys. The session's own row has
      the key ``""`` and comes first.
    - ``at``: when one of the rows changed last.
    - ``rows``: the fields of the line that hold rows; ``notes``: further fields.
    - ``is_open``: the agent is still writing the unit.
    - ``blocks``: the names of the blocks that an open unit has so far.
    - ``is_known``: an earlier line has the same texts; only details of the rows changed.
    - ``stays``: the unit may change as long as it is the last of its kind, so each sync reads it.
    - ``may_wait``: the unit changes all the time now. If it has a line already, it gets no new line
      until it stops changing.
    """

    key: str
    at: int
    rows: dict[str, Any]
    is_open: bool = False
    blocks: tuple[str, ...] = ()
    notes: dict[str, Any] = {}
    is_known: bool = False
    stays: bool = False
    may_wait: bool = False


class JournalState(msgspec.Struct):
    """Which rows of a session have lines in its journal already.

    - ``since``: all rows that changed before this time have lines.
    - ``batch``: set while a sync is not finished: the time of the last change that it found.
    - ``done``: the last unit of this unfinished sync that has a line.
    - ``recent``: time and checksum of the units that changed last.
    - ``open``: units that the agent is still writing, with the blocks in their last line.
    - ``stays``: the last unit whose line has ``stays``.
    - ``row_ids``: the largest row id of each table.
    """

    since: int = 0
    batch: int = 0
    done: str = ""
    recent: dict[str, tuple[int, int]] = {}
    open: dict[str, list[str]] = {}
    stays: str = ""
    row_ids: list[int] = []

    @property
    def looked_from(self) -> int:
        """The time from which on changed rows must be read."""
        return max(self.since - WINDOW_MS, 0)

    def row_id(self, table: int) -> int:
        """Return the row id above which the rows of a table must be read, whatever their time."""
        return self.row_ids[table] if table < len(self.row_ids) else -1

    @property
    def waiting(self) -> list[str]:
        """The units that must be read whether they changed or not."""
        return sorted({*self.open, self.stays} - {""})

    def unless_older(self, session: RowUnit) -> "JournalState":
        """Return this state, or an empty one if the session's own row is now older than at the last
        sync.

        An older row means that a clock was set back, or that an older copy replaced the database.
        With an empty state all rows are read; those that are known become no events.
        """
        known = self.recent.get("")
        is_older = known is not None and session.at < known[0] - WINDOW_MS
        return JournalState() if is_older else self

    def note(self, line: dict[str, Any], blocks: Iterable[str] = ()) -> None:
        """Note that a line was read. ``blocks`` are the names of the blocks in an open unit."""
        key, at, check = _text(line.get("key")), _number(line.get("at")), _number(line.get("check"))
        self.batch, self.done = _number(line.get("batch")), key
        self.open.pop(key, None)
        if line.get("open") is True:
            bounded(self.open, MOST_OPEN)[key] = list(blocks)[:MOST_BLOCKS]
        if line.get("stays") is True:
            self.stays = key
        self.recent.pop(key, None)
        if at >= self.batch - WINDOW_MS or self._is_kept(key):
            bounded(self.recent, MOST_RECENT)[key] = (at, check)
        end = line.get("end")
        if isinstance(end, list):
            self.since, self.batch, self.done = max(self.since, self.batch), 0, ""
            self.row_ids = [_number(one) for one in end[:8]]
            first = self.looked_from
            self.recent = {
                name: seen
                for name, seen in self.recent.items()
                if seen[0] >= first or self._is_kept(name)
            }

    def _is_kept(self, key: str) -> bool:
        return not key or key == self.stays or key in self.open


def journal_lines(
    state: JournalState, units: Iterable[RowUnit], newest: int, row_ids: list[int]
) -> Iterator[bytes]:
    """Yield a line for each of the units that is new or changed.

    ``newest`` is the time of the last change of any row of the session, ``row_ids`` are the largest
    row ids of the tables.
    """
    last = b""
    for unit in units:
        line = _wanted(state, unit, newest)
        if not line:
            continue
        if last:
            yield last + b"}\n"
        last = line
    if last:
        yield last + b"," + _encoded({"end": row_ids})[1:] + b"\n"


def _wanted(state: JournalState, unit: RowUnit, newest: int) -> bytes:
    """Return the line of a unit without its last brace; empty if the unit has nothing new."""
    if state.batch and unit.key <= state.done and unit.at <= state.batch:
        return b""
    rows = _encoded(unit.rows)
    check = crc32(rows, unit.is_open)
    known = state.recent.get(unit.key)
    if known is not None and (known[1] == check or unit.may_wait):
        return b""
    if unit.is_open and unit.key in state.open and set(unit.blocks) <= set(state.open[unit.key]):
        return b""
    head = _encoded({"key": unit.key, "at": unit.at, "check": check})
    flags = {"open": unit.is_open, "again": unit.is_known, "stays": unit.stays}
    notes = {**unit.notes, **{name: True for name, is_set in flags.items() if is_set}}
    tail = _encoded({**notes, "batch": newest})
    return head[:-1] + b"," + rows[1:-1] + b"," + tail[1:-1]


def _encoded(fields: dict[str, Any]) -> bytes:
    try:
        return _encode(fields)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError):
        # Half of a character (a lone surrogate) can only be written as an escape.
        return json.dumps(fields, separators=(",", ":")).encode()


def _text(value: Any) -> str:
    return escaped(value)[:200] if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if type(value) is int and abs(value) < 1 << 62 else 0
