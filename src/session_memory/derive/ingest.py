"""Ingest: store the records of a source in the sessions they belong to.

A record that no session has yet, at the end of its own session, is settled and stored at once. If
that could be wrong, the session is marked stale and derived again from the stored logs
(`session_memory.derive.derivation`).
"""

from collections.abc import Iterable
from typing import Any

from session_memory.adapters.base import Record
from session_memory.core.ids import make_uid
from session_memory.core.roles import DOCUMENT, TIMELINE
from session_memory.core.text import escaped, one_line
from session_memory.derive.append_checks import NeedsDerivation, check_order, check_references
from session_memory.derive.facts import (
    LOG_WRITER,
    base_of,
    document_facts,
    facts_of,
    origin_facts,
    origin_record,
    set_costs,
    set_facts,
    set_repository,
)
from session_memory.derive.first_records import must_leave_out, replace_first
from session_memory.derive.live_sources import flavor_of
from session_memory.derive.placement import Placement, infer_parent
from session_memory.derive.plain_forks import plain_origin
from session_memory.derive.raw_source import stored_records
from session_memory.derive.record_needs import needs_of
from session_memory.derive.repository_names import DomainOf, RepositoryNames, place_of
from session_memory.derive.settle import COLUMNS_STATED, SettleState
from session_memory.derive.settled_ahead import SettledSession
from session_memory.derive.stored_keys import StoredKeys
from session_memory.derive.turns_with_subagents import set_sums, subtract_subagents
from session_memory.derive.writing import SessionWriting, decode_state, encode_state
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.store import Store

UNUSABLE_ID = "unusable session id"


