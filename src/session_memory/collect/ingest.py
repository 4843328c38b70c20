"""Writing what was read: records of a source into the sessions they belong to.

The plain case, a record nobody has seen before at the end of its session, is settled and stored
at once. Whenever that could be wrong (a record that another session holds too, a file that
belongs before one already read) the session is marked stale instead and derived anew from the
raw (`session_memory.collect.derive`), so the result never depends on the order of arrival.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from operator import add, sub
from typing import Any

import msgspec

from session_memory.adapters.base import DOCUMENT, TIMELINE, NativeUsage, Record
from session_memory.collect import inclusive
from session_memory.collect.facts import base_of, facts_of, is_told, note_facts
from session_memory.collect.settle import (
    Prompt,
    Settling,
    State,
    StoredResult,
    branches,
    left_behind,
)
from session_memory.core.ids import make_uid
from session_memory.core.text import escaped, one_line
from session_memory.store.database import Row
from session_memory.store.events import EventRow, place_key, record_key
from session_memory.store.sessions import SessionRow
from session_memory.store.sources import SourceRow, reading_order, source_uid
from session_memory.store.store import Store
from session_memory.store.usage import BUCKETS, UsageRow

DomainOf = Callable[[str | None, str | None], str | None]

KNOWN_IN_MEMORY = 300_000
NEVER = 1 << 62
DEEPEST = 100

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


class Entangled(Exception):
    """Sessions that hold the same record; carries their ids. Never leaves this module.

    An id of 0 among them says only that the case is not plain.
    """

    def __init__(self, sessions: set[int]) -> None:
        super().__init__()
        self.sessions = sessions


class Known:
    """Everything stored so far, while that fits in memory: saves looking up what is not there.

    Only good for a store that was empty when we began and that nobody else writes to.
    """

    def __init__(self) -> None:
        self.records: set[bytes] = set()
        self.responses: set[str] = set()

    def is_new(self, records: list[bytes], responses: set[str]) -> bool:
        new = self.records.isdisjoint(records) and self.responses.isdisjoint(responses)
        self.records.update(records)
        self.responses.update(responses)
        return new

    @property
    def is_full(self) -> bool:
        return len(self.records) > KNOWN_IN_MEMORY


class Ingest:
    """Stores records, session by session, inside a transaction of the caller's."""

    def __init__(
        self, store: Store, now: int, domain_of: DomainOf, known: Known | None = None
    ) -> None:
        self._store = store
        self._now = now
        self._domain_of = domain_of
        self._known = known
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
        if row.stale:
            self._store.sessions.save(row)
            self._store.sessions.link_source(row.id, source.id)
            return
        writing = SessionWriting(self._store, row, source)
        origin: SessionRow | None = None
        try:
            self._refuse_out_of_order(row, source, records)
            self._refuse_what_others_begin_with(row, records)
            writing.check(records, self._known)
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
        self, row: SessionRow, writing: "SessionWriting", entangled: Entangled
    ) -> SessionRow | None:
        """The session that a new one continues, in the one case that needs no second look:
        the new one holds all of the other, which shares with nobody else, and goes on."""
        if row.id or len(entangled.sessions) != 1:
            return None
        origin = self._store.sessions.row_by_id(next(iter(entangled.sessions)))
        unshared = not origin.stale and not origin.has_shared and origin.relation != "subagent"
        whole = len(writing.foreign) == origin.own_records and writing.goes_on
        return origin if unshared and whole and origin.own_records else None

    def _fork(self, row: SessionRow, origin: SessionRow, writing: "SessionWriting") -> None:
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
                state=_encode(State()),
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
        self._show(row, _decode(row.state))
        self.place(row, record.parent_session)
        self._store.sessions.save(row)
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

    def _show(self, row: SessionRow, state: State) -> None:
        """The session's own facts: the log's word first, then the documents'."""
        facts = facts_of(row)
        row.cwd = state.cwd or facts.get("cwd")
        row.git_branch = state.git_branch or facts.get("git_branch")
        row.model = state.model or facts.get("model")
        row.agent_version = state.agent_version or facts.get("agent_version")
        row.repo = repo_of(row.cwd)
        row.domain = self._domain_of(row.repo, row.cwd)
        row.title = facts.get("custom_title") or state.title(
            facts.get("agent_name") or facts.get("title")
        )

    def finish(self, row: SessionRow, writing: "SessionWriting") -> None:
        """Carry the settled state over to the session's row, and store both."""
        state = writing.settling.settled_state()
        self._show(row, state)
        if state.first_ts is not None:
            row.started_at, row.ended_at = state.first_ts, state.last_ts
        elif writing.held_from is not None:
            # Nothing of its own has a time: what it holds of others must do.
            row.started_at, row.ended_at = writing.held_from, writing.held_to
        row.turns, row.retries = state.turns, state.retries
        row.wall_clock_ms, row.event_count = state.wall_clock_ms, state.event_count
        row.state = _encode(state)
        row.revision += 1
        row.ingested_at = self._now
        row.stale |= writing.settling.is_upset
        writing.count_usage()
        self._store.sessions.save(row)
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


