"""Look-ups in the table of events that deriving needs: holders, parents, prompts, branches."""

from collections.abc import Iterable

from session_memory.core.text import escaped
from session_memory.store.database import Database
from session_memory.store.name_table import NameTable
from session_memory.store.record_keys import event_uid, is_place, is_variant, without_variant

_BY_RECORD = "select distinct record, session_id from events where record in ({keys})"
_RECORDS_OF = "select distinct record from events where session_id = :session"
_HAS_INHERITED = """
    select 1 from copies where session_id = :session and seq is not null limit 1
"""
# The session's id is filled into the text of these two, because the list of records takes all
# parameters.
_HELD_BY_OTHERS = """
    select distinct e.record from events e
    where e.session_id = {session} and e.record in ({{keys}}) and exists (
        select 1 from copies c
        where c.record = e.record and c.session_id <> {session} and c.seq is not null
    )
"""
_INHERITS_ANY = """
    select 1 from copies
    where session_id = {session} and seq is not null and record in ({{keys}}) limit 1
"""
_ARE_ANY = """
    select 1 from events where session_id = :session
    union all
    select 1 from copies where session_id = :session limit 1
"""
_ARE_INHERITED = """
    select 1 from events e join copies c on c.record = e.record
    where e.session_id = :session and c.seq is not null and c.session_id <> :session limit 1
"""
_OWN = """
    select e.record, e.ts from events e
    where e.session_id = :session and not exists (
        select 1 from copies c
        where c.record = e.record and c.session_id <> e.session_id and c.seq is not null
    ) order by e.seq
"""
_SEQ_OF = """
    select max(seq) from (
        select seq from events where record = :record and session_id = :session
        union all
        select seq from copies where record = :record and session_id = :session
    ) held
"""
_HELD_RECORDS = """
    select record, max(seq) from (
        select record, seq from events where session_id = :session
        union all
        select record, seq from copies where session_id = :session and seq is not null
    ) held
    where length(record) > 16 group by record order by max(seq) desc
"""
_PLACES = """
    select e.record, o.uid, e.place, e.length from events e join sources o on o.id = e.source_id
    where e.session_id = {session} and e.record in ({{keys}}) and not exists (
        select 1 from events f
        where f.session_id = e.session_id and f.record = e.record and f.block < e.block
    )
"""
_LAST_SEQ = """
    select max(seq) from (
        select max(seq) as seq from events where session_id = :session
        union all
        select max(seq) from copies where session_id = :session
    ) held
"""
_CHAIN = """
    select seq, parent_seq, kind, marks, record, block, branch from events
    where session_id = :session order by seq
"""
_BRANCH_OF = "select branch from events where session_id = :session and seq = :seq"
# The session's id is filled into the text, because the list of calls takes all parameters.
_RESULTS_OF = """
    select seq, kind, marks, is_error, exit_code, call_id from events
    where session_id = {session} and call_id in ({{keys}}) order by seq
"""
_PROMPTS_OF = """
    select seq, parent_seq, kind, marks, record, block from events
    where session_id = :session and branch is null order by seq
"""

_PLACE = """
    select seq from events where record = :record and session_id = :session and block = :block
    union all
    select seq from copies
    where record = :record and session_id = :session and block = :block and seq is not null
    order by 1
"""
_CALLS_AMONG = (
    """
    select distinct call_id from events where session_id = {session} and call_id in ({{keys}})
    """,
    """
    select distinct e.call_id from copies c
    join events e on e.record = c.record and e.block = c.block
    where c.session_id = {session} and c.seq is not null and e.call_id in ({{keys}})
    """,
)


