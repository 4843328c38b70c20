"""Pages of sessions: filters, order and limit are SQL, so a short list loads only what it shows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from session_memory.core.schema import Session
from session_memory.store.database import Database
from session_memory.store.figures import listed
from session_memory.store.session_columns import HOST, SOURCE_BYTES
from session_memory.store.sessions import SHOWN, to_session

# The index `sessions_by_end` has this order.
_NEWEST = "s.ended_at desc nulls last, s.uid"
_TOKENS = "s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens"
ORDERS = {
    "newest": _NEWEST,
    "oldest": f"s.started_at nulls last, {_NEWEST}",
    "tokens": f"{_TOKENS} desc, {_NEWEST}",
    "output": f"s.output_tokens desc, {_NEWEST}",
    "turns": f"s.turns desc, {_NEWEST}",
    "time": f"s.wall_clock_ms desc, {_NEWEST}",
    "size": f"{SOURCE_BYTES} desc, {_NEWEST}",
}
_COLUMNS = {
    "flavors": "s.flavor",
    "hosts": f"coalesce({HOST}, '')",
    "repos": "s.repo",
    "domains": "s.domain",
    "branches": "s.git_branch",
    "models": "s.model",
}
_VALUES = {
    "hosts": "select distinct host from sources where host <> ''",
    **{
        name: f"select distinct {column} from sessions s where {column} is not null"
        for name, column in _COLUMNS.items()
        if name != "hosts"
    },
}
_ANY = "1 = 1"
_COUNT = "select count(*) from sessions s"
_CHILDREN = """
    select parent_uid, count(*) from sessions where parent_uid in ({keys}) group by parent_uid
"""
# A folded subagent is not listed. A subagent is folded if its parent is listed. If its parent is
# not in the store, only the newest of its siblings is listed. Two sessions that claim to be each
# other's parent are listed.
# The range of `parent_uid` lets a database read only children. `c.uid || ''` keeps it from finding
# `c` by its uid: few subagents have children of their own, so the index of parents is faster.
_FOLDED = """(
    s.relation = 'subagent' and s.parent_uid > '' and (
        exists (
            select 1 from sessions p where p.uid = s.parent_uid and {parent_matches}
        ) and not exists (
            select 1 from sessions c where c.parent_uid = s.uid and c.uid || '' = s.parent_uid
        )
        or not exists (select 1 from sessions p where p.uid = s.parent_uid) and exists (
            select 1 from sessions b where b.parent_uid = s.parent_uid
                and b.relation = 'subagent' and {sibling_matches}
                and (
                    coalesce(b.ended_at, 0) > coalesce(s.ended_at, 0)
                    or coalesce(b.ended_at, 0) = coalesce(s.ended_at, 0) and b.uid < s.uid
                )
        )
    )
)"""
_SIBLINGS = """
    select s.parent_uid, s.uid from sessions s
    where s.parent_uid in ({keys}) and s.relation = 'subagent'
        and not exists (select 1 from sessions p where p.uid = s.parent_uid)
    order by s.uid
"""
_STARTED = """
    select s.parent_uid, s.uid, p.id is not null
    from sessions s left join sessions p on p.uid = s.parent_uid
    where s.relation = 'subagent' and s.parent_uid > ''
"""
_IS_BELOW = "s.relation = 'subagent' and s.parent_uid > ''"
_NOT_BELOW = f"not coalesce({_IS_BELOW}, false)"
_BELOW = f"from sessions s join sessions p on p.uid = s.parent_uid where {_IS_BELOW}"
_ORPHANS = f"""
    from sessions s where {_IS_BELOW}
        and not exists (select 1 from sessions p where p.uid = s.parent_uid)
"""
# No session has this id: it makes an empty list valid SQL.
_NO_ID = "0"


class SessionConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions that a session must meet. A field that is ``None`` sets no condition.

    A session must have one of the values in each tuple. It must have ended at ``since`` or later,
    and begun before ``until`` (milliseconds). ``roots`` leaves out all subagents. ``folded`` leaves
    out subagents whose parent matches. If a parent is not in the store, the newest of its subagents
    stays.
    """

    flavors: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    repos: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    branches: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    outcome: str | None = None
    ids: tuple[int, ...] | None = None
    parent: str | None = None
    roots: bool = False
    folded: bool = False
    since: int | None = None
    until: int | None = None


class PageKey(msgspec.Struct, frozen=True):
    """The last session of a page: the next page begins after it."""

    ended_at: int | None
    uid: str


# Without an end, sessions come last.
_AFTER_ENDED = "s.ended_at <= :after_end and (s.ended_at < :after_end or s.uid > :after_uid)"
_AFTER_UNENDED = "s.ended_at is null and s.uid > :after_uid"


