"""Writing what was read: records of a source into the sessions they belong to.

The plain case, a record nobody has seen before at the end of its session, is settled and stored
at once. Whenever that could be wrong (a record that another session holds too, a file that
belongs before one already read) the session is marked stale instead and derived anew from the
raw (`session_memory.collect.derive`), so the result never depends on the order of arrival.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import blake2b
from operator import add, sub
from typing import Any

import msgspec

from session_memory.adapters.base import DOCUMENT, NativeUsage, Record
from session_memory.collect.settle import Settling, State, branches
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
        if row.stale:
            self._store.sessions.link_source(row.id, source.id)
            return
        if row.relation is None:
            # Before anything else: whose copy a record is depends on who names whom as parent.
            self.place_subagent(row, records[0].parent_session)
        writing = SessionWriting(self._store, row, source)
        origin: SessionRow | None = None
        try:
            self._refuse_out_of_order(row, source)
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
                host=source.host,
                discovered_at=self._now,
                state=_encode(State()),
            )
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

    def _refuse_out_of_order(self, row: SessionRow, source: SourceRow) -> None:
        if not row.id:
            return
        others = [other for other in self._store.sessions.source_ids(row.id) if other != source.id]
        if not others:
            return
        logs = [self._store.sources.get(other) for other in others]
        here = reading_order(source)
        if any(log.role != DOCUMENT and reading_order(log) > here for log in logs):
            raise Entangled(set())

    def apply_facts(self, row: SessionRow, source: SourceRow, record: Record) -> None:
        """What a document says about a session, kept apart from what its log says.

        Of two documents the same one always speaks, in its newest generation, whichever was found
        first.
        """
        place = [source_uid(source.host, source.path, 0), source.generation]
        if record.facts is None or _facts(row).get("place", ["", 0]) > place:
            return
        told = {name: value for name, value in record.facts.items() if value is not None}
        row.facts = json.dumps({**told, "place": place}, sort_keys=True)
        row.title = _decode(row.state).title(record.facts.get("agent_name"))
        self.place_subagent(row, record.parent_session)
        self._store.sessions.save(row)

    def finish(self, row: SessionRow, writing: "SessionWriting") -> None:
        """Carry the settled state over to the session's row, and store both."""
        state = writing.settling.settled_state()
        facts = _facts(row)
        row.cwd, row.git_branch, row.model = state.cwd, state.git_branch, state.model
        row.repo = repo_of(state.cwd)
        row.domain = self._domain_of(row.repo, state.cwd)
        if state.first_ts is not None:
            row.started_at, row.ended_at = state.first_ts, state.last_ts
        elif writing.held_from is not None:
            # Nothing of its own has a time: what it holds of others must do.
            row.started_at, row.ended_at = writing.held_from, writing.held_to
        row.agent_version = state.agent_version
        row.title = state.title(facts.get("agent_name"))
        row.turns, row.retries = state.turns, state.retries
        row.wall_clock_ms, row.event_count = state.wall_clock_ms, state.event_count
        row.state = _encode(state)
        row.revision += 1
        row.ingested_at = self._now
        writing.count_usage()
        self._store.sessions.save(row)
        writing.flush()
        for child, call in writing.links:
            self._link(row, child, call)

    def _link(self, parent: SessionRow, child: str, call: str) -> None:
        uid = make_uid(parent.flavor, child)
        self._store.sessions.link_child(parent.id, uid, call)
        row = self._store.sessions.row(uid)
        if row is not None and row.relation == "subagent":
            self.place_again(row)
            self._store.sessions.save(row)

    def place_again(self, row: SessionRow) -> None:
        """After its parent's log was read (again): what that says about the call may be new."""
        self.place_subagent(row, (row.parent_uid or "").partition(":")[2])

    def place_subagent(self, row: SessionRow, parent: str | None) -> None:
        """Its own document names its parent and call best, then the parent's log, then its path."""
        if not parent:
            return
        facts, before = _facts(row), row.parent_uid
        # A log may claim that a session started itself; nobody is their own parent.
        links = [link for link in self._store.sessions.links_to(row.uid) if link[0] != row.uid]
        named = make_uid(row.flavor, facts.get("parent") or row.native_id)
        told = links[0][0] if links else make_uid(row.flavor, parent)
        row.relation = "subagent"
        row.parent_uid = told if named == row.uid else named
        row.spawn_call_id = facts.get("spawn_call_id") or (links[0][1] if links else None)
        nested = row.parent_uid.count(":") > 1
        row.spawn_depth = facts.get("spawn_depth") or (2 if nested else 1)
        if row.has_shared and row.parent_uid != before:
            row.stale = 1