class SessionWriting:
    """Settles and stores records of one session."""

    def __init__(self, store: Store, row: SessionRow, source: SourceRow) -> None:
        self._store = store
        self._row = row
        self._source = source
        self._stem = _stem(source)
        self._flavor = source.flavor
        # Not methods of ours: with the collector off, a cycle would keep all we ever held.
        self._results = _Results(store, row)
        self.settling = Settling(
            _decode(row.state),
            partial(_seq_of, store, row),
            partial(_is_left, store, row),
            self._results,
            partial(_prompts_of, store, row),
            is_subagent=row.relation == "subagent",
        )
        self.settling.reads_timeline = source.role == TIMELINE
        self.links: list[tuple[str, str]] = []
        self._stored: set[bytes] = set()
        self.foreign: set[bytes] = set()
        self.goes_on = False
        self._counted_elsewhere: set[str] = set()
        self._begin()
        self._usage_rows: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.named_records = 0
        self.has_turns = False
        self.held_from: int | None = None
        self.held_to: int | None = None

    def _begin(self) -> None:
        self._copies: list[EventRow] = []
        self._repeats: list[EventRow] = []
        self._usage: dict[str, tuple[NativeUsage, int | None, int]] = {}
        self._new_usage: list[UsageRow] = []
        self._shared_usage: list[UsageRow] = []
        self._better_usage: list[tuple[int, UsageRow]] = []
        self._moved_usage: list[tuple[int, int]] = []
        self._turns: list[tuple[int, NativeUsage]] = []

    def read_from(self, source: SourceRow) -> None:
        """Go on with another source of the same session."""
        self._source, self._stem = source, _stem(source)
        self.settling.reads_timeline = source.role == TIMELINE

    def identify(self, records: Iterable[Record]) -> None:
        """Name each record for ever: its native id, else its file, place and content."""
        for record in records:
            if record.native_id is not None:
                record.key = record_key(record.native_id)
            else:
                record.key = place_key(
                    f"{self._name_of(record.session)}@{record.offset}-{record.check:08x}"
                )

    def _name_of(self, session: str) -> str:
        """The file's own name where that names the session; some agents name all files alike."""
        return self._stem if self._stem.endswith(session) else f"{session}/{self._stem}"

    # ------------------------------------------------------------ is it the plain case?

    def check(self, records: list[Record], known: Known | None = None) -> None:
        """Raise ``Entangled`` unless every record is new to all other sessions."""
        self.identify(records)
        named = [record.key for record in records if record.native_id and record.events]
        if named and self._row.has_shared and not self._row.own_records:
            raise Entangled(set())
        sources = self._store.sessions.source_ids(self._row.id) if self._row.id else []
        has_others = bool(sources) and sources != [self._source.id]
        if has_others:
            named += [r.key for r in records if r.events and not r.native_id]
        responses = {used.usage_id for record in records for used in usage_in(record)}
        if known is not None and known.is_new(named, responses) and not has_others:
            return
        others = self._other_holders(named) | self._other_counters(records, responses)
        if others:
            # Only where a later record of the new session is its own can the other be whole.
            self.goes_on = len(set(named)) > len(self.foreign)
            raise Entangled(others)

    def is_own(self, record: bytes) -> bool:
        return record not in self.foreign

    def _other_holders(self, records: list[bytes]) -> set[int]:
        others = set()
        for key, session_id in self._store.events.holders(records):
            if session_id == self._row.id:
                self._stored.add(key)
            else:
                self.foreign.add(key)
                others.add(session_id)
        return others

    def _other_counters(self, records: list[Record], responses: set[str]) -> set[int]:
        others, outputs = set(), {}
        for row_id, usage_id, session_id, *buckets in self._usage_of(responses):
            if session_id == self._row.id:
                self._usage_rows[usage_id] = (row_id, tuple(buckets))
            else:
                outputs[usage_id] = buckets[1]
                others.add(session_id)
        for record in records if outputs else ():
            for used in usage_in(record):
                if used.output_tokens > outputs.get(used.usage_id, NEVER):
                    # Our copy of the response is the fuller one: whose it is takes a second look.
                    others.add(0)
        self._counted_elsewhere = set(outputs)
        return others

    def _usage_of(self, usage_ids: Iterable[str]) -> Iterator[Row]:
        keys = {key_of(self._flavor, usage_id): usage_id for usage_id in usage_ids}
        for row_id, key, usage_id, *rest in self._store.usage.stored(list(keys)):
            if keys[key] == usage_id:
                yield row_id, usage_id, *rest

    # ------------------------------------------------------------ writing

    def settle(self, records: list[Record], owned: Callable[[bytes], bool] | None = None) -> None:
        """Settle records; what is not ``owned`` becomes a copy of the owner's event."""
        settling, stored, source_id = self.settling, self._stored, self._source.id
        usage, native = self._usage, self._row.native_id
        self._results.want({told.call_id for record in records for told in record.outcomes})
        for record in records:
            named = record.native_id and record.events
            mine = record.session == native and (not owned or not named or owned(record.key))
            if record.link is not None and mine:
                self.links.append((record.link.child, record.link.call_id))
            if record.events and record.key in stored:
                # Its usage is stored as well, at the place where it stood first.
                self._repeats.extend(_places(record, source_id))
                continue
            rows = settling.settle(record, source_id, mine)
            if not mine:
                self._copies.extend(rows)
            if rows:
                stored.add(record.key)
                if record.native_id:
                    self.named_records += 1
                if owned is not None and record.ts is not None:
                    self.held_from = min(self.held_from or record.ts, record.ts)
                    self.held_to = max(self.held_to or record.ts, record.ts)
            for used in usage_in(record):
                known, seq = usage.get(used.usage_id), settling.answered
                if known is None or used.output_tokens >= known[0].output_tokens:
                    usage[used.usage_id] = (used, record.ts, seq)
                else:
                    usage[used.usage_id] = (known[0], known[1], seq)

    def find_own_usage(self) -> None:
        """Which of the responses at hand this session has stored before."""
        for row_id, usage_id, session_id, *buckets in self._usage_of(self._usage):
            if session_id == self._row.id:
                self._usage_rows[usage_id] = (row_id, tuple(buckets))

    def _usage_row(self, native: NativeUsage, ts: int | None, seq: int) -> UsageRow:
        return UsageRow(
            key_of(self._flavor, native.usage_id),
            native.usage_id,
            seq,
            ts,
            native.model,
            native.speed,
            native.service_tier,
            native.input_tokens,
            native.output_tokens,
            native.cache_read_tokens,
            native.cache_write_tokens,
            native.cache_write_1h_tokens,
            native.reasoning_tokens,
            native.web_searches,
        )

    def flush(self) -> None:
        """Store what was settled since the last time."""
        store, row, settling = self._store, self._row, self.settling
        store.events.add(row.id, list(settling.rows.values()))
        store.events.amend(row.id, settling.amended)
        if self._copies:
            store.events.add_copies(row.id, self._copies, placed=True)
        if self._repeats:
            store.events.add_copies(row.id, self._repeats, placed=False)
        store.usage.add(row.id, self._new_usage, row.id)
        store.usage.add(row.id, self._shared_usage, None)
        for row_id, better in self._better_usage:
            store.usage.replace(row_id, better)
        for row_id, seq in self._moved_usage:
            store.usage.move(row_id, seq)
        self.has_turns |= inclusive.note(store, row, self._turns)
        store.events.undo(row.id, settling.undone)
        if settling.turned_back:
            self.mark_branches()
        settling.rows, settling.amended, settling.turned_back = {}, {}, False
        settling.undone = []
        self._begin()

    def count_usage(self) -> None:
        """Add what the responses at hand used to the session's row.

        A response logged again counts once: its largest output, at its last block.
        """
        gained = (0,) * len(BUCKETS)
        for usage_id, (native, ts, seq) in self._usage.items():
            if native.includes_subagents:
                self._turns.append((key_of(self._flavor, usage_id), native))
            if usage_id in self._counted_elsewhere:
                self._shared_usage.append(self._usage_row(native, ts, seq))
                continue
            stored = self._usage_rows.get(usage_id)
            if stored is not None and native.output_tokens < stored[1][1]:
                self._moved_usage.append((stored[0], seq))
                continue
            row = self._usage_row(native, ts, seq)
            gained = tuple(map(add, gained, row.buckets))
            if stored is None:
                self._new_usage.append(row)
            else:
                self._better_usage.append((stored[0], row))
                gained = tuple(map(sub, gained, stored[1]))
        self._usage = {}
        for name, more in zip(BUCKETS, gained, strict=True):
            setattr(self._row, name, getattr(self._row, name) + more)

    def mark_branches(self) -> None:
        """Find the abandoned branches of the whole session again; store what changed."""
        state = self.settling.state
        if state.is_told:
            chain = self._store.events.tree(self._row.id)
            found = left_behind([link[:4] for link in chain], state.head)
        else:
            chain = self._store.events.chain(self._row.id)
            found = branches([link[:4] for link in chain])
        changed = {
            seq: found.get(seq) for seq, _, _, _, stored in chain if stored != found.get(seq)
        }
        self._store.events.set_branches(self._row.id, changed)