class SessionPages:
    def __init__(self, db: Database) -> None:
        self._db = db

    def page(self, conditions: SessionConditions, order: str, limit: int = 0) -> list[Session]:
        """The first ``limit`` sessions in an order of ``ORDERS``; 0 means all."""
        where, given = _where(conditions)
        most = f"limit {limit:d}" if limit else ""
        rows = self._db.all(f"{SHOWN} where {where} order by {ORDERS[order]} {most}", given)
        return [to_session(row) for row in rows]

    def newest_after(
        self, conditions: SessionConditions, key: PageKey | None, limit: int
    ) -> list[Session]:
        """The next ``limit`` sessions after a key, newest first. Earlier ones are not read."""
        where, given = _where(conditions)
        start = key or PageKey(1 << 62, "")
        given |= {"after_end": start.ended_at or 0, "after_uid": start.uid}
        found: list[Session] = []
        parts = [(_AFTER_UNENDED, start.uid if start.ended_at is None else "")]
        if start.ended_at is not None:
            parts.insert(0, (_AFTER_ENDED, start.uid))
        for part, uid in parts:
            left = limit - len(found)
            sql = f"{SHOWN} where {where} and {part} order by {_NEWEST} limit {left:d}"
            if left:
                found += map(to_session, self._db.all(sql, {**given, "after_uid": uid}))
        return found

    def from_place(
        self, conditions: SessionConditions, order: str, first: int, limit: int
    ) -> list[Session]:
        """``limit`` sessions in an order of ``ORDERS``, without the ``first`` ones."""
        where, given = _where(conditions)
        order_by = f"order by {ORDERS[order]} limit {limit:d} offset {first:d}"
        return [to_session(row) for row in self._db.all(f"{SHOWN} where {where} {order_by}", given)]

    def dearest(
        self, conditions: SessionConditions, limit: int, set_id: int, without: Iterable[int]
    ) -> list[tuple[str, int]]:
        """The ``limit`` most expensive sessions and their cost in micro-dollars, from kept figures.

        Sessions in ``without`` are left out, because their figures are out of date.
        """
        where, given = _where(conditions)
        others = f"and s.id not in ({listed(without)})" if without else ""
        sql = f"""
            select s.uid, c.microdollars from session_costs c join sessions s on s.id = c.session_id
            where c.set_id = :set_id and {where} {others}
            order by c.microdollars desc, {_NEWEST} limit {limit:d}
        """
        return [(row[0], int(row[1])) for row in self._db.all(sql, {**given, "set_id": set_id})]

    def counts_of(
        self, names: Sequence[str], conditions: SessionConditions
    ) -> dict[str, dict[str, int]]:
        """How many sessions a list has with each value of some fields.

        If the list is folded, the number for a value is the length of the list with this value as
        one more condition. So a subagent counts if its parent has another value.
        """
        columns = ["s.outcome" if name == "outcome" else _COLUMNS[name] for name in names]
        matches, given = _matches(conditions)
        found: dict[str, Counter[str]] = {name: Counter() for name in names}

        def add(values: Sequence[str | None], number: int, left_out: Sequence[int]) -> None:
            for name, value, is_left_out in zip(names, values, left_out, strict=True):
                if value is not None and not is_left_out:
                    found[name][value] += number

        by, none = ", ".join(columns), (0,) * len(columns)
        alone = _NOT_BELOW if conditions.folded else _ANY
        sql = f"select {by}, count(*) from sessions s where {matches} and {alone} group by {by}"
        for *values, number in self._db.all(sql, given):
            add(values, int(number), none)
        if conditions.folded:
            for row in self._db.all(_below_sql(columns, matches), given):
                add(row[: len(columns)], int(row[-1]), row[len(columns) : -1])
            orphans = self._db.all(f"select {by}, s.parent_uid {_ORPHANS} and {matches}", given)
            # Of the siblings with the same value, only the newest is listed.
            for place, name in enumerate(names):
                pairs = {(row[place], row[-1]) for row in orphans if row[place] is not None}
                found[name].update(value for value, _ in pairs)
        return {name: dict(counts) for name, counts in found.items()}

    def each(self, conditions: SessionConditions, order: str = "newest") -> Iterator[Session]:
        """All matching sessions one by one. A caller that stops early does not read the others."""
        where, given = _where(conditions)
        sql = f"{SHOWN} where {where} order by {ORDERS[order]}"
        return (to_session(row) for row in self._db.each(sql, given))

    def count(self, conditions: SessionConditions) -> int:
        """How many sessions match.

        Folded sessions are counted separately and subtracted. That is faster, because only sessions
        with a parent have to be read to count them.
        """
        matches, given = _matches(conditions)
        number = int(self._db.value(f"{_COUNT} where {matches}", given))
        if conditions.folded:
            number -= self.count_folded(conditions)
        return number

    def count_folded(self, conditions: SessionConditions) -> int:
        """How many subagents match and are folded."""
        matches, given = _matches(conditions)
        where = f"{_row_by_row(matches)} and {_folded(matches)}"
        return int(self._db.value(f"{_COUNT} where {where}", given))

    def uids(self, conditions: SessionConditions, among: Iterable[int] | None = None) -> list[str]:
        """The uids of all sessions that match, newest first. ``among`` limits them to these ids."""
        where, given = _where(conditions)
        only = "" if among is None else f"and s.id in ({listed(among)})"
        sql = f"select s.uid from sessions s where {where} {only} order by {_NEWEST}"
        return [uid for (uid,) in self._db.all(sql, given)]

    def among(self, conditions: SessionConditions, uids: Sequence[str]) -> list[Session]:
        """The sessions with these uids that match, newest first. Give at most some hundred uids."""
        where, given = _where(conditions)
        named = {f"u{place}": uid for place, uid in enumerate(uids)}
        keys = ", ".join(f":{name}" for name in named)
        sql = f"{SHOWN} where {where} and s.uid in ({keys}) order by {_NEWEST}"
        return [to_session(row) for row in self._db.all(sql, {**given, **named})]

    def beginning(self, ranges: Sequence[tuple[str, str]], limit: int) -> list[Session]:
        """The newest sessions whose uid is in one of the ranges ``(first, end)``, end excluded."""
        given = {f"u{place}": uid for place, uid in enumerate(chain.from_iterable(ranges))}
        parts = (f"(s.uid >= :u{2 * n} and s.uid < :u{2 * n + 1})" for n in range(len(ranges)))
        sql = f"{SHOWN} where {' or '.join(parts)} order by {_NEWEST} limit {limit:d}"
        return [to_session(row) for row in self._db.all(sql, given)]

    def values(self, name: str) -> list[str]:
        """Every value that a condition may have: for ``flavors``, the flavors of all sessions."""
        return [value for (value,) in self._db.all(_VALUES[name])]

    def children(self, uids: Iterable[str]) -> dict[str, int]:
        """How many children these sessions have; those without any are left out."""
        return {row[0]: int(row[1]) for row in self._db.matching(_CHILDREN, sorted(set(uids)))}

    def started(self) -> list[tuple[str, str, bool]]:
        """``(uid of the parent, own uid, whether the parent is stored)`` of each subagent."""
        return [(parent, uid, bool(stored)) for parent, uid, stored in self._db.all(_STARTED)]

    def orphans(self, parents: Iterable[str]) -> dict[str, list[str]]:
        """Map each of these parents that is not in the store to its subagents."""
        found: dict[str, list[str]] = {}
        for parent, uid in self._db.matching(_SIBLINGS, sorted(set(parents))):
            found.setdefault(parent, []).append(uid)
        return found


