"""The Claude Agent SDK's ``SessionStore``: transcripts stored as live sessions.

Each key (project, session, subpath) is a live session; a subagent's parent is the session that
started it. Entries are returned equal to what was appended. An entry with a ``uuid`` is stored
once, even if several processes send it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.errors import MissingExtra
from session_memory.core.live_errors import HeadMoved, SessionClosed
from session_memory.integrations.verbatim import RECORD, is_shown
from session_memory.live.aio import AsyncSessionStore
from session_memory.live.rows import (
    MessageRow,
    SessionKind,
    SessionRow,
    SessionStatus,
    SubagentLifecycle,
)

try:
    from claude_agent_sdk import fold_session_summary
except ImportError as error:
    raise MissingExtra("claude-agent-sdk") from error

PROVIDER = "claude-agent-sdk"
ALL = 2**31 - 1
# More sessions than a process usually appends to at once. Others are read again.
CACHED_SESSIONS = 64

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")

Key = Mapping[str, Any]
Entry = dict[str, Any]


class _SessionCache(msgspec.Struct):
    """The head of a session and the uuids on its path, as far as this process knows."""

    head: int = 0
    uuids: set[str] = set()


class ClaudeSessionStore:
    """The SDK's session store. Pass it as ``ClaudeAgentOptions(session_store=...)``."""

    def __init__(self, store: AsyncSessionStore) -> None:
        self._store = store
        self._generation: dict[str, int] = {}
        self._seen: dict[str, _SessionCache] = {}
        self._folded: dict[str, tuple[int, dict[str, Any]]] = {}

    @classmethod
    async def open(
        cls, place: str | Path | None = None, *, durability: str = "full"
    ) -> "ClaudeSessionStore":
        """Open the store at a path or a ``postgresql://`` address."""
        return cls(await AsyncSessionStore.open(place, durability=durability))

    async def close(self) -> None:
        await self._store.close()

    async def append(self, key: Key, entries: Sequence[Entry]) -> None:
        """Append the entries that are new, in order, all or none."""
        if not entries:
            return
        while True:
            session, row = await self._find(key)
            seen = self._seen.get(session) or await self._look(session, row)
            new = list(_unseen(entries, seen.uuids))
            if not new:
                return
            target = session if row else await self._draft(session, key)
            messages = [_to_message(entry) for entry in new]
            try:
                seqs = await self._store.append_messages(target, messages, expect=seen.head)
            except HeadMoved:
                # Another process appended or rewound, so read the session again.
                self._seen.pop(session, None)
                continue
            except SessionClosed:
                # If the session was deleted meanwhile, the key has a new session, so try again.
                # If the key still has this session, it is archived and refuses appends.
                if (await self._find(key))[0] == session:
                    raise
                continue
            seen.head = seqs[-1]
            seen.uuids.update(_uuids(new))
            self._remember(session, seen)
            return

    async def load(self, key: Key) -> list[Entry] | None:
        """Every entry on the session's path, or None if there is none."""
        session, row = await self._find(key)
        if row is None:
            return None
        return _entries(await self._store.load_path(session)) or None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        rows = await self._rows(project_key)
        return [_listed(row) for row in rows if row.metadata.get("subpath") is None]

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """Summaries computed from the entries, so never stale. Unchanged sessions are cached."""
        rows = await self._rows(project_key)
        mains = [row for row in rows if row.metadata.get("subpath") is None]
        return [{**_listed(row), "data": await self._summary(row)} for row in mains]

    async def delete(self, key: Key) -> None:
        """Close the session; for a main transcript also its subagents.

        Closed sessions are hidden but stay in the store; ``session-memory forget`` erases them.
        """
        subpath = key.get("subpath")
        for row in await self._rows(key["project_key"], with_subagents=True):
            is_same = row.metadata.get("session_id") == key["session_id"]
            if is_same and subpath in (None, row.metadata.get("subpath")):
                await self._store.close_session(row.session_id, cascade=subpath is None)
                self._seen.pop(row.session_id, None)
                self._folded.pop(row.session_id, None)

    async def list_subkeys(self, key: Key) -> list[str]:
        rows = await self._rows(key["project_key"], with_subagents=True)
        keys = [row.metadata for row in rows if row.metadata.get("session_id") == key["session_id"]]
        return [one["subpath"] for one in keys if one.get("subpath") is not None]

    async def _find(self, key: Key) -> tuple[str, SessionRow | None]:
        """The id and the row of a key's live session. The row is None if it does not exist yet.

        A deleted session stays in the store with its id, so the key's next session gets another id.
        """
        base = _live_id(key)
        for generation in count(self._generation.get(base, 0)):
            session = base if generation == 0 else f"{base}:{generation}"
            row = await self._store.get_session(session, with_closed=True)
            if row is None or row.status != SessionStatus.CLOSED:
                if generation:
                    self._generation[base] = generation
                return session, row
        raise AssertionError("count() has no end")

    async def _draft(self, session: str, key: Key) -> Any:
        metadata = {name: key[name] for name in ("project_key", "session_id")}
        fields: dict[str, Any] = {"provider": PROVIDER, "cwd": key["project_key"]}
        if key.get("subpath") is not None:
            metadata["subpath"] = key["subpath"]
            main, row = await self._find({**key, "subpath": None})
            fields["kind"] = SessionKind.SUBAGENT
            fields["lifecycle"] = SubagentLifecycle.LINKED
            fields["parent_session_id"] = main if row else None
        return self._store.draft_session(session_id=session, metadata=metadata, **fields)

    async def _look(self, session: str, row: SessionRow | None) -> _SessionCache:
        path = await self._store.load_path(session) if row else []
        head = max((message.seq for message in path), default=0)
        seen = _SessionCache(head, set(_uuids(_entries(path))))
        self._remember(session, seen)
        return seen

    def _remember(self, session: str, seen: _SessionCache) -> None:
        self._seen.pop(session, None)
        self._seen[session] = seen
        if len(self._seen) > CACHED_SESSIONS:
            del self._seen[next(iter(self._seen))]

    async def _rows(self, project_key: str, *, with_subagents: bool = False) -> list[SessionRow]:
        rows = await self._store.list_sessions(
            cwd=project_key, limit=ALL, with_subagents=with_subagents
        )
        return [row for row in rows if row.provider == PROVIDER]

    async def _summary(self, row: SessionRow) -> dict[str, Any]:
        session = row.session_id
        head = await self._store.head(session)
        known = self._folded.get(session)
        if known is None or known[0] != head:
            entries: Any = _entries(await self._store.load_path(session))
            key: Any = row.metadata
            known = (head, dict(fold_session_summary(None, key, entries)["data"]))
            self._folded[session] = known
        return dict(known[1])