class EventLookups:
    """Questions about stored events that read only a few columns."""

    _db: Database
    _names: NameTable

    def holders(self, records: list[bytes]) -> list[tuple[bytes, int]]:
        """``(record, id of the session that owns it)`` for those ``records`` that are stored."""
        return [(row[0], row[1]) for row in self._db.matching(_BY_RECORD, records)]

    def records_of(self, session_id: int) -> set[bytes]:
        """The keys of all records that the session owns."""
        return {bytes(row[0]) for row in self._db.all(_RECORDS_OF, {"session": session_id})}

    def has_inherited(self, session_id: int) -> bool:
        """Whether the session holds events that another session owns."""
        return self._db.one(_HAS_INHERITED, {"session": session_id}) is not None

    def held_by_others(self, session_id: int, records: list[bytes]) -> set[bytes]:
        """Those of the session's records that other sessions inherit."""
        sql = _HELD_BY_OTHERS.format(session=int(session_id))
        return {bytes(row[0]) for row in self._db.matching(sql, records)}

    def inherits_any(self, session_id: int, records: list[bytes]) -> bool:
        """Whether the session inherits one of the records."""
        sql = _INHERITS_ANY.format(session=int(session_id))
        return next(self._db.matching(sql, records), None) is not None

    def are_any(self, session_id: int) -> bool:
        """Whether the session has events, own or inherited ones."""
        return self._db.one(_ARE_ANY, {"session": session_id}) is not None

    def are_inherited(self, session_id: int) -> bool:
        """Whether another session inherits some of the session's events."""
        return self._db.one(_ARE_INHERITED, {"session": session_id}) is not None

    def first_own_time(self, session_id: int) -> int | None:
        """The time of the session's first record with a native id that no other session holds."""
        own = self._db.each(_OWN, {"session": session_id})
        return next((ts for record, ts in own if not is_place(bytes(record))), None)

    def seq_of(self, session_id: int, record: bytes) -> int | None:
        """The seq of the last event of a record that the session owns or inherits."""
        seq = self._db.value(_SEQ_OF, {"session": session_id, "record": record})
        return None if seq is None else int(seq)

    def variants_of(self, session_id: int) -> dict[bytes, int]:
        """Find the native ids that the session holds with a second content (a variant).

        Returns, for the key of each such id, the last seq of the variant that came first.
        """
        rows = self._db.all(_HELD_RECORDS, {"session": session_id})
        return {without_variant(key): seq for key, seq in rows if is_variant(key)}

    def places(self, session_id: int, records: list[bytes]) -> list[tuple[bytes, str, int, int]]:
        """``(record, source uid, place, length)``: where the session's own records are stored."""
        sql = _PLACES.format(session=int(session_id))
        return [(row[0], row[1], row[2], row[3]) for row in self._db.matching(sql, records)]

    def place_of(self, session_id: int, record: bytes, block: int) -> int | None:
        """The seq of an event in a session that owns or inherits it."""
        where = {"session": session_id, "record": record, "block": block}
        row = self._db.one(_PLACE, where)
        return None if row is None else int(row[0])

    def last_seq(self, session_id: int) -> int:
        """The highest seq of an event that the session owns or inherits; -1 without events."""
        seq = self._db.value(_LAST_SEQ, {"session": session_id})
        return -1 if seq is None else int(seq)

    def results_of(
        self, session_id: int, call_ids: Iterable[str]
    ) -> dict[str, tuple[int, str, str, bool, int | None]]:
        """``(seq, kind, marks, is_error, exit_code)`` of the last stored result of each call.

        There is no index on calls, so all calls of a batch are looked up with one statement.
        """
        word, results = self._names.word, {}
        stored_ids = {escaped(call_id): call_id for call_id in call_ids}
        sql = _RESULTS_OF.format(session=int(session_id))
        rows = self._db.matching(sql, list(stored_ids))
        for seq, kind, marks, is_error, exit_code, call in rows:
            if self._is("tool_result", kind, marks):
                result = seq, word(kind) or "", word(marks) or "", bool(is_error), exit_code
                results[stored_ids[call]] = result
        return results

    def prompts_of(self, session_id: int) -> list[tuple[int, int | None, str]]:
        """``(seq, parent_seq, event_uid)`` of the prompts that are not on an abandoned branch."""
        return [
            (seq, parent, event_uid(record, block))
            for seq, parent, kind, marks, record, block in self._db.all(
                _PROMPTS_OF, {"session": session_id}
            )
            if self._is("user_msg", kind, marks)
        ]

    def chain(self, session_id: int) -> list[tuple[int, int | None, bool, str, str | None]]:
        """``(seq, parent_seq, is_prompt, event_uid, branch)`` of the session's events, in order."""
        return [
            (seq, parent, self._is("user_msg", kind, marks), event_uid(record, block), branch)
            for seq, parent, kind, marks, record, block, branch in self._db.all(
                _CHAIN, {"session": session_id}
            )
        ]

    def tree(self, session_id: int) -> list[tuple[int, int | None, bool, str, str | None]]:
        """``(seq, parent_seq, is_leaf, event_uid, branch)`` of the session's events, in order.

        A record without a native id is a leaf: no other record can name it as its parent.
        """
        return [
            (seq, parent, is_place(record), event_uid(record, block), branch)
            for seq, parent, _, _, record, block, branch in self._db.all(
                _CHAIN, {"session": session_id}
            )
        ]

    def branch_of(self, session_id: int, seq: int) -> str | None:
        """The abandoned branch that an event belongs to. None if it is on no abandoned branch."""
        branch = self._db.value(_BRANCH_OF, {"session": session_id, "seq": seq})
        return None if branch is None else str(branch)

    def _is(self, kind_name: str, kind: int, marks: int) -> bool:
        word = self._names.word
        return kind_name in (word(kind), *(word(marks) or "").split(","))

    def calls_among(self, session_id: int, call_ids: Iterable[str]) -> set[str]:
        """Those of ``call_ids`` that occur in events which the session owns or inherits."""
        stored_ids = {escaped(call_id): call_id for call_id in call_ids}
        return {
            stored_ids[row[0]]
            for sql in _CALLS_AMONG
            for row in self._db.matching(sql.format(session=int(session_id)), list(stored_ids))
        }
