"""Create sessions, draft them and find them."""

import secrets
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord
from session_memory.core.live_errors import SessionExists, SpawnTooDeep, UnknownLiveSession
from session_memory.core.text import short_repr
from session_memory.live.arguments import choice, text, whole
from session_memory.live.connection import (
    IS_EVICTED,
    LiveConnection,
    check_id,
    from_json,
    is_usable,
    now,
    to_json,
)
from session_memory.live.rows import (
    MAX_SPAWN_DEPTH,
    SessionKind,
    SessionRow,
    SessionStatus,
    SubagentLifecycle,
)
from session_memory.store.database import Row
from session_memory.store.live_rows import CLOSED, LONGEST_KEPT_ID, cwd_in

PAGE = 50

_FIELDS = (
    "session_id",
    "created_at",
    "updated_at",
    "system_prompt",
    "model",
    "config",
    "status",
    "kind",
    "parent_session_id",
    "spawn_tool_call_id",
    "spawn_depth",
    "lifecycle",
    "metadata",
    "title",
    "provider",
    "cwd",
    "api_base",
    "forked_from",
    "forked_at",
)
_SELECT = f"""
    select {", ".join(_FIELDS)} from live_sessions s join live_settings t on t.session_key = s.id
"""
_BY_ID = f"{_SELECT} where session_id = :session"
_CHILDREN = f"""
    {_SELECT} where parent_session_id = :session and status <> 'closed' order by created_at, s.id
"""
# A page starts after the last session of the page before. The id breaks ties of equal times.
_LIST = f"""
    {_SELECT} where status <> 'closed' and kind <> :without
    and (cast(:cwd as text) is null or cwd = :cwd)
    and (cast(:status as text) is null or status = :status)
    and (cast(:since as bigint) is null or updated_at >= :since)
    and (cast(:until as bigint) is null or updated_at < :until)
    and (cast(:last as text) is null or (updated_at, s.id) < (:last_at,
        (select id from live_sessions where session_id = :last)))
    order by updated_at desc, s.id desc limit :limit
"""
_PARENT = """
    update live_sessions set fence = fence where session_id = :session and status <> 'closed'
    returning spawn_depth
"""
_CLOSED = "select id from live_sessions where session_id = :session and status = 'closed'"
_IS_TAKEN = "select 1 from live_sessions where session_id = :session"
_SET_ASIDE = """
    update live_sessions set session_id = :aside, revision = revision + 1
    where session_id = :session and status = 'closed' returning id
"""
# When a session gets another id, these columns of its subagents and its forks follow.
_FOLLOW = tuple(
    f"update live_sessions set {name} = :aside, revision = revision + 1 where {name} = :session"
    for name in ("parent_session_id", "detached_from", "forked_from")
)
_SET_LANE = "update live_sessions set lane_id = :lane where id = :key"
BRANCH_COLUMNS = ("session_key", "base_lane", "base_seq", "base_at", "base_limit")
NO_BASE = (None, 0, 0, 0)
_SETTINGS = ("session_key", "system_prompt", "config", "metadata")
_SETTABLE = (
    "model",
    "parent_session_id",
    "spawn_tool_call_id",
    "title",
    "provider",
    "cwd",
    "api_base",
    "forked_from",
)
_COLUMNS = (
    "session_id",
    "created_at",
    "updated_at",
    "status",
    "kind",
    "spawn_depth",
    "lifecycle",
    "forked_at",
    *_SETTABLE,
    "lane_id",
    "head",
    "next_seq",
    "round_index",
    "send_index",
    "last_compact_seq",
    "fence",
    "lease_until",
    "revision",
)
_CREATE = f"""
    insert into live_sessions ({", ".join(_COLUMNS)})
    values ({", ".join(":" + name for name in _COLUMNS)})
    on conflict (session_id) do nothing returning id
"""
_DRAFTABLE = frozenset(
    {"system_prompt", "config", "metadata", "kind", "lifecycle", *_SETTABLE} - {"forked_from"}
)


class Draft(msgspec.Struct, frozen=True):
    """A session that is not stored yet. Appending the first message creates it."""

    session_id: str
    fields: dict[str, Any]


