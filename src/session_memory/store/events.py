"""Events: what happened in a session, one row for each block, owned by one session."""

from collections.abc import Iterable, Iterator

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.core.text import escaped, one_line
from session_memory.core.time import format_time
from session_memory.store.database import Database, Row
from session_memory.store.index import WordIndex, doc_of, text_class_of
from session_memory.store.name_table import NameTable


class EventRow(msgspec.Struct, gc=False):
    """An event on its way into the store, with words where the table holds numbers.

    An empty ``summary`` stands for the ``path``, which would say the same. ``words`` is all there
    is to read, for the index.
    """

    seq: int
    ts: int | None
    kind: str
    marks: str
    role: str
    tool: str | None
    native_kind: str
    model: str | None
    parent_seq: int | None
    branch: str | None
    summary: str
    source_id: int
    place: int
    length: int
    record: bytes
    block: int
    call_id: str | None
    response_id: str | None
    path: str | None
    tokens: int
    is_sidechain: bool
    is_error: bool
    duration_ms: int | None
    exit_code: int | None
    words: str = ""


_COLUMNS = ("id", "session_id", *(name for name in EventRow.__struct_fields__ if name != "words"))
_OF_SESSION = """
    select e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.native_kind, e.model, e.parent_seq,
           e.branch, e.summary, o.uid, e.place, e.length, e.record, e.block, e.call_id,
           e.response_id,
           e.path, e.tokens, e.is_sidechain, e.is_error, e.duration_ms, e.exit_code
    from events e join sources o on o.id = e.source_id
    where e.session_id = :session order by e.seq
"""
_AT = _OF_SESSION.replace("order by e.seq", "and e.seq = :seq")
_INHERITED = """
    select e.seq, e.ts, e.kind, e.marks, e.role, e.tool, e.native_kind, e.model, e.parent_seq,
           e.branch, e.summary, o.uid, e.place, e.length, e.record, e.block, e.call_id,
           e.response_id,
           e.path, e.tokens, e.is_sidechain, e.is_error, e.duration_ms, e.exit_code,
           s.uid, c.seq
    from copies c
    join events e on e.record = c.record and e.block = c.block
    join sources o on o.id = e.source_id
    join sessions s on s.id = e.session_id
    where c.session_id = :session and c.seq is not null and e.session_id <> :session
    order by c.seq
"""
_PAGE = f"{_OF_SESSION.replace('order by', 'and e.seq > :after order by')} limit {{most}}"
_CALLS_PAGE = _PAGE.replace("and e.seq >", "and e.call_id is not null and e.seq >")
_INHERITED_PAGE = f"""
    {_INHERITED.replace("order by", "and c.seq > :after order by")} limit {{most}}
"""
_INHERITS = """
    select s.uid, count(*) from copies c
    join events e on e.record = c.record and e.block = c.block
    join sessions s on s.id = e.session_id
    where c.session_id = :session and c.seq is not null and e.session_id <> :session
    group by s.uid order by s.uid
"""
_CALLS = """
    select seq, ts, kind, marks, tool, path, call_id, is_error from events
    where session_id = :session and call_id is not null order by seq
"""
_BRANCHES = """
    select branch, count(*), min(seq), sum(tokens) from events
    where session_id = :session and branch is not null group by branch order by min(seq)
"""
_BY_RECORD = "select distinct record, session_id from events where record in ({keys})"
_SEQ_OF = """
    select max(seq) from (
        select seq from events where record = :record and session_id = :session
        union all
        select seq from copies where record = :record and session_id = :session
    ) held
"""
_CHAIN = """
    select seq, parent_seq, kind, marks, record, block, branch from events
    where session_id = :session order by seq
"""
_BRANCH_OF = "select branch from events where session_id = :session and seq = :seq"
_SET_BRANCH = "update events set branch = :branch where session_id = :session and seq = :seq"
_AMEND = "update events set {column} = :value where session_id = :session and seq = :seq"
_AMENDABLE = frozenset(
    ("tokens", "marks", "kind", "response_id", "length", "summary")
    + ("is_error", "exit_code", "duration_ms")
)
_NAMED = frozenset(("marks", "kind"))
_UNDO = """
    update events set branch = :branch
    where session_id = :session and seq >= :first and seq <= :last and branch is null
"""
# The session's number is put in as it is: the list of calls takes all parameters.
_RESULTS_OF = """
    select seq, kind, marks, is_error, exit_code, call_id from events
    where session_id = {session} and call_id in ({{keys}}) order by seq
"""
_PROMPTS_OF = """
    select seq, parent_seq, kind, marks, record, block from events
    where session_id = :session and branch is null order by seq
"""
_COUNT = "select count(*) from events"
_COUNT_OF = "select count(*) from events where session_id = :session"
_DOCS = "select id, kind, role, call_id from events where session_id = :session"
_DROP = "delete from events where session_id = :session"
_COPY_COLUMNS = ("session_id", "seq", "record", "block", "source_id", "place", "length")