class Ingest:
    """Stores records, session by session, inside the caller's transaction.

    ``counts`` holds each session that was written to, with the number of events it had before.
    """

    def __init__(
        self,
        store: Store,
        now: int,
        repositories: RepositoryNames | DomainOf,
        stored_keys: StoredKeys | None = None,
    ) -> None:
        self.placement = Placement(store)
        self.counts: dict[str, int] = {}
        if not isinstance(repositories, RepositoryNames):
            repositories = RepositoryNames(store, repositories)
        self.repositories = repositories
        self._store = store
        self._now = now
        self._stored_keys = stored_keys
        self._renamed: set[str] = set()

    def add(self, source: SourceRow, records: list[Record]) -> set[str]:
        """Store records of one source, in their order. Returns the native ids of their sessions."""
        by_session: dict[str, list[Record]] = {}
        for record in records:
            if record.problem is None:
                try:
                    by_session[record.session].append(record)
                except KeyError:
                    by_session[record.session] = [record]
        for native, own in by_session.items():
            self._add_to_session(source, native, own)
        return set(by_session)

    def _add_to_session(self, source: SourceRow, native: str, records: list[Record]) -> None:
        row = self._session_row(source, native)
        if must_leave_out(self._store, row, source):
            return
        replace_first(self._store, row, source)
        if source.role == DOCUMENT:
            self._add_document(row, source, records[-1])
            if row.id:
                self._store.sessions.link_source(row.id, source.id)
            return
        if records[0].unfit_name is not None:
            self._add_unusable_id(row, source, records[0])
        if row.relation is None:
            # This must come first: the owner of a copied record depends on the parents that
            # sessions name.
            self._add_origin(row, records)
        if row.stale or row.evicted_at is not None:
            # Derive no events now. They are derived from the stored log later: for an evicted
            # session when it is restored.
            row.stale = 1
            self._store.sessions.save(row)
            self._store.sessions.link_source(row.id, source.id)
            return
        self._append(row, source, records)

    def add_settled(self, source: SourceRow, sessions: list[SettledSession]) -> None:
        """Store the sessions of a new log that a worker has settled. Its packs must be stored."""
        for settled in sessions:
            row = self._session_row(source, settled.native)
            if not self._adopt(row, source, settled):
                records = stored_records(self._store, source)
                own = [r for r in records if r.session == settled.native and r.problem is None]
                self._add_to_session(source, settled.native, own)

    def _adopt(self, row: CollectedSession, source: SourceRow, settled: SettledSession) -> bool:
        """Store a new session as a worker settled it. If that could be wrong, return False and do
        not store the session."""
        if not self._is_without_records(row):
            return False
        if row.relation is None and settled.origin is not None:
            self._add_origin(row, [settled.origin])
        if (row.relation == "subagent") != settled.is_subagent or base_of(row) is not None:
            return False
        row.state = settled.state
        writing = SessionWriting(self._store, row, source)
        try:
            check_references(self._store, row, settled.needs)
            writing.check_keys(settled.keys, settled.usage_ids, self._stored_keys)
        except NeedsDerivation:
            return False
        writing.adopt(settled)
        row.own_records += writing.named_records
        was_added = not row.id
        self.finish(row, writing)
        self._store.sessions.link_source(row.id, source.id, is_first=was_added)
        return True

    def _is_without_records(self, row: CollectedSession) -> bool:
        """Whether the store has nothing of a session, or only documents about it."""
        if not row.is_new or row.stale or row.has_shared or row.evicted_at is not None:
            return False
        sources = self._store.sessions.source_ids(row.id) if row.id else ()
        return all(self._store.sources.get(one).role == DOCUMENT for one in sources)

    def _append(self, row: CollectedSession, source: SourceRow, records: list[Record]) -> None:
        """Append records to their session, or mark it stale when that could be wrong."""
        others = self.append_if_safe(row, source, records)
        if others is not None:
            self._mark_stale(row, source, others)

    def append_if_safe(
        self, row: CollectedSession, source: SourceRow, records: list[Record]
    ) -> set[int] | None:
        """Append records to their session and return None. If that could be wrong, change nothing
        and return the other sessions that hold some of the records."""
        writing = SessionWriting(self._store, row, source)
        origin: CollectedSession | None = None
        try:
            needs = needs_of(records, is_timeline=source.role == TIMELINE)
            check_order(self._store, row, source, needs)
            check_references(self._store, row, needs)
            writing.check_new(records, self._stored_keys)
        except NeedsDerivation as reason:
            if row.is_new:
                origin = plain_origin(self._store, row, writing, records, reason)
            if origin is None:
                return reason.sessions
        if row.revision and not row.event_count:
            # The session had no event until now, so its responses could have no problem. Check
            # them.
            writing.usage.note_again()
        writing.settle(records, writing.is_own if origin else None)
        row.own_records += writing.named_records
        if origin is not None:
            self._share_with_origin(row, origin, writing)
        self.finish(row, writing)
        self._store.sessions.link_source(row.id, source.id)
        if origin is not None:
            self._store.sessions.set_sharing({(row.id, origin.id)})
            infer_parent(row, origin)
            self._store.sessions.save(row)
        return None

    def _mark_stale(self, row: CollectedSession, source: SourceRow, others: set[int]) -> None:
        """Mark the session stale. It will be derived again, together with ``others`` and all
        sessions that they share records with."""
        sessions = self._store.sessions
        row.stale = 1
        sessions.save(row)
        sessions.link_source(row.id, source.id)
        sessions.set_sharing({(row.id, other) for other in others})

    def _share_with_origin(
        self, row: CollectedSession, origin: CollectedSession, writing: SessionWriting
    ) -> None:
        row.own_records -= len(writing.shared_records)
        row.has_shared = origin.has_shared = 1
        self._store.sessions.save(origin)

    def _session_row(self, source: SourceRow, native: str) -> CollectedSession:
        """The stored row of a session, or a new one."""
        flavor = flavor_of(source)
        uid = make_uid(flavor, native)
        row = self._store.sessions.row(uid)
        if row is not None and row.host is None and source.host:
            # Until now the store knew only the session's live rows, which belong to no machine.
            row.host = source.host
        if row is None:
            row = CollectedSession(
                uid=uid,
                flavor=flavor,
                native_id=native,
                host=source.host or None,
                discovered_at=self._now,
                state=encode_state(SettleState()),
            )
        self.counts.setdefault(uid, row.event_count)
        return row

    def _add_unusable_id(self, row: CollectedSession, source: SourceRow, record: Record) -> None:
        """Store a session's name that is not valid as an id, and a problem that says so.

        The row already has a substitute as its id.
        """
        name = record.unfit_name or ""
        row.native_name = escaped(name)
        if row.id and source.id in self._store.sessions.source_ids(row.id):
            return
        # The escaped name is used: a rebuild gets it from the store, where the names of files are
        # escaped, and must give the same text.
        detail = one_line(f"{row.native_name!r} is called {row.native_id} here", 200)
        self._store.problems.add(source.id, [(record.offset, 0, UNUSABLE_ID, detail)], self._now)

    # ------------------------------------------------------------ facts

    def _add_document(self, row: CollectedSession, source: SourceRow, record: Record) -> None:
        """Store what a document states about a session. Without facts nothing is stored."""
        if record.facts is None:
            return
        writer = f"document {source_uid(source.host, source.path, 0)}"
        set_facts(row, writer, {**document_facts(record), "generation": source.generation})
        state = decode_state(row.state)
        if state.first_ts is not None:
            # An earlier generation of the document may have set other dates. Begin with those of
            # the log.
            row.started_at, row.ended_at = state.first_ts, state.last_ts
        self._apply_facts(row, state)
        self.placement.place(row, record.parent_session)
        if base_of(row) is not None and not row.has_shared and row.evicted_at is None:
            # Derive a new fork even if it has no record of its own yet, so that it gets the events
            # that it inherits.
            row.stale = 1
        self.save(row)
        self.placement.place_children(row)

    def _add_origin(self, row: CollectedSession, records: Iterable[Record]) -> None:
        """Store what the log states about where its session came from.

        Only the first record that states it counts.
        """
        record = origin_record(records)
        if record is None:
            return
        facts = origin_facts(record)
        if facts:
            set_facts(row, LOG_WRITER, facts)
        self.placement.place(row, record.parent_session)

    def _apply_facts(self, row: CollectedSession, state: SettleState) -> None:
        """Set the columns that show facts. What the log's records state wins over what documents
        state, except for the ``custom_title`` of a document."""
        before = place_of(row.cwd, row.git_branch, row.facts)
        if state.repository or state.repository_root:
            set_repository(row, state.repository, state.repository_root)
        set_costs(row, state.reported_costs)
        facts = facts_of(row)
        for name in COLUMNS_STATED:
            setattr(row, name, getattr(state, name) or facts.get(name))
        row.task_ref = state.task(row.git_branch)
        row.model = state.model or facts.get("model")
        if "begun_at" in facts:
            _set_dates(row, state, facts)
        self.repositories.set_repo(row, before)
        title = facts.get("custom_title") or state.title(
            facts.get("agent_name") or facts.get("title"), is_subagent=row.relation == "subagent"
        )
        if title != row.title:
            self.rename(row, title)

    def rename(self, row: CollectedSession, title: str | None) -> None:
        """Set a session's title; `save` brings it to the search index."""
        row.title = title
        self._renamed.add(row.uid)

    # ------------------------------------------------------------ saving

    def save(self, row: CollectedSession) -> None:
        """Store a session's row. If its title changed, store the title in the search index too."""
        self._store.sessions.save(row)
        if row.uid in self._renamed:
            self._renamed.discard(row.uid)
            given = self._store.given_names.of([row.uid]) if self._stored_keys is None else {}
            self._store.index.set_title(row.id, given.get(row.uid, row.title))

    def save_without_records(self, row: CollectedSession) -> None:
        """Store a session of which there are only documents."""
        self._apply_facts(row, decode_state(row.state))
        self.save(row)

    def finish(self, row: CollectedSession, writing: SessionWriting) -> None:
        """Copy the settled state to the session's row, and store the row and its events."""
        state = writing.settling.state_to_save()
        if state.first_ts is not None:
            row.started_at, row.ended_at = state.first_ts, state.last_ts
        elif writing.first_ts is not None:
            # None of its own records has a time, but inherited records have.
            row.started_at, row.ended_at = writing.first_ts, writing.last_ts
        self._apply_facts(row, state)
        state.set_sums(row)
        row.state = encode_state(state)
        row.revision += 1
        row.ingested_at = self._now
        row.stale |= writing.settling.settled.needs_derivation
        writing.usage.count()
        self.save(row)
        writing.flush()
        writing.usage.settle_reports()
        writing.usage.note_shared_ids(self._now)
        # A call is named by each of its records.
        for child, call_id in dict.fromkeys(writing.links):
            self.placement.link_child(row, child, call_id)
        self.placement.place_children(row)
        if writing.usage.has_turns:
            self.subtract_subagents([row])

    def subtract_subagents(self, rows: list[CollectedSession]) -> None:
        """Subtract subagents from the turns that include them, and update the sums of ``rows``."""
        subtract_subagents(self._store, {row.id for row in rows})
        for row in rows:
            set_sums(self._store, row)


def _set_dates(row: CollectedSession, state: SettleState, facts: dict[str, Any]) -> None:
    """Use the dates of a document where the records of the log have no times."""
    begun = facts["begun_at"]
    row.started_at = begun if state.first_ts is None else min(begun, state.first_ts)
    row.ended_at = state.last_ts or max(begun, facts.get("updated_at", begun))
