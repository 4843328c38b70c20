"""Read a source with the adapter of its agent, and check what adapters of other packages yield.

A wrong record becomes a problem with its place; the store keeps its bytes. A wrong cursor could
lose or repeat lines, so reading the file stops with an error. The records of built-in adapters are
not checked here, because that would slow down a sync; tests check them instead.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from session_memory.adapters import first_schema
from session_memory.adapters.agent import Agent
from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.event_text import EventTexts
from session_memory.adapters.guarded import adapter_failing
from session_memory.adapters.handed_copies import read_with_copies
from session_memory.adapters.record_checks import checked_record
from session_memory.core.errors import StoreError
from session_memory.core.roles import LOGS
from session_memory.core.text import escaped, one_line, short_repr

UNUSABLE_RECORD = "unusable record"
# A generator that never ends would fill the memory. No line holds this many records.
MOST_WITHOUT_PROGRESS = 100_000
LONGEST_DETAIL = 300


Reading = Callable[[Readable, Cursor, int], Iterator[tuple[Cursor, Record]]]


class WrongCursor(ValueError):
    """Reading cannot continue from this cursor without losing or repeating lines."""


def records_of(
    agent: Agent, source: Readable, cursor: Cursor, end: int
) -> Iterator[tuple[Cursor, Record]]:
    """Yield the records of a source after ``cursor``, each with its cursor.

    ``end`` is the length of the data. Raises ``AdapterFailed`` for a wrong cursor and for whatever
    the adapter raises, even SystemExit.
    """
    with adapter_failures(agent.flavor, str(source.ref.path)):
        yield from reading_of(agent, source.ref)(source, cursor, end)


def reading_of(agent: Agent, ref: SourceRef) -> Reading:
    """Return the function that reads the source ``ref``. Call that function in `adapter_failures`.

    A caller that reads many parts of one source calls `reading_of` only once.
    """
    if first_schema.is_first_schema(ref):
        return lambda source, cursor, end: first_schema.read(source, cursor)
    if is_ours(agent):
        if agent.handoff is not None and ref.role in LOGS:
            return lambda source, cursor, end: read_with_copies(agent.read, source, cursor)
        return lambda source, cursor, end: agent.read(source, cursor)
    return partial(_checked, agent)


def texts_of(agent: Agent, ref: SourceRef) -> Callable[[bytes], EventTexts | None] | None:
    """Return the agent's function ``texts``, or None if the source must be read with ``read``.

    It is None for adapters of other packages too, because nothing checks what their ``texts``
    returns.
    """
    is_log = ref.role in LOGS and not first_schema.is_first_schema(ref)
    return agent.texts if is_log and is_ours(agent) else None


def adapter_failures(flavor: str, path: str) -> AbstractContextManager[None]:
    """Turn an exception of the adapter into an ``AdapterFailed`` that names it and the file."""
    # Two exceptions are not the adapter's: GeneratorExit is from a caller that stops reading,
    # StoreError is from the store.
    return adapter_failing(flavor, path, passing=(GeneratorExit, StoreError))


def is_ours(agent: Agent) -> bool:
    """Whether the agent is built in, or is a substitute for an adapter that cannot be used."""
    own = getattr(sys.modules.get(f"{__package__}.{agent.flavor}"), "AGENT", None)
    if own is None or agent.problem:
        return bool(agent.problem)
    # The agents are not the same object, because the registry wraps other functions of an agent.
    return bool(own.read is agent.read and own.version == agent.version)


def _checked(
    agent: Agent, source: Readable, begin: Cursor, end: int
) -> Iterator[tuple[Cursor, Record]]:
    last, standing, is_log = begin, 0, source.ref.role in LOGS
    for item in agent.read(source, begin):
        if not isinstance(item, tuple) or len(item) != 2:
            raise TypeError(f"read gave {short_repr(item)}, not a cursor and a record")
        cursor, given = item
        _check_cursor(cursor, last.offset, end)
        standing = standing + 1 if cursor.offset == last.offset else 0
        if standing > MOST_WITHOUT_PROGRESS:
            raise WrongCursor(f"it stays at {last.offset} over {MOST_WITHOUT_PROGRESS:,} records")
        try:
            record = checked_record(given, end, is_log=is_log)
        except Exception as error:
            record = _problem(agent, source, given, error, (last.offset, cursor.offset), end)
        if is_log and record.offset + record.length > cursor.offset:
            raise WrongCursor(
                f"{cursor.offset} is before the end of its record at {record.offset}, "
                "which would be read twice"
            )
        yield cursor, record
        last = cursor


def _check_cursor(cursor: Any, last: int, end: int) -> None:
    if not isinstance(cursor, Cursor):
        raise WrongCursor(f"{short_repr(cursor)} is not a Cursor")
    offset, state = cursor.offset, cursor.state
    if type(offset) is not int:
        raise WrongCursor(f"its offset must be an integer, not {short_repr(offset)}")
    if offset < last:
        raise WrongCursor(f"it goes back from {last} to {short_repr(offset)}")
    if offset > end:
        raise WrongCursor(f"{short_repr(offset)} is beyond the end of the data at {end}")
    if not isinstance(state, str) or escaped(state) != state:
        raise WrongCursor(f"its state must be text that can be stored, not {short_repr(state)}")


def _problem(
    agent: Agent,
    source: Readable,
    given: Any,
    error: Exception,
    between: tuple[int, int],
    end: int,
) -> Record:
    """Return a problem in place of the wrong record ``given``.

    Its place is that of ``given`` if that is inside the data, else the bytes ``between`` the last
    two cursors.
    """
    place, length = between[0], between[1] - between[0]
    own = (getattr(given, "offset", None), getattr(given, "length", None))
    match own:
        case int(offset), int(size) if 0 <= offset < offset + size <= end:
            place, length = offset, size
    reason = one_line(" ".join(str(error).split()) or type(error).__name__, LONGEST_DETAIL)
    return Record(
        place,
        max(length, 1),
        source.ref.session,
        problem=UNUSABLE_RECORD,
        problem_detail=f"the adapter of {agent.flavor} gave a wrong record: {reason}",
    )