def record_key(native_id: str) -> bytes:
    """A record's identity as stored: the 16 bytes of a UUID, or ``=`` and the id as it is.

    What has no id of its own is known by its place, see `place_key`.
    """
    if len(native_id) == 36 and native_id[8] == native_id[13] == native_id[18] == "-":
        digits = native_id.replace("-", "")
        try:
            key = bytes.fromhex(digits)
        except ValueError:
            key = b""
        # Only a UUID that reads back letter for letter may be stored as its bytes.
        if key.hex() == digits and len(key) == 16 and native_id[23] == "-":
            return key
    return _prefixed(b"=", native_id)


def place_key(place: str) -> bytes:
    """The identity of a record that has no id: where it stands, behind an ``@``."""
    return _prefixed(b"@", place)


def _prefixed(prefix: bytes, text: str) -> bytes:
    key = prefix + escaped(text).encode()
    return key if len(key) != 16 else prefix + key


def uuid_text(key: bytes) -> str:
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def identity_of(key: bytes) -> str:
    """The identity that `record_key` or `place_key` stored."""
    return uuid_text(key) if len(key) == 16 else key.lstrip(key[:1]).decode()


def event_uid(record: bytes, block: int) -> str:
    """An event's identity inside its session, for ever."""
    return f"{identity_of(record)}:{block}"


def _escape(row: EventRow) -> None:
    for name in ("summary", "call_id", "response_id", "path"):
        value = getattr(row, name)
        if value is not None:
            setattr(row, name, escaped(value))


class CallRow(msgspec.Struct, gc=False, frozen=True):
    """A call or its result; ``kinds`` are its kind and its marks."""

    seq: int
    ts: int | None
    kinds: tuple[str, ...]
    tool: str | None
    path: str | None
    call_id: str
    is_error: bool


