"""Sessions: create, draft, find, archive and close; subagents with their lifecycle."""

import secrets
from typing import Any

import msgspec

from session_memory.core.errors import (
    InvalidRecord,
    SessionExists,
    SpawnTooDeep,
    UnknownLiveSession,
)
from session_memory.core.text import escaped
from session_memory.live.base import Live, check_id, from_json, is_usable, now, to_json
from session_memory.live.rows import SessionKind, SessionRow, SessionStatus, SubagentLifecycle
from session_memory.store.database import Row

MAX_SPAWN_DEPTH = 3
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
# Whoever wants the next page names the last session of the one before: clocks tie, ids do not.
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
_SET_STATUS = """
    update live_sessions set status = :status, updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_CLOSE = """
    update live_sessions set status = 'closed', updated_at = :now, revision = revision + 1,
        lease_owner = null, lease_until = 0, fence = fence + 1
    where session_id = :session and status <> 'closed'
"""
_MAY_CLOSE = """
    update live_sessions set fence = fence where session_id = :session{guard} returning status
"""
_REOPEN = """
    update live_sessions set status = 'active', updated_at = :now, revision = revision + 1
    where session_id = :session and status = 'closed'
"""
_TOUCH = """
    update live_sessions set updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_SET_PROMPT = "update live_settings set system_prompt = :prompt where session_key = :key"
_SET_TITLE = """
    update live_sessions set title = :title, updated_at = :now, revision = revision + 1
    where session_id = :session and status <> 'closed'{guard} returning id
"""
_ORPHAN = """
    update live_sessions set detached_from = parent_session_id, parent_session_id = null,
        revision = revision + 1
    where session_id = :session
"""
_ADOPT = """
    update live_sessions set parent_session_id = detached_from, detached_from = null,
        revision = revision + 1
    where detached_from = :session and status <> 'closed'
"""
_PARENT = """
    update live_sessions set fence = fence where session_id = :session and status <> 'closed'
    returning spawn_depth
"""
_SET_LANE = "update live_sessions set lane_id = :lane where id = :key"
LANE = ("session_key", "base_lane", "base_seq", "base_at", "base_limit")
NOWHERE = (None, 0, 0, 0)
_SETTINGS = ("session_key", "system_prompt", "config", "metadata")
_TOLD = (
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
    *_TOLD,
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
    {"system_prompt", "config", "metadata", "kind", "lifecycle", *_TOLD} - {"forked_from"}
)


class Draft(msgspec.Struct, frozen=True):
    """A session that is nothing yet: the first message makes it one."""

    session_id: str
    fields: dict[str, Any]


