"""Add, change and delete events, and update the search index with them."""

from collections.abc import Iterable

from session_memory.core.text import escaped
from session_memory.store.database import Database
from session_memory.store.event_rows import COPY_COLUMNS, EVENT_COLUMNS, CopyRow, EventRow
from session_memory.store.index import WordIndex, doc_of, text_class_of
from session_memory.store.name_table import NameTable

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
_SET_BRANCH = "update events set branch = :branch where session_id = :session and seq = :seq"
_COUNT_OF = "select count(*) from events where session_id = :session"
_DOCS = "select id, kind, role, call_id from events where session_id = :session"
_DOCS_BY_PLACE = """
    select id, kind, role, call_id, source_id, place, block from events where session_id = :session
"""
_DROP = "delete from events where session_id = :session"


class EventWriting:
    """Changes the table of events. ``gained`` counts added events minus deleted ones."""

    def __init__(self, db: Database, names: NameTable, index: WordIndex) -> None:
        self._db = db
        self._names = names
        self._index = index
        self.gained = 0

    def add(self, session_id: int, rows: list[EventRow]) -> None:
        for row in rows:
            if row.has_nul():
                row.escape()
        try:
            self._insert(session_id, rows)
        except UnicodeEncodeError:
            # A text holds half a surrogate pair. That is too rare to look for it in every row.
            for row in rows:
                row.escape()
            self._insert(session_id, rows)
        self.gained += len(rows)

    def _insert(self, session_id: int, rows: list[EventRow]) -> None:
        number = self._names.numbers
        first = self._db.next_ids("events", len(rows)) if rows else 0
        self._db.insert(
            "events",
            ("id", "session_id", *EVENT_COLUMNS),
            [
                # In the order of EVENT_COLUMNS.
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
                (
                    doc_of(event_id, text_class_of(row.kind, row.role, row.call_id)),
                    row.prepared or row.words,
                )
                for event_id, row in enumerate(rows, first)
            ]
        )

    def add_copies(self, session_id: int, rows: list[CopyRow]) -> None:
        """Store other places of records that are stored already."""
        self._db.insert(
            "copies",
            ("session_id", *COPY_COLUMNS),
            [
                (session_id, row.seq, row.record, row.block, row.source_id, row.place, row.length)
                for row in rows
            ],
        )

    def amend(self, session_id: int, changes: dict[int, dict[str, object]]) -> None:
        """Set columns of stored events. The mapping is from seq to column to new value."""
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
        """Mark the events in each range ``(first seq, last seq, branch)`` as on that abandoned
        branch."""
        for first, last, branch in undone:
            where = {"session": session_id, "first": first, "last": last, "branch": branch}
            self._db.execute(_UNDO, where)

    def set_branches(self, session_id: int, branches: dict[int, str | None]) -> None:
        """Set the abandoned branch of events, by seq; None: the event is on the path."""
        rows = ({"session": session_id, "seq": s, "branch": b} for s, b in branches.items())
        self._db.update_many(_SET_BRANCH, rows)

    def drop(self, session_id: int) -> None:
        """Delete the events of a session, from the index too."""
        where = {"session": session_id}
        self.gained -= int(self._db.value(_COUNT_OF, where))
        self._index.drop(self.docs(session_id))
        self._db.execute(_DROP, where)

    # ------------------------------------------------------------ the search index

    def docs(self, session_id: int) -> list[int]:
        """The numbers of the session's events in the search index."""
        rows = self._db.all(_DOCS, {"session": session_id})
        return [self._doc(*row) for row in rows]

    def docs_by_place(self, session_id: int) -> dict[tuple[int, int, int], int]:
        """``(source_id, place, block)`` of each event → its number in the search index."""
        rows = self._db.all(_DOCS_BY_PLACE, {"session": session_id})
        return {(source, place, block): self._doc(*row) for *row, source, place, block in rows}

    def reword(self, session_id: int, seq: int, text: str) -> None:
        """Replace the indexed text of an event, because the text has grown."""
        where = {"session": session_id, "seq": seq}
        for row in self._db.all(f"{_DOCS} and seq = :seq", where):
            self._index.replace(self._doc(*row), text)

    def unindex(self, session_id: int, seqs: Iterable[int]) -> None:
        """Remove events from the index."""
        for seq in sorted(seqs):
            rows = self._db.all(f"{_DOCS} and seq = :seq", {"session": session_id, "seq": seq})
            self._index.drop([self._doc(*row) for row in rows])

    def index(self, session_id: int, seq: int, text: str) -> None:
        """Index an event that is not in the index."""
        where = {"session": session_id, "seq": seq}
        rows = self._db.all(f"{_DOCS} and seq = :seq", where)
        self._index.add([(self._doc(*row), text) for row in rows])

    def _doc(self, event_id: int, kind: int, role: int, call_id: str | None) -> int:
        word = self._names.word
        return doc_of(event_id, text_class_of(word(kind) or "", word(role) or "", call_id))
