"""Links between sessions: subagents that records name, and the branch, parent and starting call of
many sessions at once."""

from collections.abc import Sequence

import msgspec

from session_memory.core.text import escaped
from session_memory.store.database import Database

_ALL = """
    select uid, repo, git_branch, parent_uid, relation, spawn_call_id from sessions
"""
_CALLS = """
    select s.uid, e.call_id, min(e.seq) from events e join sessions s on s.id = e.session_id
    where e.call_id in ({keys}) group by s.uid, e.call_id
"""
_ADD = "insert into links (child_uid, parent_id, call_id) values (:child, :parent, :call)"
_HAS = "select 1 from links where child_uid = :child and parent_id = :parent and call_id = :call"
_IS_NAMED = "select 1 from links where child_uid = :child limit 1"
_NAMING = """
    select p.uid, l.call_id from links l join sessions p on p.id = l.parent_id
    where l.child_uid = :child order by p.uid, l.call_id
"""
_LINKED = "select distinct child_uid from links where parent_id in ({keys})"


class SessionLink(msgspec.Struct, frozen=True, gc=False):
    uid: str
    repo: str | None
    branch: str | None
    parent_uid: str | None
    relation: str | None
    spawn_call_id: str | None


def session_links(db: Database) -> dict[str, SessionLink]:
    """The uid of every session → its branch, its parent and the call that started it."""
    return {row[0]: SessionLink(*row) for row in db.all(_ALL)}


def call_places(db: Database, calls: Sequence[str]) -> dict[tuple[str, str], int]:
    """``(uid of a session, id of a call)`` → the seq of the call in the session."""
    return {(uid, call): seq for uid, call, seq in db.matching(_CALLS, list(calls))}


def subagents_named_by(db: Database, session_ids: Sequence[int]) -> set[str]:
    """The uids of the subagents that records of these sessions name."""
    return {row[0] for row in db.matching(_LINKED, session_ids)}


def add_link(db: Database, parent_id: int, child_uid: str, call_id: str) -> None:
    """Store that a call of a session names another session as its subagent."""
    link = {"child": child_uid, "parent": parent_id, "call": escaped(call_id)}
    if db.one(_HAS, link) is None:
        db.execute(_ADD, link)


def links_to(db: Database, child_uid: str) -> list[tuple[str, str]]:
    """``(parent uid, call id)`` of every record that names the session as a subagent."""
    if db.one(_IS_NAMED, {"child": child_uid}) is None:
        return []
    return [(row[0], row[1]) for row in db.all(_NAMING, {"child": child_uid})]
