"""Settling: decide what each event is, given the events before it in its session.

An adapter sees one record at a time. Some answers need the records before it: is this call a
retry, did that answer end the turn, which branch was abandoned? ``Settling`` reads the records of
one session in order and answers these questions. It keeps what it must remember in a small,
bounded ``SettleState``, which is saved with the session. So a line that is appended tomorrow is
settled exactly as if it had been read today.

Nothing in this package reads the clock, and it reads the database only through ``EarlierEvents``.

- ``state``: the values that are saved between two syncs
- ``settled_rows``: the new rows of a batch, and changes to earlier rows
- ``earlier``: what is asked about events that are stored already
- ``chain``: which event is the parent of a record
- ``rewinds``: prompts that a person took back
- ``calls``: tool calls, their results and their outcomes
- ``turns``: prompts, answers, and where a turn ends
- ``session_facts``: titles, working directory, times
- ``branches``: which events lie on an abandoned branch
- ``settling``: the entry point, which routes each record to the parts above
"""

from session_memory.derive.settle.branches import abandoned_by_head, abandoned_by_prompts
from session_memory.derive.settle.earlier import EarlierEvents, StoredResult
from session_memory.derive.settle.settling import Settling
from session_memory.derive.settle.state import COLUMNS_STATED, PathPrompt, SettleState

__all__ = [
    "COLUMNS_STATED",
    "EarlierEvents",
    "PathPrompt",
    "SettleState",
    "Settling",
    "StoredResult",
    "abandoned_by_head",
    "abandoned_by_prompts",
]
