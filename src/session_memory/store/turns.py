"""Turns as their agent logged them: their usage includes their subagents.

The table ``usage`` holds what a turn used itself. It is computed from the rows here, and computed
again when a subagent's session is added, removed, or gets another parent.
"""

from session_memory.store.database import Database, Row
from session_memory.store.usage import BUCKETS

_BUCKETS = ", ".join(BUCKETS)
_LOGGED_BUCKETS = ", ".join(f"t.{name}" for name in BUCKETS)
_TOTALS = ("session_id", "usage_key", "usage_id", *BUCKETS)
_CHILDREN = ("session_id", "usage_key", "usage_id", "place", "child_uid")
_OUTPUT = """
    select output_tokens from turn_totals
    where session_id = :session and usage_key = :key and usage_id = :id
"""
_FORGET = tuple(
    f"delete from {table} where session_id = :session and usage_key = :key and usage_id = :id"
    for table in ("turn_totals", "turn_children")
)
_OF_SESSION = f"""
    select u.id, u.owner_id, u.model, u.seq, t.usage_key, t.usage_id, {_LOGGED_BUCKETS},
        {", ".join(f"u.{name}" for name in BUCKETS)}
    from turn_totals t
    join usage u on u.usage_key = t.usage_key and u.usage_id = t.usage_id
        and u.session_id = t.session_id
    where t.session_id = :session order by u.id
"""
_CHILDREN_OF = """
    select c.child_uid from turn_children c
    where c.session_id = :session and c.usage_key = :key and c.usage_id = :id order by c.place
"""
_SPENT = f"""
    select u.model, {", ".join(f"sum(t.{name})" for name in BUCKETS)}
    from sessions s
    join turn_totals t on t.session_id = s.id
    join usage u on u.usage_key = t.usage_key and u.usage_id = t.usage_id
        and u.session_id = t.session_id
    where s.uid = :uid and u.owner_id = s.id
    group by u.model
"""
_SPENT_OTHERWISE = f"""
    select {", ".join(f"coalesce(sum(u.{name}), 0)" for name in BUCKETS)} from usage u
    where u.session_id = :session and u.owner_id = :session and not exists (
        select 1 from turn_totals t where t.session_id = u.session_id
            and t.usage_key = u.usage_key and t.usage_id = u.usage_id
    )
"""
_CONTAINING = """
    select distinct c.session_id from turn_children c
    join sessions s on s.uid = c.child_uid where s.id = :session
"""
_SET_OWN = f"""
    update usage set {", ".join(f"{name} = :{name}" for name in BUCKETS)} where id = :id
"""
_SET_TOKENS = """
    update events set tokens = :tokens
    where session_id = :session and seq = (
        select seq from events
        where session_id = :session and seq <= :seq and response_id = :response
        order by seq desc limit 1
    )
"""


class LoggedTurns:
    def __init__(self, db: Database) -> None:
        self._db = db

    def note(
        self, session_id: int, key: int, usage_id: str, figures: Row, children: list[str]
    ) -> None:
        """Store a logged turn. If it was logged before, the record with more output wins."""
        place = {"session": session_id, "key": key, "id": usage_id}
        known = self._db.value(_OUTPUT, place)
        if known is not None and known > figures[1]:
            return
        if known is not None:
            for statement in _FORGET:
                self._db.execute(statement, place)
        self._db.insert("turn_totals", _TOTALS, [(session_id, key, usage_id, *figures)])
        self._db.insert(
            "turn_children",
            _CHILDREN,
            [(session_id, key, usage_id, place, uid) for place, uid in enumerate(children)],
        )

    def of(self, session_id: int) -> list[Row]:
        """``(usage row, owner, model, seq, key, usage_id, *logged, *stored)`` of each turn."""
        return self._db.all(_OF_SESSION, {"session": session_id})

    def children(self, session_id: int, key: int, usage_id: str) -> list[str]:
        """The subagents whose tokens are in those logged for a turn, in the order they ended."""
        rows = self._db.all(_CHILDREN_OF, {"session": session_id, "key": key, "id": usage_id})
        return [uid for (uid,) in rows]

    def spent(self, uid: str) -> dict[int, tuple[int, ...]]:
        """The tokens of a session's turns, subagents included, by the number of a model's name."""
        rows = self._db.all(_SPENT, {"uid": uid})
        return {model: tuple(map(int, figures)) for model, *figures in rows}

    def spent_otherwise(self, session_id: int) -> tuple[int, ...]:
        """The usage that counts for a session, without that of its logged turns."""
        (row,) = self._db.all(_SPENT_OTHERWISE, {"session": session_id})
        return tuple(map(int, row))

    def containing(self, session_id: int) -> list[int]:
        """The sessions with a turn whose logged tokens include those of this session."""
        return [other for (other,) in self._db.all(_CONTAINING, {"session": session_id})]

    def set_own(self, usage_row_id: int, figures: Row) -> None:
        """Set what a turn used itself."""
        values = dict(zip(BUCKETS, figures, strict=True))
        self._db.execute(_SET_OWN, {**values, "id": usage_row_id})

    def set_tokens(self, session_id: int, seq: int, usage_id: str, tokens: int) -> None:
        """Set the output tokens on the turn's last answer, if the session owns that event."""
        place = {"session": session_id, "seq": seq, "response": usage_id}
        self._db.execute(_SET_TOKENS, {**place, "tokens": tokens})