class Events:
    def __init__(self, db: Database, names: NameTable, index: WordIndex) -> None:
        self._db = db
        self._names = names
        self._index = index
        self.gained = 0
        """How many more there are by what was written through this object."""

    def add(self, session_id: int, rows: "list[EventRow]") -> None:
        for row in rows:
            call, response, path = row.call_id, row.response_id, row.path
            if (
                "\0" in row.summary
                or (call is not None and "\0" in call)
                or (response is not None and "\0" in response)
                or (path is not None and "\0" in path)
            ):
                _escape(row)
        try:
            self._insert(session_id, rows)
        except UnicodeEncodeError:
            for row in rows:
                _escape(row)
            self._insert(session_id, rows)
        self.gained += len(rows)

    def drop(self, session_id: int) -> None:
        where = {"session": session_id}
        self.gained -= int(self._db.value(_COUNT_OF, where))
        self._index.drop(self.docs(session_id))
        self._db.execute(_DROP, where)

    def docs(self, session_id: int) -> list[int]:
        """The session's events as the index knows them."""
        word = self._names.word
        return [
            doc_of(event_id, text_class_of(word(kind) or "", word(role) or "", call_id))
            for event_id, kind, role, call_id in self._db.all(_DOCS, {"session": session_id})
        ]

    def docs_by_record(self, session_id: int) -> dict[tuple[bytes, int], int]:
        """``(record, block)`` to the session's events as the index knows them."""
        word = self._names.word
        return {
            (bytes(record), block): doc_of(
                event_id, text_class_of(word(kind) or "", word(role) or "", call_id)
            )
            for event_id, kind, role, call_id, record, block in self._db.all(
                _DOCS.replace("call_id from", "call_id, record, block from"),
                {"session": session_id},
            )
        }

    def reword(self, session_id: int, seq: int, text: str) -> None:
        """An event says more than it did when it was indexed."""
        word, where = self._names.word, {"session": session_id, "seq": seq}
        for event_id, kind, role, call_id in self._db.all(f"{_DOCS} and seq = :seq", where):
            text_class = text_class_of(word(kind) or "", word(role) or "", call_id)
            self._index.replace(doc_of(event_id, text_class), text)

    def _insert(self, session_id: int, rows: "list[EventRow]") -> None:
        number = self._names.numbers
        first = self._db.next_ids("events", len(rows)) if rows else 0
        self._db.insert(
            "events",
            _COLUMNS,
            [
                (
                    event_id,
                    session_id,
                    row.seq,
                    row.ts,
                    number[row.kind],
                    number[row.marks],
                    number[row.role],
                    number[row.tool],
                    number[row.native_kind],
                    number[row.model],
                    row.parent_seq,
                    row.branch,
                    row.summary,
                    row.source_id,
                    row.place,
                    row.length,
                    row.record,
                    row.block,
                    row.call_id,
                    row.response_id,
                    row.path,
                    row.tokens,
                    row.is_sidechain,
                    row.is_error,
                    row.duration_ms,
                    row.exit_code,
                )
                for event_id, row in enumerate(rows, first)
            ],
        )
        self._index.add(
            [
                (doc_of(event_id, text_class_of(row.kind, row.role, row.call_id)), row.words)
                for event_id, row in enumerate(rows, first)
            ]
        )

    def add_copies(self, session_id: int, rows: "list[EventRow]", *, placed: bool) -> None:
        """Records that are stored already; ``placed`` when they have a seq in this session."""
        self._db.insert(
            "copies",
            _COPY_COLUMNS,
            [
                (
                    session_id,
                    row.seq if placed else None,
                    row.record,
                    row.block,
                    row.source_id,
                    row.place,
                    row.length,
                )
                for row in rows
            ],
        )

    def amend(self, session_id: int, changes: dict[int, dict[str, object]]) -> None:
        """Set columns of earlier events, by seq."""
        for seq, columns in changes.items():
            for column, value in columns.items():
                if column not in _AMENDABLE:
                    raise LookupError(column)
                if column in _NAMED:
                    value = self._names.numbers[str(value)]
                elif isinstance(value, str):
                    value = escaped(value)
                elif isinstance(value, bool):
                    value = int(value)
                where = {"session": session_id, "seq": seq, "value": value}
                self._db.execute(_AMEND.format(column=column), where)

    def undo(self, session_id: int, undone: list[tuple[int, int, str]]) -> None:
        """Mark stretches, ``(first, last, branch)``, that a person took back."""
        for first, last, branch in undone:
            where = {"session": session_id, "first": first, "last": last, "branch": branch}
            self._db.execute(_UNDO, where)

    def results_of(
        self, session_id: int, call_ids: Iterable[str]
    ) -> dict[str, tuple[int, str, str, bool, int | None]]:
        """``(seq, kind, marks, is_error, exit_code)`` of the last stored result of each call.

        Calls have no index of their own: all of a batch are looked for in one go.
        """
        word, found = self._names.word, {}
        wanted = {escaped(call_id): call_id for call_id in call_ids}
        sql = _RESULTS_OF.format(session=int(session_id))
        for seq, kind, marks, is_error, exit_code, call in self._db.matching(sql, list(wanted)):
            kinds = (word(kind) or "", *(word(marks) or "").split(","))
            if "tool_result" in kinds:
                told = seq, kinds[0], word(marks) or "", bool(is_error), exit_code
                found[wanted[call]] = told
        return found

    def prompts_of(self, session_id: int) -> list[tuple[int, int | None, str]]:
        """``(seq, parent_seq, event_uid)`` of what a person said and did not take back."""
        word = self._names.word
        return [
            (seq, parent, event_uid(record, block))
            for seq, parent, kind, marks, record, block in self._db.all(
                _PROMPTS_OF, {"session": session_id}
            )
            if "user_msg" in (word(kind), *(word(marks) or "").split(","))
        ]

    def holders(self, records: list[bytes]) -> list[tuple[bytes, int]]:
        """``(record, session_id)`` of those records that are stored already, with their owner."""
        return [(row[0], row[1]) for row in self._db.matching(_BY_RECORD, records)]

    def seq_of(self, session_id: int, record: bytes) -> int | None:
        """The seq of the last event of a record, own or inherited."""
        seq = self._db.value(_SEQ_OF, {"session": session_id, "record": record})
        return None if seq is None else int(seq)

    def chain(self, session_id: int) -> list[tuple[int, int | None, bool, str, str | None]]:
        """``(seq, parent_seq, is_prompt, event_uid, branch)`` of the session's events, in order."""
        word = self._names.word
        return [
            (
                seq,
                parent,
                "user_msg" in (word(kind), *(word(marks) or "").split(",")),
                event_uid(record, block),
                branch,
            )
            for seq, parent, kind, marks, record, block, branch in self._db.all(
                _CHAIN, {"session": session_id}
            )
        ]

    def tree(self, session_id: int) -> list[tuple[int, int | None, bool, str, str | None]]:
        """``(seq, parent_seq, is_leaf, event_uid, branch)``: nothing hangs on what has no id."""
        return [
            (
                seq,
                parent,
                len(record) != 16 and record.startswith(b"@"),
                event_uid(record, block),
                branch,
            )
            for seq, parent, _, _, record, block, branch in self._db.all(
                _CHAIN, {"session": session_id}
            )
        ]

    def branch_of(self, session_id: int, seq: int) -> str | None:
        """The abandoned branch an event lies on, if it does."""
        branch = self._db.value(_BRANCH_OF, {"session": session_id, "seq": seq})
        return None if branch is None else str(branch)

    def set_branches(self, session_id: int, branches: dict[int, str | None]) -> None:
        rows = ({"session": session_id, "seq": s, "branch": b} for s, b in branches.items())
        self._db.update_many(_SET_BRANCH, rows)

    def count(self) -> int:
        return int(self._db.value(_COUNT))

    def of(self, session_id: int, uid: str) -> list[SessionEvent]:
        """The session's own events in order."""
        rows = self._db.all(_OF_SESSION, {"session": session_id})
        return [self._event(uid, row) for row in rows]

    def at(self, session_id: int, uid: str, seq: int) -> SessionEvent | None:
        """One event of the session's own."""
        row = self._db.one(_AT, {"session": session_id, "seq": seq})
        return None if row is None else self._event(uid, row)

    def inherited(self, session_id: int) -> list[tuple[int, SessionEvent]]:
        """``(seq here, the event as its owner holds it)`` for what the session has of others."""
        rows = self._db.all(_INHERITED, {"session": session_id})
        return [(row[25], self._event(row[24], row)) for row in rows]

    def each_of(
        self, session_id: int, uid: str, most: int = 500, *, calls_only: bool = False
    ) -> Iterator[SessionEvent]:
        """The same as `of`, a page at a time: memory stays flat, and whoever reads slowly holds
        no transaction open. ``calls_only``: calls and their results."""
        where = {"session": session_id, "after": -1}
        page = (_CALLS_PAGE if calls_only else _PAGE).format(most=int(most))
        while rows := self._db.all(page, where):
            yield from (self._event(uid, row) for row in rows)
            where["after"] = rows[-1][0]

    def each_inherited(
        self, session_id: int, most: int = 500
    ) -> Iterator[tuple[int, SessionEvent]]:
        """The same as `inherited`, a page at a time."""
        where = {"session": session_id, "after": -1}
        while rows := self._db.all(_INHERITED_PAGE.format(most=int(most)), where):
            yield from ((row[25], self._event(row[24], row)) for row in rows)
            where["after"] = rows[-1][25]

    def inherits(self, session_id: int) -> dict[str, int]:
        """How many events the session holds of which others."""
        return {row[0]: int(row[1]) for row in self._db.all(_INHERITS, {"session": session_id})}

    def calls(self, session_id: int) -> list[CallRow]:
        """The session's own calls and results, with no more than a list of files needs."""
        word = self._names.word
        return [
            CallRow(seq, ts, (word(kind) or "", *(word(marks) or "").split(",")), *rest)
            for seq, ts, kind, marks, *rest in (
                (*row[:4], word(row[4]), *row[5:7], bool(row[7]))
                for row in self._db.all(_CALLS, {"session": session_id})
            )
        ]

    def branches(self, session_id: int) -> list[tuple[str, int, int, int]]:
        """``(branch, events, first seq, tokens)`` of what was abandoned."""
        rows = self._db.all(_BRANCHES, {"session": session_id})
        return [(row[0], int(row[1]), int(row[2]), int(row[3])) for row in rows]

    def _event(self, uid: str, row: Row) -> SessionEvent:
        word = self._names.word
        (seq, ts, kind, marks, role, tool, native_kind, model, parent, branch, summary) = row[:11]
        (source, place, length, record, block, call, response, path, tokens) = row[11:20]
        (sidechain, error, duration, exit_code) = row[20:24]
        identity = identity_of(record)
        return SessionEvent(
            session_uid=uid,
            seq=seq,
            ts=None if ts is None else format_time(ts),
            kind=word(kind) or "",
            parent_seq=parent,
            role=word(role),
            tool=word(tool),
            summary=summary or one_line(path or ""),
            payload_ref=f"{source}@{place}+{length}#{block}",
            tokens=tokens,
            is_sidechain=bool(sidechain),
            event_uid=event_uid(record, block),
            marks=tuple(filter(None, (word(marks) or "").split(","))),
            call_id=call,
            response_id=response,
            is_error=bool(error),
            native_id=None if record[:1] == b"@" and len(record) != 16 else identity,
            native_kind=word(native_kind),
            model=word(model),
            duration_ms=duration,
            exit_code=exit_code,
            path=path,
            branch=branch,
        )
