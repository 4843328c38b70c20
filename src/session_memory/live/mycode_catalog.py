"""mycode's session store as of release 0.21: timelines of messages, and a catalog of sessions.

A timeline keeps ``compact`` messages where they are, and a rewind counts them. A session is in the
catalog once it has a directory (``cwd``). Releases up to 0.4 have `session_memory.live.mycode`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from session_memory.core.live_errors import (
    NotOnPath,
    SessionClosed,
    SessionExists,
    UnknownLiveSession,
)
from session_memory.live.blocks import is_attached
from session_memory.live.connection import check_id, now
from session_memory.live.mycode_home import MycodeHome, in_thread
from session_memory.live.mycode_lock import SessionLock, SessionLockedError, lock_session
from session_memory.live.mycode_messages import (
    ConversationMessage,
    apply_rewind,
    as_mycode,
    build_rewind_event,
    fields_of,
    is_place,
    iso_time,
    usage_in,
)
from session_memory.live.rows import SessionRow
from session_memory.live.sessions import PAGE

__all__ = [
    "DEFAULT_SESSION_TITLE",
    "SessionData",
    "SessionInfo",
    "SessionLock",
    "SessionLockedError",
    "SessionSearchHit",
    "SessionSnippet",
    "SessionStore",
    "SessionTotals",
    "apply_rewind",
    "build_rewind_event",
    "derive_title",
    "display_text",
    "sum_session_totals",
]

DEFAULT_SESSION_TITLE = "New chat"
TITLE = 48
BEFORE, AFTER = 60, 80

_MOVES = """
    select from_head, to_head, created_at from live_moves
    where session_key = :key order by id
"""
_ENTER = """
    update live_sessions set cwd = coalesce(cwd, :cwd), title = coalesce(title, :title),
        updated_at = :now, revision = revision + 1
    where session_id = :session and status = 'active'{guard} returning id
"""
_TOUCH = """
    update live_sessions set updated_at = :now, revision = revision + 1
    where session_id = :session and cwd is not null and status <> 'closed'