class SessionWriting:
    """Settles and stores records of one session."""

    def __init__(self, store: Store, row: SessionRow, source: SourceRow) -> None:
        self._store = store
        self._row = row
        self._source = source
        self._stem = _stem(source)
        self._flavor = source.flavor
        # Not methods of ours: with the collector off, a cycle would keep all we ever held.
        look_up = partial(_seq_of, store, row), partial(_is_left, store, row)
        self.settling = Settling(_decode(row.state), *look_up)
        self.links: list[tuple[str, str]] = []
        self._stored: set[bytes] = set()
        self.foreign: set[bytes] = set()
        self.goes_on = False
        self._counted_elsewhere: set[str] = set()
        self._begin()
        self._usage_rows: dict[str, tuple[int, tuple[int, ...]]] = {}
        self.named_records = 0
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

    def read_from(self, source: SourceRow) -> None:
        """Go on with another source of the same session."""
        self._source, self._stem = source, _stem(source)

    def identify(self, records: Iterable[Record]) -> None:
        """Name each record for ever: its native id, else its file, place and content."""
        for record in records:
            if record.native_id is not None:
                record.key = record_key(record.native_id)
            else:
                record.key = place_key(f"{self._stem}@{record.offset}-{record.check:08x}")

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
        responses = {record.usage.usage_id for record in records if record.usage is not None}
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
            usage = record.usage
            if usage is not None and usage.output_tokens > outputs.get(usage.usage_id, NEVER):
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
        usage = self._usage
        for record in records:
            if record.link is not None:
                self.links.append((record.link.child, record.link.call_id))
            if record.events and record.key in stored:
                # Its usage is stored as well, at the place where it stood first.
                self._repeats.extend(_places(record, source_id))
                continue
            mine = owned is None or not (record.native_id and record.events) or owned(record.key)
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
            if record.usage is not None:
                known = usage.get(record.usage.usage_id)
                seq = settling.state.next_seq - 1
                if known is None or record.usage.output_tokens >= known[0].output_tokens:
                    usage[record.usage.usage_id] = (record.usage, record.ts, seq)
                else:
                    usage[record.usage.usage_id] = (known[0], known[1], seq)

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
        if settling.turned_back:
            self.mark_branches()
        settling.rows, settling.amended, settling.turned_back = {}, {}, False
        self._begin()

    def count_usage(self) -> None:
        """Add what the responses at hand used to the session's row.

        A response logged again counts once: its largest output, at its last block.
        """
        gained = (0,) * len(BUCKETS)
        for usage_id, (native, ts, seq) in self._usage.items():
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
        chain = self._store.events.chain(self._row.id)
        found = branches([(seq, parent, prompt, uid) for seq, parent, prompt, uid, _ in chain])
        changed = {
            seq: found.get(seq) for seq, _, _, _, stored in chain if stored != found.get(seq)
        }
        self._store.events.set_branches(self._row.id, changed)


def _seq_of(store: Store, row: SessionRow, native_id: str) -> int | None:
    return store.events.seq_of(row.id, record_key(native_id))


def _is_left(store: Store, row: SessionRow, seq: int) -> bool:
    return store.events.branch_of(row.id, seq) is not None


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


def _facts(row: SessionRow) -> dict[str, Any]:
    return {} if row.facts == "{}" else json.loads(row.facts)


def name_parent(row: SessionRow, owner: SessionRow) -> None:
    """A copy of another session's history is a fork of it, unless it says what it is."""
    if row.relation == "subagent":
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
