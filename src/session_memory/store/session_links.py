"""Read which branch, parent and starting call sessions have, for many sessions at once."""

from collections.abc import Sequence

import msgspec

from session_memory.store.database import Database

_LINKS = """
    select uid, repo, git_branch, parent_uid, relation, spawn_call_id from sessions
"""
_CALLS = """
    select s.uid, e.call_id, min(e.seq) from events e join sessions s on s.id = e.session_id
    where e.call_id in ({keys}) group by s.uid, e.call_id
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
    return {row[0]: SessionLink(*row) for row in db.all(_LINKS)}


def call_places(db: Database, calls: Sequence[str]) -> dict[tuple[str, str], int]:
    """``(uid of a session, id of a call)`` → the seq of the call in the session."""
    return {(uid, call): seq for uid, call, seq in db.matching(_CALLS, list(calls))}


def subagents_named_by(db: Database, session_ids: Sequence[int]) -> set[str]:
    """The uids of the subagents that records of these sessions name."""
    return {row[0] for row in db.matching(_LINKED, session_ids)}