def _where(asked: SessionConditions) -> tuple[str, dict[str, object]]:
    matches, given = _matches(asked)
    if asked.folded:
        # If `relation` or `parent_uid` is null, the condition is null: the session is not folded.
        matches = f"{matches} and not coalesce({_folded(matches)}, false)"
    return matches, given


def _folded(matches: str) -> str:
    by_row = _row_by_row(matches)
    return _FOLDED.format(
        parent_matches=_with_alias(by_row, "p"), sibling_matches=_with_alias(by_row, "b")
    )


def _below_sql(columns: Sequence[str], matches: str) -> str:
    """The SQL that counts subagents with a stored parent by the values of ``columns``.
    For each of ``columns`` there is one more column. It is 1 if the parent matches and has the same
    value. Then the list with this value has the parent and leaves out these subagents.
    """
    parent = f"{_with_alias(matches, 'p')} and coalesce(p.parent_uid, '') <> s.uid"
    left_out = [
        f"case when {parent} and {_with_alias(column, 'p')} = {column} then 1 else 0 end"
        for column in columns
    ]
    by = ", ".join((*columns, *left_out))
    return f"select {by}, count(*) {_BELOW} and {matches} group by {by}"


def _row_by_row(condition: str) -> str:
    """``condition``, written so that a database uses no index for it.

    The rows are found by uid or parent, and the condition is tested on each of them.
    """
    return condition if condition == _ANY else f"case when {condition} then 1 end = 1"


def _with_alias(condition: str, alias: str) -> str:
    """``condition`` on the table alias ``alias`` instead of ``s``."""
    return re.sub(r"\bs\.", f"{alias}.", condition)


def _matches(asked: SessionConditions) -> tuple[str, dict[str, object]]:
    parts, given = [_ANY], dict[str, object]()
    for name, column in _COLUMNS.items():
        values = getattr(asked, name)
        if values is not None:
            keys = {f"{name}_{place}": value for place, value in enumerate(values)}
            given |= keys
            listed = ", ".join(f":{key}" for key in keys)
            parts.append(f"{column} in ({listed})" if keys else "1 = 0")
    if asked.ids is not None:
        parts.append(f"s.id in ({', '.join(f'{one:d}' for one in asked.ids) or _NO_ID})")
    for name, sql in _COMPARED.items():
        if (value := getattr(asked, name)) is not None:
            parts.append(sql)
            given[name] = value
    if asked.roots:
        parts.append("(s.relation is null or s.relation <> 'subagent')")
    return " and ".join(parts), given


_COMPARED = {
    "outcome": "s.outcome = :outcome",
    "parent": "s.parent_uid = :parent",
    "since": "s.ended_at >= :since",
    # A session without an end is in no period.
    "until": "s.ended_at is not null and coalesce(s.started_at, s.ended_at) < :until",
}


def like_literal(text: str) -> str:
    """``text`` for a ``like`` with ``escape '\\'``, with no wildcards."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
