"""Settle records of one session into rows, copies, links and usage, without a store."""

from collections.abc import Callable
from typing import Protocol

from session_memory.adapters.base import Record
from session_memory.derive.settle import Settling
from session_memory.store.event_rows import CopyRow, EventRow


class TakesUsage(Protocol):
    def add(self, record: Record, seq: int) -> None:
        """Take the usage of a record, which belongs to the event ``seq``."""


class RecordSettling:
    """Settles records of the session ``native``. Each record must have its key.

    - ``links``: ``(child, call_id)`` of the subagents that the records name
    - ``copies``: other places of records that are stored already, or owned by another session
    - ``named_records``: how many records with a native id gave events
    - ``first_ts``, ``last_ts``: the first and last time of the records with events, inherited ones
      included; None if no owners were chosen
    - ``stored_records``: the keys of the records that have rows
    """

    def __init__(self, settling: Settling, native: str, usage: TakesUsage) -> None:
        self.settling = settling
        self.links: list[tuple[str, str]] = []
        self.copies: list[CopyRow] = []
        self.named_records = 0
        self.first_ts: int | None = None
        self.last_ts: int | None = None
        self.stored_records: set[bytes] = set()
        self._native = native
        self._takes_usage = usage

    def settle_records(
        self,
        records: list[Record],
        source_id: int,
        owned: Callable[[bytes], bool] | None = None,
    ) -> None:
        """Settle records. A record that is not ``owned`` becomes a copy of its owner's events."""
        settling, stored, native = self.settling, self.stored_records, self._native
        for record in records:
            named = record.native_id and record.events
            mine = record.session == native and (not owned or not named or owned(record.key))
            if record.link is not None and mine:
                children = (record.link, *record.more_links)
                self.links += [(link.child, link.call_id) for link in children]
            if record.events and record.key in stored:
                # The record is stored already, and its usage too. Only note another place of it.
                self.copies.extend(_repeated(record, source_id))
                continue
            rows = settling.settle(record, source_id, mine)
            if not mine:
                self.copies.extend(_inherited(rows))
            if rows:
                stored.add(record.key)
                if record.native_id:
                    self.named_records += 1
                if owned is not None and record.ts is not None:
                    self.first_ts = min(self.first_ts or record.ts, record.ts)
                    self.last_ts = max(self.last_ts or record.ts, record.ts)
            if record.usage is not None:
                self._takes_usage.add(record, settling.usage_seq)


def _inherited(rows: list[EventRow]) -> list[CopyRow]:
    """Rows of a record that another session owns, as copies with a seq in this session."""
    return [
        CopyRow(
            seq=row.seq,
            record=row.record,
            block=row.block,
            source_id=row.source_id,
            place=row.place,
            length=row.length,
        )
        for row in rows
    ]


def _repeated(record: Record, source_id: int) -> list[CopyRow]:
    """Copies for a record that this session has stored already from another place."""
    return [
        CopyRow(
            seq=None,
            record=record.key,
            block=block,
            source_id=source_id,
            place=record.offset,
            length=record.length,
        )
        for block, event in enumerate(record.events)
        if not event.is_repeated
    ]