"""

Figures = dict[str, Any]


class SessionInfo(TypedDict):
    """An entry of the catalog."""

    id: str
    cwd: str
    title: str
    created_at: str
    updated_at: str


class SessionSnippet(TypedDict):
    before: str
    match: str
    after: str


class SessionSearchHit(TypedDict):
    session: SessionInfo
    snippet: SessionSnippet | None


@dataclass(frozen=True)
class SessionTotals:
    """Tokens and dollars of all answers of a session, as their messages say."""

    usage: Figures = field(default_factory=dict)
    cost: Figures | None = None

    def add(self, usage: Figures | None, cost: Figures | None) -> "SessionTotals":
        return SessionTotals(_sum(self.usage, usage or {}), _sum_costs(self.cost, cost))

    def payload(self) -> dict[str, Any]:
        return {"session_usage": self.usage or None, "session_cost": self.cost}


class CatalogSessionData(TypedDict):
    session: SessionInfo
    messages: list[ConversationMessage]
    totals: SessionTotals


class CatalogSessionStore(MycodeHome):
    """The timelines and the catalog of one home. The arguments are those of
    `session_memory.live.mycode.SessionStore`."""

    # ------------------------------------------------------------ timelines

    def session_exists(self, session_id: str) -> bool:
        return self._live.get_session(check_id(session_id)) is not None

    def load_messages_sync(self, session_id: str) -> list[ConversationMessage]:
        """The messages of the path; none for an unknown session. Nothing is written."""
        if not self.session_exists(session_id):
            return []
        return [message for _, message in self._timeline(session_id)]

    async def load_messages(self, session_id: str) -> list[ConversationMessage]:
        return await in_thread(lambda: self.load_messages_sync(session_id))

    def load_raw_messages_sync(self, session_id: str) -> list[ConversationMessage]:
        """Every message that was appended, rewound ones too, with the rewinds between them."""
        if not self.session_exists(session_id):
            return []
        with self._live._reading():
            key = self._live._position(session_id)[0]
            moves = self._live._db.all(_MOVES, {"key": key})
            rows = self._live.load_all_messages(session_id)
        raw: list[ConversationMessage] = []
        path: list[int] = []
        for row in rows:
            while moves and moves[0][0] < row.seq:
                raw.append(_rewound(path, *moves.pop(0)[1:]))
            raw += as_mycode(row)
            path.append(row.seq)
        return raw + [_rewound(path, *move[1:]) for move in moves]

    async def load_raw_messages(self, session_id: str) -> list[ConversationMessage]:
        return await in_thread(lambda: self.load_raw_messages_sync(session_id))

    async def append_message(self, session_id: str, message: ConversationMessage) -> None:
        """Append a message or a rewind. Creates the timeline if it is new."""
        check_id(session_id)
        await in_thread(lambda: self._append(session_id, message))

    async def append_rewind(self, session_id: str, rewind_to: int) -> None:
        """Rewind so that the first ``rewind_to`` messages of `load_messages` remain."""
        await self.append_message(session_id, build_rewind_event(rewind_to))

    def _append(self, session_id: str, message: ConversationMessage) -> None:
        try:
            self._append_to(session_id, message)
        except (UnknownLiveSession, SessionClosed):
            with self._live._writing():
                self._begin(session_id)
                self._append_to(session_id, message)

    def _append_to(self, session_id: str, message: ConversationMessage) -> None:
        fields, used = fields_of(message), usage_in(message)
        with self._live._writing():
            if fields["role"] == "rewind":
                self._rewind(session_id, fields["meta"].get("rewind_to"))
            else:
                self._live.append_message(session_id, **fields)
            if used is not None:
                self._live.record_usage(session_id, **used)

    def _begin(self, session_id: str) -> None:
        """Create a session without a working directory, if the id is new or was deleted."""
        self._make_directory(session_id)
        self._live._set_aside(session_id)
        self._live._create_if_new(session_id, {"metadata": self._labelled()})

    def _rewind(self, session_id: str, rewind_to: Any) -> None:
        # The lock comes first, so that nobody appends between counting and moving.
        self._live._hold(session_id)
        seqs = [seq for seq, _ in self._timeline(session_id)]
        if not is_place(rewind_to, len(seqs)):
            raise NotOnPath(session_id, rewind_to)
        self._live.rewind(session_id, seqs[rewind_to - 1] if rewind_to else 0)

    def _timeline(self, session_id: str) -> list[tuple[int, ConversationMessage]]:
        path = self._live.load_path(session_id)
        return [(row.seq, message) for row in path for message in as_mycode(row)]

    # ------------------------------------------------------------ the catalog

    async def create_session(self, session_id: str, *, cwd: str) -> SessionInfo:
        """Enter a session into the catalog. Refused if it is there already."""

        def create() -> SessionInfo:
            with self._live._writing():
                if self._info(session_id) is not None:
                    raise SessionExists(session_id)
                return self._enter(session_id, cwd, "")

        check_id(session_id)
        return await in_thread(create)

    async def record_user_turn(self, session_id: str, *, cwd: str, text: str) -> SessionInfo:
        """Note a turn of the user. The first one with a text gives the session its title."""
        check_id(session_id)
        return await in_thread(lambda: self._enter(session_id, cwd, text))

    def _enter(self, session_id: str, cwd: str, text: str) -> SessionInfo:
        title = derive_title(text)
        given = None if title == DEFAULT_SESSION_TITLE else title
        with self._live._writing():
            self._begin(session_id)
            self._live._change(_ENTER, session_id, cwd=_directory(cwd), title=given)
            info = self._info(session_id)
        if info is None:
            raise SessionClosed(session_id, "closed")
        return info

    async def touch(self, session_id: str) -> None:
        """Make a session the newest one."""

        def touch() -> None:
            with self._live._writing():
                self._live._db.execute(_TOUCH, {"session": session_id, "now": now()})

        check_id(session_id)
        await in_thread(touch)

    async def delete_session(self, session_id: str) -> None:
        """Close the session and remove its ``tool-output``. Its id can be used again."""

        def delete() -> None:
            if self._live.close_session(session_id):
                self._remove_tool_output(session_id)

        check_id(session_id)
        await in_thread(delete)

    def lock(self, session_id: str, holder: str) -> SessionLock:
        """Claim a session for this process; `SessionLockedError` if another one has it."""
        return lock_session(self.session_dir(session_id), session_id, holder)

    async def list_sessions(self, *, cwd: str | None = None) -> list[SessionInfo]:
        """List the sessions of the catalog, the last changed first."""
        return await in_thread(lambda: list(self._infos(cwd)))

    async def latest_session(self, *, cwd: str | None = None) -> SessionInfo | None:
        return await in_thread(lambda: next(self._infos(cwd), None))

    def _infos(self, cwd: str | None) -> Iterator[SessionInfo]:
        directory = _directory(cwd) if cwd else None
        last: SessionRow | None = None
        while rows := self._live.list_sessions(after=last, limit=PAGE):
            for row in rows:
                info = _to_info(row) if self._is_here(row) else None
                if info and (directory is None or _directory(info["cwd"]) == directory):
                    yield info
            last = rows[-1]

    def _info(self, session_id: str) -> SessionInfo | None:
        row = self._live.get_session(check_id(session_id))
        return None if row is None else _to_info(row)

    async def load_metadata(self, session_id: str) -> SessionInfo | None:
        return await in_thread(lambda: self._info(session_id))

    async def load_totals(self, session_id: str) -> SessionTotals:
        """Add up the tokens and dollars that the messages name, rewound ones too."""
        return sum_session_totals(await self.load_raw_messages(session_id))

    async def load_session(self, session_id: str) -> CatalogSessionData | None:
        def load() -> CatalogSessionData | None:
            info = self._info(session_id)
            if info is None:
                return None
            totals = sum_session_totals(self.load_raw_messages_sync(session_id))
            messages = self.load_messages_sync(session_id)
            return {"session": info, "messages": messages, "totals": totals}

        return await in_thread(load)

    async def search_sessions(
        self, query: str, *, cwd: str | None = None, limit: int = 50
    ) -> list[SessionSearchHit]:
        """Sessions with ``query`` in their title or in a visible message, the last changed first.

        The snippet is cut from the first visible message with ``query``. It is None if only the
        title has ``query``.
        """
        words = re.compile(re.escape(" ".join(query.split())), re.IGNORECASE)

        def search() -> list[SessionSearchHit]:
            hits: list[SessionSearchHit] = []
            for info in self._infos(cwd) if words.pattern else ():
                snippet = next(filter(None, self._snippets(info["id"], words)), None)
                if snippet is not None or words.search(info["title"]):
                    hits.append({"session": info, "snippet": snippet})
                if len(hits) >= limit:
                    break
            return hits

        return await in_thread(search)

    def _snippets(self, session_id: str, words: re.Pattern[str]) -> Iterator[SessionSnippet | None]:
        for _, message in self._timeline(session_id):
            if message["role"] in ("user", "assistant"):
                yield _snippet(" ".join(display_text(message).split()), words)


def _snippet(text: str, words: re.Pattern[str]) -> SessionSnippet | None:
    found = words.search(text)
    if found is None:
        return None
    start, end = found.span()
    before, after = text[max(0, start - BEFORE) : start], text[end : end + AFTER]
    return {"before": before, "match": found.group(), "after": after}


def _rewound(path: list[int], to: int, at: int) -> ConversationMessage:
    """Return the rewind event for a move of the head to ``to``, and cut ``path`` there."""
    del path[sum(1 for seq in path if seq <= to) :]
    return {"role": "rewind", "meta": {"rewind_to": len(path), "created_at": iso_time(at)}}


def display_text(message: ConversationMessage) -> str:
    """Return the text blocks of a message as paragraphs, without what the runtime attached."""
    content = message.get("content")
    texts = [
        str(block.get("text") or "").strip()
        for block in (content if isinstance(content, list) else ())
        if isinstance(block, dict) and block.get("type") == "text" and not is_attached(block)
    ]
    return "\n\n".join(text for text in texts if text)


def derive_title(text: str) -> str:
    return text.replace("\n", " ").strip()[:TITLE] or DEFAULT_SESSION_TITLE


def sum_session_totals(records: Iterable[ConversationMessage]) -> SessionTotals:
    """Add up the tokens and the cost of all answers and summaries."""
    totals = SessionTotals()
    for record in records:
        meta = record.get("meta")
        if record.get("role") in ("assistant", "compact") and isinstance(meta, Mapping):
            totals = totals.add(_figures(meta.get("usage")), _figures(meta.get("cost")))
    return totals


def _figures(value: Any) -> Figures | None:
    if not isinstance(value, Mapping):
        return None
    return {name: one for name, one in value.items() if isinstance(one, int | float)}


def _sum(total: Figures, more: Figures) -> Figures:
    return {**total, **{name: total.get(name, 0) + value for name, value in more.items()}}


def _sum_costs(total: Figures | None, more: Figures | None) -> Figures | None:
    if total is None or more is None:
        return more if total is None else total
    if all("input" in cost and "output" in cost for cost in (total, more)):
        return _sum(total, more)
    # One cost has no parts (input and output), so only the totals can be added.
    return {"total": total.get("total", 0) + more.get("total", 0)}


def _to_info(row: SessionRow) -> SessionInfo | None:
    if row.cwd is None:
        return None
    return {
        "id": row.session_id,
        "cwd": row.cwd,
        "title": row.title or DEFAULT_SESSION_TITLE,
        "created_at": iso_time(row.created_at),
        "updated_at": iso_time(row.updated_at),
    }


def _directory(cwd: str) -> str:
    return str(Path(cwd).expanduser().resolve())


# mycode's own names for the classes.
SessionData = CatalogSessionData
SessionStore = CatalogSessionStore
