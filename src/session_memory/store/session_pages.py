"""Pages of sessions: filters, order and limit are SQL, so a short list reads only what it shows."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from session_memory.core.schema import Session
from session_memory.store.database import Database
from session_memory.store.sessions import HOST, SHOWN, SOURCE_BYTES, to_session

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
_CHILDREN = """
    select parent_uid, count(*) from sessions where parent_uid in ({keys}) group by parent_uid
"""
# No session has this id: it makes an empty list valid SQL.
_NO_ID = "0"


class SessionConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What a session must have; ``None`` asks for nothing.

    The tuples list exact values, one of which it must have. ``title`` is a part of the title, in
    lower case. ``since`` and ``until`` are milliseconds: some of the session lies between them.
    """

    flavors: tuple[str, ...] | None = None
    hosts: tuple[str, ...] | None = None
    repos: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    branches: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    outcome: str | None = None
    title: str | None = None
    ids: tuple[int, ...] | None = None
    parent: str | None = None
    roots: bool = False
    since: int | None = None
    until: int | None = None


class SessionPages:
    def __init__(self, db: Database) -> None:
        self._db = db

    def page(self, conditions: SessionConditions, order: str, limit: int = 0) -> list[Session]:
        """The first ``limit`` sessions in an order of ``ORDERS``; 0 means all."""
        where, given = _where(conditions)
        most = f"limit {limit:d}" if limit else ""
        rows = self._db.all(f"{SHOWN} where {where} order by {ORDERS[order]} {most}", given)
        return [to_session(row) for row in rows]

    def each(self, conditions: SessionConditions, order: str = "newest") -> Iterator[Session]:
        """All matching sessions one by one. A caller that stops early does not read the others."""
        where, given = _where(conditions)
        sql = f"{SHOWN} where {where} order by {ORDERS[order]}"
        return (to_session(row) for row in self._db.each(sql, given))

    def count(self, conditions: SessionConditions) -> int:
        where, given = _where(conditions)
        return int(self._db.value(f"select count(*) from sessions s where {where}", given))

    def uids(self, conditions: SessionConditions) -> list[str]:
        """The uids of all that match, newest first."""
        where, given = _where(conditions)
        sql = f"select s.uid from sessions s where {where} order by {_NEWEST}"
        return [uid for (uid,) in self._db.all(sql, given)]

    def beginning(self, ranges: Sequence[tuple[str, str]], limit: int) -> list[Session]:
        """The newest sessions whose uid lies in one of the ranges, each from the first up to,
        and without, the second."""
        given = {f"u{place}": uid for place, uid in enumerate(chain.from_iterable(ranges))}
        parts = (f"(s.uid >= :u{2 * n} and s.uid < :u{2 * n + 1})" for n in range(len(ranges)))
        sql = f"{SHOWN} where {' or '.join(parts)} order by {_NEWEST} limit {limit:d}"
        return [to_session(row) for row in self._db.all(sql, given)]

    def values(self, name: str) -> list[str]:
        """Every value that sessions have for a tuple of `SessionConditions`."""
        return [value for (value,) in self._db.all(_VALUES[name])]

    def children(self, uids: Iterable[str]) -> dict[str, int]:
        """How many children these sessions have; those without any are left out."""
        return {row[0]: int(row[1]) for row in self._db.matching(_CHILDREN, sorted(set(uids)))}


def _where(asked: SessionConditions) -> tuple[str, dict[str, object]]:
    parts, given = ["1 = 1"], dict[str, object]()
    for name, column in _COLUMNS.items():
        values = getattr(asked, name)
        if values is not None:
            keys = {f"{name}_{place}": value for place, value in enumerate(values)}
            given |= keys
            listed = ", ".join(f":{key}" for key in keys)
            parts.append(f"{column} in ({listed})" if keys else "1 = 0")
    if asked.ids is not None:
        parts.append(f"s.id in ({', '.join(f'{one:d}' for one in asked.ids) or _NO_ID})")
    if asked.title is not None:
        parts.append("lower(s.title) like :title escape '\\'")
        given["title"] = f"%{like_literal(asked.title)}%"
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
