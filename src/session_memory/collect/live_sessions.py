"""Collect live sessions: only the rows that were added since the last sync are read.

Rows are never changed or deleted. Sometimes a new row belongs before rows that were read: with two
writers, or after a clock was set back. Then the session is derived again from all its rows.
"""

import io
from typing import BinaryIO

import msgspec

from session_memory.adapters.base import Cursor, Record, SourceRef
from session_memory.adapters.registry import agent
from session_memory.core.roles import DOCUMENT
from session_memory.derive.ingest import Ingest
from session_memory.derive.line_counts import LineCounts, problems_in
from session_memory.derive.live_sources import AT_ONCE, LIVE, NOWHERE, refs_of, table_lines
from session_memory.derive.repository_names import DomainOf
from session_memory.store.live_imports import LiveImports
from session_memory.store.live_order import LiveItem, digest_of
from session_memory.store.live_rows import LiveHead, LiveRows
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

# The fields that keep their values when a subagent is detached, because its parent still started
# it.
_ORIGIN = ("parent_session_id", "spawn_tool_call_id", "spawn_depth")


def has_news(store: Store) -> bool:
    """Whether a live session was written to since the last sync."""
    return bool(LiveSync(store, 0, lambda repo, cwd: None).changed())


class LiveSync:
    """Collects all live sessions of a store. ``touched``: uid → its number of events before."""

    def __init__(self, store: Store, now: int, domain_of: DomainOf) -> None:
        self._store = store
        self._now = now
        self._domain_of = domain_of
        self._rows = LiveRows(store.db)
        self.touched: dict[str, int] = {}
        self.discovered = self.ingested = self.bytes = 0

    def changed(self) -> list[LiveHead]:
        """The sessions that were written to since the last sync."""
        heads = self._rows.heads()
        self.discovered = len(heads)
        if not heads:
            return []
        known = self._store.sources.known(NOWHERE)
        return [head for head in heads if not _is_current(head, known)]

    def read(self, heads: list[LiveHead]) -> None:
        """Read the new rows of some sessions and store them."""
        known = self._store.sources.known(NOWHERE) if heads else {}
        for head in heads:
            refs = refs_of(head.session_id, self._origin(head.session_id))
            about, rows = (self._row(ref, known) for ref in refs)
            if about.agent != refs[0].agent:
                self._use_for_another(about, rows, refs[0].agent)
            self._read_document(about, rows, head)
            self._read_rows(rows, head)
            self.ingested += 1

    def note_collected(self) -> bool:
        """Note the imported sessions whose origin was collected after the import.

        Return whether there is one. The rows of these sessions are then read again, without the
        rows that the import wrote, because the log of the origin has the same messages.
        """
        imports = LiveImports(self._store.db)
        if not imports.has_newly_collected():
            return False
        with self._store.transaction():
            imports.note_collected()
        return True

    def _origin(self, session_id: str) -> str:
        known = LiveImports(self._store.db).of_name(session_id)
        return "" if known is None else known.origin

    def _row(self, ref: SourceRef, known: dict[str, SourceRow]) -> SourceRow:
        path = str(ref.path)
        return known.get(path) or SourceRow(
            host=NOWHERE,
            flavor=LIVE,
            role=ref.role,
            path=path,
            home_path=ref.home_path,
            session=ref.session,
            agent=ref.agent,
            adapter_version=agent(LIVE).version,
            discovered_at=self._now,
        )

    def _read_document(self, row: SourceRow, rows: SourceRow, head: LiveHead) -> None:
        """Store the facts about a session. The cursor state of their source keeps a copy of the
        facts."""
        facts = self._rows.about(head.session_id)
        if facts is None:
            return
        before = msgspec.json.decode(row.cursor_state) if row.cursor_state else {}
        # Another date means another session with the same id. But an imported session, which has
        # ``row.agent``, is never begun again: that would clear what the log of its origin says. If
        # its id was given to a new session, `_use_for_another` was called.
        is_another = bool(before) and before["created_at"] != facts["created_at"] and not row.agent
        is_detached = before.get("parent_session_id") and not facts["parent_session_id"]
        if is_detached and not is_another and not row.agent:
            facts |= {name: before[name] for name in _ORIGIN}
        row.cursor_state = msgspec.json.encode(facts, order="sorted").decode()
        body = row.cursor_state.encode()
        with self._store.transaction():
            if not self._was_read_elsewhere(row):
                if is_another:
                    self._begin_again(row, rows)
                self._write(row, head, self._translated(row, [body], Cursor())[0])

    def _begin_again(self, row: SourceRow, rows: SourceRow) -> None:
        """Begin a session anew, because a new session has the id of a closed one. No row of it was
        read yet."""
        self._store.sessions.begin_again(self._store.sessions.of_source(row.id))
        if rows.id:
            rows.tail_hash, rows.starts_at = "", None
            self._store.sources.save(rows)

    def _use_for_another(self, about: SourceRow, rows: SourceRow, origin: str) -> None:
        """Use the sources of an imported session for a new session, which took over its id.

        The imported session was closed and renamed. Its events stay, and its rows are read again
        under its new id.
        """
        with self._store.transaction():
            for row in (about, rows):
                for session in self._store.sessions.of_source(row.id):
                    self._store.sessions.unlink_source(session, row.id)
                    self._store.sessions.mark_stale(session)
                row.agent, row.read_to, row.tail_hash, row.cursor_state = origin, 0, "", ""
                row.lines, row.bookkeeping, row.starts_at = 0, "{}", None
                self._store.sources.save(row)

    def _read_rows(self, row: SourceRow, head: LiveHead) -> None:
        order = self._rows.order(head.session_id)
        is_grown = digest_of(order[: row.read_to]) == row.tail_hash or not row.read_to
        if is_grown:
            self._append(row, head, order)
        else:
            self._read_all_again(row, head, order)

    def _append(self, row: SourceRow, head: LiveHead, order: list[LiveItem]) -> None:
        cursor = Cursor(row.read_to, row.cursor_state)
        has_rows = row.read_to < len(order)
        for first in range(row.read_to, len(order), AT_ONCE):
            items = order[first : first + AT_ONCE]
            lines = list(table_lines(self._rows, head.session_id, items))
            records, cursor = self._translated(row, lines, cursor)
            with self._store.transaction():
                if self._was_read_elsewhere(row):
                    return
                row.read_to, row.cursor_state = cursor.offset, cursor.state
                row.tail_hash = digest_of(order[: row.read_to])
                is_last = row.read_to >= len(order)
                self._write(row, head if is_last else None, records)
            self.bytes += sum(map(len, lines))
        if not has_rows:
            # The session was renamed, archived or closed: a new revision without new rows.
            with self._store.transaction():
                if not self._was_read_elsewhere(row):
                    self._write(row, head, [])

    def _read_all_again(self, row: SourceRow, head: LiveHead, order: list[LiveItem]) -> None:
        """Read all rows from the beginning, because a new row belongs before rows that were
        read."""
        with self._store.transaction():
            if self._was_read_elsewhere(row):
                return
            lines = list(table_lines(self._rows, head.session_id, order))
            records, cursor = self._translated(row, lines, Cursor())
            row.read_to, row.cursor_state = len(order), cursor.state
            row.tail_hash = digest_of(order)
            row.lines, row.bookkeeping = 0, "{}"
            if row.agent:
                # Rows that the import wrote are left out now, so another row may be the first.
                row.starts_at = None
            for session in self._store.sessions.of_source(row.id):
                self._store.sessions.mark_stale(session)
            self._write(row, head, records)

    def _translated(
        self, row: SourceRow, lines: list[bytes], cursor: Cursor
    ) -> tuple[list[Record], Cursor]:
        read = list(agent(LIVE).read(_LinesSource(row, lines), cursor))
        return [record for _, record in read], read[-1][0] if read else cursor

    def _was_read_elsewhere(self, row: SourceRow) -> bool:
        """Whether the source was read by another sync, or erased, since it was looked at."""
        sources = self._store.sources
        if bool(row.id) != sources.exists(row.host, row.path, 0):
            return True
        if not row.id:
            return self._rows.about(row.session) is None
        return row.role != DOCUMENT and sources.was_read_by_others(row)

    def _write(self, row: SourceRow, head: LiveHead | None, records: list[Record]) -> None:
        """Store records and the cursor, inside a transaction.

        ``head``: given if all rows were read.
        """
        if row.starts_at is None and row.role != DOCUMENT:
            row.starts_at = next((r.ts for r in records if r.ts is not None), None)
        row.lines = 0 if row.role == DOCUMENT else row.lines
        counts = LineCounts()
        counts.add(records)
        counts.add_to(row)
        if head is not None:
            row.size, row.mtime_ns = head.revision, head.last_usage
        row.ingested_at = self._now
        self._store.sources.save(row)
        self._store.problems.add(row.id, problems_in(records), self._now)
        ingest = Ingest(self._store, self._now, self._domain_of)
        ingest.add(row, records)
        for uid, count in ingest.counts.items():
            self.touched.setdefault(uid, count)


class _LinesSource:
    """Lines in memory, as a source that an adapter can read."""

    def __init__(self, row: SourceRow, lines: list[bytes]) -> None:
        about, rows = refs_of(row.session, row.agent)
        self.ref = about if row.role == DOCUMENT else rows
        self._lines = lines

    def open(self, offset: int) -> BinaryIO:
        return io.BytesIO(b"".join(self._lines))


def _is_current(head: LiveHead, known: dict[str, SourceRow]) -> bool:
    seen = [known.get(str(ref.path)) for ref in refs_of(head.session_id)]
    now = (head.revision, head.last_usage)
    return all(row is not None and (row.size, row.mtime_ns) == now for row in seen)