class Sessions(Live):
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
        """A new session; with a parent, a subagent one level deeper. Its id."""
        wanted = check_id(session_id) if session_id is not None else new_session_id()
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
            if not self._begun(wanted, fields):
                raise SessionExists(wanted)
        return wanted

    def draft_session(self, *, session_id: str | None = None, **fields: Any) -> Draft:
        """A session that is on no disk until its first message is appended, to the draft.

        Takes what `create_session` takes.
        """
        unknown = sorted(fields.keys() - _DRAFTABLE)
        if unknown:
            raise InvalidRecord(f"a session has no {unknown[0]}", field=unknown[0])
        return Draft(check_id(session_id) if session_id is not None else new_session_id(), fields)

    def _begun(self, session_id: str, fields: dict[str, Any]) -> bool:
        """Make a session; False when there is one of that name, which stays as it is."""
        depth, kind = 0, SessionKind(fields.get("kind") or SessionKind.ROOT)
        if fields.get("parent_session_id") is not None:
            depth, kind = self._depth_below(fields["parent_session_id"]), SessionKind.SUBAGENT
        lifecycle = SubagentLifecycle(fields.get("lifecycle") or SubagentLifecycle.EPHEMERAL)
        told = {**fields, "kind": kind, "lifecycle": lifecycle, "spawn_depth": depth}
        return self._create(session_id, told) is not None

    def _create(
        self,
        session_id: str,
        told: dict[str, Any],
        base: tuple[int | None, int, int, int] = NOWHERE,
        head: int = 0,
        next_seq: int = 1,
    ) -> int | None:
        at = now()
        values: dict[str, Any] = {
            **dict.fromkeys(_COLUMNS, 0),
            **{name: _text(told.get(name)) for name in _TOLD},
            "session_id": session_id,
            "created_at": at,
            "updated_at": at,
            "status": SessionStatus.ACTIVE.value,
            "kind": told["kind"].value,
            "lifecycle": told["lifecycle"].value,
            "spawn_depth": told["spawn_depth"],
            "forked_at": head if told.get("forked_from") else None,
            "head": head,
            "next_seq": next_seq,
            "revision": 1,
        }
        key = self._db.value(_CREATE, values)
        if key is None:
            return None
        config, metadata = told.get("config") or {}, told.get("metadata") or {}
        texts = (to_json(config, "config"), to_json(metadata, "metadata"))
        settings = (key, _text(told.get("system_prompt")), *texts)
        self._db.insert("live_settings", _SETTINGS, [settings])
        lane = self._db.insert_one("live_lanes", LANE, (key, *base))
        self._db.execute(_SET_LANE, {"lane": lane, "key": key})
        return int(key)

    def _depth_below(self, parent: str) -> int:
        # Held, so that nobody closes the parent while a child of it is made.
        found = self._db.value(_PARENT, {"session": parent}) if is_usable(parent) else None
        if found is None:
            raise UnknownLiveSession(parent)
        if found + 1 > MAX_SPAWN_DEPTH:
            raise SpawnTooDeep(parent, found + 1, MAX_SPAWN_DEPTH)
        return int(found) + 1

    # ------------------------------------------------------------ find

    def get_session(self, session_id: str, *, with_closed: bool = False) -> SessionRow | None:
        """None where there is no such session; a closed one only where asked for."""
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
        """By the time of their last change, newest first; ``after`` is the last of a page before.

        ``since`` and ``until`` bound that time, in milliseconds.
        """
        wanted = {
            "cwd": _text(cwd),
            "status": None if status is None else SessionStatus(status).value,
            "since": since,
            "until": until,
            "last": None if after is None else after.session_id,
            "last_at": 0 if after is None else after.updated_at,
            "limit": limit,
            "without": "" if with_subagents else SessionKind.SUBAGENT.value,
        }
        with self._reading():
            return [to_session(row) for row in self._db.all(_LIST, wanted)]

    def latest_session(self, *, cwd: str | None = None) -> SessionRow | None:
        return next(iter(self.list_sessions(cwd=cwd, limit=1)), None)

    def list_children(self, parent_session_id: str) -> list[SessionRow]:
        if not is_usable(parent_session_id):
            return []
        with self._reading():
            return self._children(parent_session_id)

    def _children(self, session_id: str) -> list[SessionRow]:
        return [to_session(row) for row in self._db.all(_CHILDREN, {"session": session_id})]

    # ------------------------------------------------------------ change

    def archive_session(self, session_id: str, *, fence: int | None = None) -> None:
        """It stays readable and refuses appends."""
        with self._writing():
            self._change(_SET_STATUS, session_id, fence, status=SessionStatus.ARCHIVED.value)

    def unarchive_session(self, session_id: str) -> None:
        with self._writing():
            self._change(_SET_STATUS, session_id, status=SessionStatus.ACTIVE.value)

    def update_session_prompt(
        self, session_id: str, system_prompt: str | None, *, fence: int | None = None
    ) -> None:
        with self._writing():
            [key] = self._change(_TOUCH, session_id, fence)
            self._db.execute(_SET_PROMPT, {"key": key, "prompt": _text(system_prompt)})

    def rename_session(self, session_id: str, title: str, *, fence: int | None = None) -> None:
        with self._writing():
            self._change(_SET_TITLE, session_id, fence, title=_text(title))

    def close_session(
        self, session_id: str, *, cascade: bool = True, fence: int | None = None
    ) -> int:
        """Hide a session, with what lives as long as it does; how many were hidden.

        Its linked and ephemeral subagents go with it, at any depth; detached ones go on without a
        parent. Without ``cascade`` all of them do. Nothing is erased: usage still counts, and
        whoever knows the id can read it.
        """
        with self._writing():
            if self._session(session_id) is None:
                return 0
            [status] = self._change(_MAY_CLOSE, session_id, fence)
            return 0 if status == SessionStatus.CLOSED else self._close(session_id, cascade)

    def _close(self, session_id: str, cascade: bool) -> int:
        closed = 1
        self._db.execute(_CLOSE, {"session": session_id, "now": now()})
        for child in self._children(session_id):
            if cascade and child.lifecycle != SubagentLifecycle.DETACHED:
                closed += self._close(child.session_id, cascade)
            else:
                self._db.execute(_ORPHAN, {"session": child.session_id})
        return closed

    def reopen_session(self, session_id: str) -> None:
        """Bring one closed session back, and to it those subagents that went on without it."""
        with self._writing():
            if self._session(session_id) is None:
                raise UnknownLiveSession(session_id)
            self._db.execute(_REOPEN, {"session": session_id, "now": now()})
            self._db.execute(_ADOPT, {"session": session_id})

    def finish_subagent(
        self, session_id: str, *, completed: bool = True, fence: int | None = None
    ) -> bool:
        """An ephemeral subagent that completed is closed; whether it was."""
        with self._writing():
            row = self._session(session_id)
            if row is None or row.status == SessionStatus.CLOSED:
                raise UnknownLiveSession(session_id)
            if not completed or row.kind != SessionKind.SUBAGENT:
                return False
            if row.lifecycle != SubagentLifecycle.EPHEMERAL:
                return False
            return self.close_session(session_id, fence=fence) > 0


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


def _text(value: str | None) -> str | None:
    return None if value is None else escaped(value)
