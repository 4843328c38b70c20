"""Recognize the lines that a handoff wrote into a session: copies from the session it continues.

The events of these lines are stored as ``lifecycle``. They are no prompts, answers or calls of the
new session, so nothing counts twice. Every such line begins with the mark ``handoffFrom``. The
lines that the agent adds later have no mark. An agent that imports session files, such as opencode,
keeps the mark in another place; the adapter of this agent looks for the mark itself.
"""

import json
import re
from collections.abc import Callable, Iterator

from session_memory.adapters.base import Cursor, NativeEvent, Readable, Record
from session_memory.adapters.event_text import event_text
from session_memory.core.ids import fit_native_id

MARK = "handoffFrom"
COPY = "handoff"
_BEGIN = f'{{"{MARK}":"'.encode()
_LONGEST = 1024
_UID = re.compile(r"[a-z][a-z0-9_]{0,31}:.+", re.DOTALL)

Read = Callable[[Readable, Cursor], Iterator[tuple[Cursor, Record]]]


def read_with_copies(
    read: Read, source: Readable, cursor: Cursor
) -> Iterator[tuple[Cursor, Record]]:
    """Yield what ``read`` yields, but turn the records of marked lines into copies.

    If the first line of a source has no mark, no handoff wrote it, and nothing is changed.
    """
    if not _head(source, 0).startswith(_BEGIN):
        yield from read(source, cursor)
        return
    for after, record in read(source, cursor):
        if record.problem is None:
            mark_copy(record, _origin(_head(source, record.offset)))
        yield after, record


def _head(source: Readable, offset: int) -> bytes:
    with source.open(offset) as opened:
        return opened.read(_LONGEST)


def _origin(head: bytes) -> object:
    """Return the uid of the session that a line was copied from; None for a line without a mark."""
    if not head.startswith(_BEGIN):
        return None
    try:
        origin, _ = json.JSONDecoder().raw_decode(head.decode("utf-8", "replace"), len(_BEGIN) - 1)
    except ValueError:
        return None
    return origin


def mark_copy(record: Record, origin: object) -> None:
    """Turn the record into a copy from the session ``origin``; do nothing if that is no uid.

    The record names the session as its parent and loses its usage, outcomes and links.
    """
    if not isinstance(origin, str) or not _UID.fullmatch(origin):
        return
    flavor, _, native = origin.partition(":")
    record.parent_session, record.relation = fit_native_id(native)[0], "handoff"
    record.parent_flavor = flavor
    record.events = list(map(_copy, record.events))
    record.usage, record.more_usage, record.outcomes = None, [], []
    record.link, record.more_links = None, []


def _copy(event: NativeEvent) -> NativeEvent:
    return NativeEvent(
        "lifecycle",
        event.role,
        event.summary,
        f"{COPY}/{event.native_kind}",
        body=event_text(event),
        is_repeated=event.is_repeated,
    )