def _live_id(key: Key) -> str:
    """Return the id of a key's live session: its own id, and a hash of project and subagent."""
    parts = [key["project_key"], key["session_id"], key.get("subpath")]
    digest = sha256(json.dumps(parts).encode()).hexdigest()[:24]
    own = str(key["session_id"])
    return f"{PROVIDER}:{own}:{digest}" if _NAME.fullmatch(own) else f"{PROVIDER}:{digest}"


def _listed(row: SessionRow) -> dict[str, Any]:
    return {"session_id": row.metadata["session_id"], "mtime": row.updated_at}


def _uuids(entries: Iterable[Entry]) -> Iterable[str]:
    return (entry["uuid"] for entry in entries if isinstance(entry.get("uuid"), str))


def _unseen(entries: Iterable[Entry], seen: set[str]) -> Iterable[Entry]:
    sent: set[str] = set()
    for entry in entries:
        uuid = entry.get("uuid")
        if not isinstance(uuid, str):
            yield entry
        elif uuid not in seen and uuid not in sent:
            sent.add(uuid)
            yield entry


def _to_message(entry: Entry) -> dict[str, Any]:
    message = entry.get("message")
    kind = str(entry.get("type"))
    if not isinstance(message, dict) or kind not in ("user", "assistant"):
        return {"role": "system", "name": kind, "meta": {RECORD: entry}}
    injected = bool(entry.get("isMeta") or entry.get("isCompactSummary"))
    meta: dict[str, Any] = {"synthetic": True} if injected else {}
    content = message.get("content")
    if not is_shown(content):
        return {"role": kind, "meta": {**meta, RECORD: entry}}
    rest = {name: value for name, value in message.items() if name != "content"}
    return {"role": kind, "content": content, "meta": {**meta, RECORD: {**entry, "message": rest}}}


def _entries(path: Iterable[MessageRow]) -> list[Entry]:
    """The SDK's entries. Messages that it did not add, such as repairs, are skipped."""
    return [_to_entry(message) for message in path if RECORD in message.meta]


def _to_entry(message: MessageRow) -> Entry:
    entry: Entry = dict(message.meta[RECORD])
    if message.content is not None:
        entry["message"] = {**entry["message"], "content": message.content}
    return entry