def _seq_of(store: Store, row: SessionRow, native_id: str) -> int | None:
    return store.events.seq_of(row.id, record_key(native_id))


def _is_left(store: Store, row: SessionRow, seq: int) -> bool:
    return store.events.branch_of(row.id, seq) is not None


class _Results:
    """The stored results of the calls that a batch of records says something about."""

    def __init__(self, store: Store, row: SessionRow) -> None:
        self._store = store
        self._row = row
        self._wanted: set[str] = set()
        self._found: dict[str, StoredResult] | None = {}

    def want(self, call_ids: set[str]) -> None:
        self._wanted, self._found = call_ids, None

    def __call__(self, call_id: str) -> StoredResult | None:
        if self._found is None:
            events, session = self._store.events, self._row.id
            found = events.results_of(session, self._wanted) if session else {}
            self._found = {call: StoredResult(*told) for call, told in found.items()}
        return self._found.get(call_id)


def _prompts_of(store: Store, row: SessionRow) -> list[Prompt]:
    return [Prompt(*told) for told in store.events.prompts_of(row.id)] if row.id else []


def _stem(source: SourceRow) -> str:
    return source.home_path.rpartition("/")[2].partition(".jsonl")[0]


def _places(record: Record, source_id: int) -> list[EventRow]:
    """Rows for a record this session has already; only their place is kept."""
    return [
        EventRow(
            0,
            None,
            "",
            "",
            "",
            None,
            "",
            None,
            None,
            None,
            "",
            source_id,
            record.offset,
            record.length,
            record.key,
            block,
            None,
            None,
            None,
            0,
            False,
            False,
            None,
            None,
        )
        for block in range(len(record.events))
    ]


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


def usage_in(record: Record) -> tuple[NativeUsage, ...]:
    """Every usage a record tells of; nearly always none or one."""
    if record.usage is None:
        return ()
    return (record.usage, *record.more_usage) if record.more_usage else (record.usage,)


def name_parent(row: SessionRow, owner: SessionRow) -> None:
    """A copy of another session's history is a fork of it, unless it says what it is."""
    if is_told(row):
        return
    row.parent_uid = owner.uid
    # Version 1 began a new file, with the history copied, on every resume.
    row.relation = "resume" if (row.agent_version or "").startswith("1.") else "fork"


def key_of(flavor: str, identity: str) -> int:
    """A short number for a long identity, the same everywhere; equal keys are compared in full."""
    digest = blake2b(f"{flavor}\0{identity}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def repo_of(cwd: str | None) -> str | None:
    """The directory a session worked in, by name; a worktree counts for its repository."""
    if not cwd:
        return None
    path = cwd.replace("\\", "/").rstrip("/")
    return path.partition("/.claude/worktrees/")[0].rpartition("/")[2] or None
