"""Writing what was read: records of a source into the sessions they belong to.

The plain case, a record nobody has seen before at the end of its session, is settled and stored
at once. Whenever that could be wrong (a record that another session holds too, a file that
belongs before one already read) the session is marked stale instead and derived anew from the
raw (`session_memory.derive.derivation`), so the result never depends on the order of arrival.
"""

from collections.abc import Callable, Iterable
from typing import Any

from session_memory.adapters.base import Record
from session_memory.adapters.registry import agent_or_substitute, worktree_places
from session_memory.core.ids import make_uid
from session_memory.core.roles import DOCUMENT, TIMELINE
from session_memory.core.text import escaped, one_line
from session_memory.derive import inclusive
from session_memory.derive.facts import base_of, facts_of, is_told, note_facts
from session_memory.derive.settle import SettleState
from session_memory.derive.stored_keys import StoredKeys
from session_memory.derive.writing import (
    Entangled,
    SessionWriting,
    decode_state,
    encode_state,
)
from session_memory.store.sessions import SessionRow
from session_memory.store.sources import SourceRow, reading_order, source_uid
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS

DomainOf = Callable[[str | None, str | None], str | None]

DEEPEST = 100


class Ingest:
    """Stores records, session by session, inside a transaction of the caller's."""

    def __init__(
        self, store: Store, now: int, domain_of: DomainOf, stored_keys: StoredKeys | None = None
    ) -> None:
        self._store = store
        self._now = now
        self._domain_of = domain_of
        self._stored_keys = stored_keys
        self._renamed: set[str] = set()
        self.counts: dict[str, int] = {}
        """Each session that was written to, with the number of events it had before."""

    def add(self, source: SourceRow, records: list[Record]) -> set[str]:
        """All records of one stretch of a source, in their order; the sessions they belong to."""
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
        row = self.session_row(source, native)
        if source.role == DOCUMENT:
            self.apply_facts(row, source, records[-1])
            self._store.sessions.link_source(row.id, source.id)
            return
        if records[0].unfit_name is not None:
            self._note_unfit_name(row, source, records[0])
        if row.relation is None:
            # Before anything else: whose copy a record is depends on who names whom as parent.
            self.note_origin(row, records)
        if row.stale or row.evicted_at is not None:
            # Of an evicted session only this is kept: it is derived when the rest is back.
            row.stale = 1
            self._store.sessions.save(row)
            self._store.sessions.link_source(row.id, source.id)
            return
        writing = SessionWriting(self._store, row, source)
        origin: SessionRow | None = None
        try:
            self._refuse_out_of_order(row, source, records)
            self._refuse_what_others_begin_with(row, records)
            writing.check(records, self._stored_keys)
        except Entangled as entangled:
            origin = self._plain_origin(row, writing, entangled)
            if origin is None:
                self._mark_stale(row, source, entangled)
                return
        writing.settle(records, writing.is_own if origin else None)
        row.own_records += writing.named_records
        if origin is not None:
            self._fork(row, origin, writing)
        self.finish(row, writing)
        self._store.sessions.link_source(row.id, source.id)
        if origin is not None:
            self._store.sessions.set_sharing({(row.id, origin.id)})
            name_parent(row, origin)
            self._store.sessions.save(row)

    def _mark_stale(self, row: SessionRow, source: SourceRow, entangled: Entangled) -> None:
        self._store.sessions.save(row)
        self._store.sessions.link_source(row.id, source.id)
        others = entangled.sessions - {0}
        self._store.sessions.set_sharing({(row.id, other) for other in others})
        for session_id in {row.id, *others}:
            self._store.sessions.mark_stale(session_id)

    def _plain_origin(
        self, row: SessionRow, writing: SessionWriting, entangled: Entangled
    ) -> SessionRow | None:
        """The session that a new one continues, in the one case that needs no second look:
        the new one holds all of the other, which shares with nobody else, and goes on."""
        if row.id or len(entangled.sessions) != 1:
            return None
        origin = self._store.sessions.row_by_id(next(iter(entangled.sessions)))
        if origin.evicted_at is not None:
            return None
        unshared = not origin.stale and not origin.has_shared and origin.relation != "subagent"
        whole = len(writing.foreign) == origin.own_records and writing.goes_on
        return origin if unshared and whole and origin.own_records else None

    def _fork(self, row: SessionRow, origin: SessionRow, writing: SessionWriting) -> None:
        row.own_records -= len(writing.foreign)
        row.has_shared = origin.has_shared = 1
        origin.own_records = 0
        self._store.sessions.save(origin)

    def session_row(self, source: SourceRow, native: str) -> SessionRow:
        uid = make_uid(source.flavor, native)
        row = self._store.sessions.row(uid)
        if row is None:
            row = SessionRow(
                uid=uid,
                flavor=source.flavor,
                native_id=native,
                host=source.host or None,
                discovered_at=self._now,
                state=encode_state(SettleState()),
            )
        self.counts.setdefault(uid, row.event_count)
        return row

    def _note_unfit_name(self, row: SessionRow, source: SourceRow, record: Record) -> None:
        """No session is dropped for its name: it goes under a substitute, and that is said."""
        name = record.unfit_name or ""
        row.native_name = escaped(name)
        if row.id and source.id in self._store.sessions.source_ids(row.id):
            return
        detail = one_line(f"{name!r} is called {row.native_id} here", 200)
        found = [(record.offset, 0, "unusable session id", detail)]
        self._store.problems.add(source.id, found, self._now)

    def _refuse_out_of_order(
        self, row: SessionRow, source: SourceRow, records: list[Record]
    ) -> None:
        tells_first = source.role == TIMELINE
        if not row.id or not any(_has_a_place(record, tells_first) for record in records):
            return
        others = [other for other in self._store.sessions.source_ids(row.id) if other != source.id]
        if not others:
            return
        logs = [self._store.sources.get(other) for other in others]
        here = reading_order(source)
        if any(log.role != DOCUMENT and reading_order(log) > here for log in logs):
            raise Entangled(set())

    def _refuse_what_others_begin_with(self, row: SessionRow, records: list[Record]) -> None:
        """A fork may begin with our records without repeating them, or we with another's."""
        sessions = self._store.sessions
        base = base_of(row)
        if base is not None and not row.has_shared:
            origin = sessions.row(base[0])
            if origin is not None and origin.evicted_at is not None:
                # What it begins with is needed again: sync brings it back before it derives.
                origin.stale = 1
                sessions.save(origin)
            if origin is not None:
                raise Entangled({origin.id})
        ordinals = [record.ordinal for record in records if record.ordinal is not None]
        if not ordinals:
            return
        forks = sessions.forks_of(row.uid)
        bases = ((fork.id, base_of(fork)) for fork in forks)
        begun = {fork for fork, base in bases if base is not None and min(ordinals) < base[1]}
        if begun:
            raise Entangled(begun)

    def apply_facts(self, row: SessionRow, source: SourceRow, record: Record) -> None:
        """What a document says about a session, kept apart from what its log says."""
        if record.facts is None:
            return
        told = {name: value for name, value in record.facts.items() if value is not None}
        if record.parent_session:
            told["below"] = record.parent_session
        speaker = f"document {source_uid(source.host, source.path, 0)}"
        note_facts(row, speaker, {**told, "generation": source.generation})
        self._show(row, decode_state(row.state))
        self.place(row, record.parent_session)
        self.save(row)
        self._place_children(row)

    def note_origin(self, row: SessionRow, records: Iterable[Record]) -> None:
        """What the log itself says about where the session came from: its first word on it."""
        told = next((r for r in records if r.parent_session or r.relation), None)
        if told is None:
            return
        relation = told.relation or "subagent"
        is_orphan = told.parent_session is None
        facts = {
            "relation": relation if is_orphan or relation != "subagent" else None,
            "parent": None if relation == "subagent" else told.parent_session,
            "spawn_call_id": told.spawn_call_id,
            "spawn_depth": told.spawn_depth,
            "base": None if told.base is None else [told.base.session, told.base.ordinal],
        }
        said = {name: value for name, value in facts.items() if value is not None}
        if said:
            note_facts(row, "a log", said)
        self.place(row, told.parent_session)

    def _show(self, row: SessionRow, state: SettleState) -> None:
        """The session's own facts: the log's word first, then the documents'."""
        facts = facts_of(row)
        row.cwd = state.cwd or facts.get("cwd")
        row.git_branch = state.git_branch or facts.get("git_branch")
        row.model = state.model or facts.get("model")
        row.agent_version = state.agent_version or facts.get("agent_version")
        row.repo = repo_of(row.cwd)
        row.domain = self._domain_of(row.repo, row.cwd)
        title = facts.get("custom_title") or state.title(
            facts.get("agent_name") or facts.get("title")
        )
        if title != row.title:
            self.rename(row, title)

    def rename(self, row: SessionRow, title: str | None) -> None:
        """Call a session something else; the index learns of it when it is saved."""
        row.title = title
        self._renamed.add(row.uid)

    def save(self, row: SessionRow) -> None:
        """Store a session, and what it is called where that is new."""
        self._store.sessions.save(row)
        if row.uid in self._renamed:
            self._renamed.discard(row.uid)
            self._store.index.set_title(row.id, row.title)

    def finish(self, row: SessionRow, writing: SessionWriting) -> None:
        """Carry the settled state over to the session's row, and store both."""
        state = writing.settling.state_to_save()
        self._show(row, state)
        if state.first_ts is not None:
            row.started_at, row.ended_at = state.first_ts, state.last_ts
        elif writing.held_from is not None:
            # Nothing of its own has a time: what it holds of others must do.
            row.started_at, row.ended_at = writing.held_from, writing.held_to
        row.turns, row.retries = state.turns, state.retries
        row.wall_clock_ms, row.event_count = state.wall_clock_ms, state.event_count
        row.state = encode_state(state)
        row.revision += 1
        row.ingested_at = self._now
        row.stale |= writing.settling.settled.needs_derivation
        writing.count_usage()
        self.save(row)
        writing.flush()
        for child, call in writing.links:
            self._link(row, child, call)
        self._place_children(row)
        if writing.has_turns:
            self.balance([row])

    def balance(self, rows: list[SessionRow]) -> None:
        """Take subagents out of turns that count them in, here and wherever these are counted."""
        inclusive.balance(self._store, {row.id for row in rows})
        for row in rows:
            for name, figure in zip(BUCKETS, self._store.usage.sums(row.id), strict=True):
                setattr(row, name, figure)

    def _link(self, parent: SessionRow, child: str, call: str) -> None:
        uid = make_uid(parent.flavor, child)
        self._store.sessions.link_child(parent.id, uid, call)
        row = self._store.sessions.row(uid)
        if row is not None and row.relation == "subagent":
            self.place_again(row)
            self._store.sessions.save(row)

    def place_again(self, row: SessionRow) -> None:
        """After its parent's log was read (again): what that says about the call may be new."""
        self.place(row, (row.parent_uid or "").partition(":")[2])

    def place(self, row: SessionRow, parent: str | None) -> None:
        """Whose subagent or fork a session is, by its documents, its log, or its place."""
        facts, before = facts_of(row), (row.parent_uid, row.relation)
        relation = facts.get("relation", "subagent")
        parent = parent or facts.get("below")
        if not parent and "relation" in facts and relation == "subagent":
            parent = facts.get("parent") or self._linked_to(row)
        if relation != "subagent" and facts.get("parent"):
            uid = make_uid(row.flavor, facts["parent"])
            # A log may claim that a session started itself; nobody is their own parent.
            if uid != row.uid:
                row.parent_uid, row.relation = uid, relation
        elif parent:
            self._place_subagent(row, facts, parent)
        elif relation == "subagent" and "relation" in facts:
            # It says what it is and not whose; what we inferred from copies is no parent of it.
            row.parent_uid, row.relation, row.spawn_depth = None, relation, 0
        if (row.parent_uid, row.relation) == before:
            return
        # What is a copy of whose, and who it is that prompts, was settled without knowing this.
        is_another = (row.relation == "subagent") != (before[1] == "subagent")
        if row.has_shared or (is_another and row.event_count):
            row.stale = 1

    def _linked_to(self, row: SessionRow) -> str | None:
        """A parent's log may name it where its own documents do not."""
        links = [uid for uid, _ in self._store.sessions.links_to(row.uid) if uid != row.uid]
        return links[0].partition(":")[2] if links else None

    def _place_subagent(self, row: SessionRow, facts: dict[str, Any], parent: str) -> None:
        """Its own document names its parent and call best, then the parent's log, then its path."""
        links = [link for link in self._store.sessions.links_to(row.uid) if link[0] != row.uid]
        named = make_uid(row.flavor, facts.get("parent") or row.native_id)
        told = links[0][0] if links else make_uid(row.flavor, parent)
        uid = told if named == row.uid else named
        if uid == row.uid:
            return
        row.relation, row.parent_uid = "subagent", uid
        row.spawn_call_id = facts.get("spawn_call_id") or (links[0][1] if links else None)
        row.spawn_depth = facts.get("spawn_depth") or self._depth_below(uid)

    def _depth_below(self, uid: str) -> int:
        parent = self._store.sessions.row(uid)
        if parent is not None and parent.relation == "subagent":
            return min(parent.spawn_depth + 1, DEEPEST)
        return 2 if uid.count(":") > 1 else 1

    def _place_children(self, row: SessionRow) -> None:
        """How deep a subagent is depends on how deep its parent is."""
        if row.relation != "subagent":
            return
        for uid in self._store.sessions.subagents(row.uid):
            child = self._store.sessions.row(uid)
            if child is not None and child.spawn_depth < DEEPEST:
                depth = child.spawn_depth
                self.place_again(child)
                if child.spawn_depth != depth:
                    self._store.sessions.save(child)
                    self._place_children(child)


def _has_a_place(record: Record, tells_first: bool) -> bool:
    """Whether it matters what came before a record; a timeline's outcomes are told by call."""
    return bool(
        record.events
        or record.usage is not None
        or record.continues
        or record.facts
        or record.link is not None
        or (record.outcomes and not tells_first)
    )


def name_parent(row: SessionRow, owner: SessionRow) -> None:
    """A copy of another session's history is a fork of it, unless it says what it is."""
    if is_told(row):
        return
    row.parent_uid = owner.uid
    is_resume = agent_or_substitute(row.flavor).copies_are_resumes(row.agent_version or "")
    row.relation = "resume" if is_resume else "fork"


def repo_of(cwd: str | None) -> str | None:
    """The directory a session worked in, by name; a worktree counts for its repository."""
    if not cwd:
        return None
    path = cwd.replace("\\", "/").rstrip("/")
    for place in worktree_places():
        path = path.partition(place)[0]
    return path.rpartition("/")[2] or None