class SessionOperations(LiveConnection):
    def create_session(
        self,
        *,
        system_prompt: str | None = None,
        model: str | None = None,
        config: dict[str, Any] | None = None,
        parent_session_id: str | None = None,
        spawn_tool_call_id: str | None = None,
        kind: SessionKind = SessionKind.ROOT,
        lifecycle: SubagentLifecycle = SubagentLifecycle.EPHEMERAL,
        metadata: dict[str, Any] | None = None,
        session_id: str | None = None,
        title: str | None = None,
        provider: str | None = None,
        cwd: str | None = None,
        api_base: str | None = None,
    ) -> str:
        """Create a session and return its id. With a parent it is a subagent.

        The id of a closed session can be used again. The closed session is then renamed to
        ``<id>@closed-<number>``, and nothing of it is lost.

        ``cwd`` is the directory that the session works in; by default ``metadata["cwd"]``, where
        some runtimes put it, and for a subagent that of its parent.
        """
        new_id = check_id(session_id) if session_id is not None else new_session_id()
        fields = {
            "system_prompt": system_prompt,
            "model": model,
            "config": config,
            "parent_session_id": parent_session_id,
            "spawn_tool_call_id": spawn_tool_call_id,
            "kind": kind,
            "lifecycle": lifecycle,
            "metadata": metadata,
            "title": title,
            "provider": provider,
            "cwd": cwd,
            "api_base": api_base,
        }
        with self._writing():
            if session_id is not None:
                self._set_aside(new_id)
            if not self._create_if_new(new_id, fields):
                raise SessionExists(new_id)
        return new_id

    def _set_aside(self, session_id: str) -> None:
        """Give a closed session another id, so that a new one can have its id."""
        key = self._db.value(_CLOSED, {"session": session_id})
        if key is None:
            return
        aside = f"{session_id[:LONGEST_KEPT_ID]}{CLOSED}{key}"
        while self._db.one(_IS_TAKEN, {"session": aside}):
            aside += "+"
        params = {"session": session_id, "aside": aside}
        if self._db.one(_SET_ASIDE, params) is not None:
            for statement in _FOLLOW:
                self._db.execute(statement, params)

    def draft_session(self, *, session_id: str | None = None, **fields: Any) -> Draft:
        """Prepare a session without storing it. Appending the first message to it stores it.

        Takes the arguments of `create_session`.
        """
        unknown = sorted(fields.keys() - _DRAFTABLE)
        if unknown:
            hint = f"Fields are: {', '.join(sorted(_DRAFTABLE))}."
            raise InvalidRecord(f"a session has no field {unknown[0]}", hint, field=unknown[0])
        return Draft(check_id(session_id) if session_id is not None else new_session_id(), fields)

    def _create_if_new(self, session_id: str, fields: dict[str, Any]) -> bool:
        """Create a session. False if the id is taken; that session stays as it is."""
        depth = 0
        kind = choice(SessionKind, fields.get("kind") or SessionKind.ROOT, "kind")
        if fields.get("parent_session_id") is not None:
            depth, kind = self._depth_below(fields["parent_session_id"]), SessionKind.SUBAGENT
            fields = self._where_its_parent_works(fields)
        lifecycle = fields.get("lifecycle") or SubagentLifecycle.EPHEMERAL
        lifecycle = choice(SubagentLifecycle, lifecycle, "lifecycle")
        full = {**fields, "kind": kind, "lifecycle": lifecycle, "spawn_depth": depth}
        return self._create(session_id, full) is not None

    def _where_its_parent_works(self, fields: dict[str, Any]) -> dict[str, Any]:
        if fields.get("cwd") is not None or cwd_in(fields.get("metadata")):
            return fields
        parent = self._session(fields["parent_session_id"])
        return fields if parent is None else {**fields, "cwd": parent.cwd}

    def _create(
        self,
        session_id: str,
        fields: dict[str, Any],
        base: tuple[int | None, int, int, int] = NO_BASE,
        head: int = 0,
        next_seq: int = 1,
    ) -> int | None:
        at = now()
        config, metadata = fields.get("config") or {}, fields.get("metadata") or {}
        if fields.get("cwd") is None:
            fields = {**fields, "cwd": cwd_in(metadata)}
        values: dict[str, Any] = {
            **dict.fromkeys(_COLUMNS, 0),
            **{name: stored_text(fields.get(name), name) for name in _SETTABLE},
            "session_id": session_id,
            "created_at": at,
            "updated_at": at,
            "status": SessionStatus.ACTIVE.value,
            "kind": fields["kind"].value,
            "lifecycle": fields["lifecycle"].value,
            "spawn_depth": fields["spawn_depth"],
            "forked_at": head if fields.get("forked_from") else None,
            "head": head,
            "next_seq": next_seq,
            "revision": 1,
        }
        if self._db.one(IS_EVICTED, {"uid": f"live:{session_id}"}) is not None:
            raise SessionExists(session_id, is_evicted=True)
        key = self._db.value(_CREATE, values)
        if key is None:
            return None
        texts = (to_json(config, "config"), to_json(metadata, "metadata"))
        settings = (key, stored_text(fields.get("system_prompt"), "system_prompt"), *texts)
        self._db.insert("live_settings", _SETTINGS, [settings])
        branch = self._db.insert_one("live_lanes", BRANCH_COLUMNS, (key, *base))
        self._db.execute(_SET_LANE, {"lane": branch, "key": key})
        return int(key)

    def _depth_below(self, parent: str) -> int:
        # The update locks the parent, so that nobody closes it while its child is created.
        found = self._db.value(_PARENT, {"session": parent}) if is_usable(parent) else None
        if found is None:
            raise UnknownLiveSession(parent, "parent session not found")
        if found + 1 > MAX_SPAWN_DEPTH:
            raise SpawnTooDeep(parent, found + 1, MAX_SPAWN_DEPTH)
        return int(found) + 1

    def get_session(self, session_id: str, *, with_closed: bool = False) -> SessionRow | None:
        """Return a session, or None if it does not exist or (unless ``with_closed``) is closed."""
        with self._reading():
            found = self._session(session_id)
        if found is None or (found.status == SessionStatus.CLOSED and not with_closed):
            return None
        return found

    def _session(self, session_id: str) -> SessionRow | None:
        row = self._db.one(_BY_ID, {"session": session_id}) if is_usable(session_id) else None
        return None if row is None else to_session(row)

    def list_sessions(
        self,
        *,
        cwd: str | None = None,
        status: SessionStatus | str | None = None,
        since: int | None = None,
        until: int | None = None,
        after: SessionRow | None = None,
        limit: int = PAGE,
        with_subagents: bool = False,
    ) -> list[SessionRow]:
        """Return a page of the sessions that are not closed, the last changed first.

        Subagents are left out unless ``with_subagents``. ``after`` is the last session of the
        previous page. ``since`` and ``until`` limit the time of the last change, in milliseconds.
        """
        if after is not None and not isinstance(after, SessionRow):
            raise InvalidRecord(f"{short_repr(after)} is not a session", field="after")
        params = {
            "cwd": stored_text(cwd, "cwd"),
            "status": None if status is None else choice(SessionStatus, status, "status").value,
            "since": None if since is None else whole(since, "since"),
            "until": None if until is None else whole(until, "until"),
            "last": None if after is None else after.session_id,
            "last_at": 0 if after is None else after.updated_at,
            "limit": whole(limit, "limit"),
            "without": "" if with_subagents else SessionKind.SUBAGENT.value,
        }
        with self._reading():
            return [to_session(row) for row in self._db.all(_LIST, params)]

    def latest_session(self, *, cwd: str | None = None) -> SessionRow | None:
        return next(iter(self.list_sessions(cwd=cwd, limit=1)), None)

    def list_children(self, parent_session_id: str) -> list[SessionRow]:
        if not is_usable(parent_session_id):
            return []
        with self._reading():
            return self._children(parent_session_id)

    def _children(self, session_id: str) -> list[SessionRow]:
        return [to_session(row) for row in self._db.all(_CHILDREN, {"session": session_id})]


def new_session_id() -> str:
    return "sess_" + secrets.token_hex(12)


def to_session(row: Row) -> SessionRow:
    fields = dict(zip(_FIELDS, row, strict=True))
    fields["config"] = from_json(fields["config"])
    fields["metadata"] = from_json(fields["metadata"])
    fields["status"] = SessionStatus(fields["status"])
    fields["kind"] = SessionKind(fields["kind"])
    fields["lifecycle"] = SubagentLifecycle(fields["lifecycle"])
    return SessionRow(**fields)


def stored_text(value: str | None, field: str) -> str | None:
    return None if value is None else text(value, field)
