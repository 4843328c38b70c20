"""mycode's session store on top of the live store, so that mycode only changes its import.

Sessions are plain dicts (``{"session": meta, "messages": [...]}``), messages are lists of blocks,
and ``compact`` and ``rewind`` are events to append. Loading writes nothing: after an interruption
call `SessionStore.repair_session`.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from session_memory.core.errors import NewerSchema
from session_memory.core.live_errors import HeadMoved, NotOnPath, UnknownLiveSession
from session_memory.live.blocks import text_of
from session_memory.live.compaction import THRESHOLD, should_compact
from session_memory.live.connection import check_id
from session_memory.live.mycode_messages import (
    Message,
    apply_compact,
    apply_rewind,
    as_summary,
    build_compact_event,
    build_message,
    build_rewind_event,
    document_block,
    image_block,
    is_place,
    iso_time,
    text_block,
    thinking_block,
    tool_result_block,
    tool_use_block,
    user_text_message,
)
from session_memory.live.rows import MessageRow, SessionRow
from session_memory.live.sessions import Draft
from session_memory.live.shapes import as_blocks
from session_memory.live.store import SessionStore as LiveStore

__all__ = [
    "DEFAULT_COMPACT_THRESHOLD",
    "DEFAULT_SESSION_TITLE",
    "MESSAGE_FORMAT_VERSION",
    "SessionStore",
    "apply_compact",
    "apply_rewind",
    "build_compact_event",
    "build_message",
    "build_rewind_event",
    "document_block",
    "image_block",
    "should_compact",
    "text_block",
    "thinking_block",
    "tool_result_block",
    "tool_use_block",
    "user_text_message",
]

MESSAGE_FORMAT_VERSION = 5
DEFAULT_SESSION_PROVIDER = "anthropic"
DEFAULT_SESSION_TITLE = "New chat"
DEFAULT_COMPACT_THRESHOLD = THRESHOLD
ALL = 2**31 - 1

T = TypeVar("T")
SessionData = dict[str, Any]


class MycodeSessionStore:
    """All sessions of one store. ``place`` is a file or a ``postgresql://`` address."""

    def __init__(self, place: str | Path | None = None, *, durability: str = "full") -> None:
        self._live = LiveStore.open(place, durability=durability)

    def close(self) -> None:
        self._live.close()

    # ------------------------------------------------------------ sessions

    def draft_session(
        self,
        title: str | None,
        *,
        provider: str = DEFAULT_SESSION_PROVIDER,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> SessionData:
        """Prepare a session without storing it. `append_message` with its id stores it."""
        draft = self._draft(None, title, provider=provider, model=model, cwd=cwd, api_base=api_base)
        now = iso_time(None)
        session = {
            "id": draft.session_id,
            "title": title or DEFAULT_SESSION_TITLE,
            "provider": provider,
            "model": model,
            "cwd": _directory(cwd),
            "api_base": api_base,
            "message_format_version": MESSAGE_FORMAT_VERSION,
            "created_at": now,
            "updated_at": now,
        }
        return {"session": session, "messages": []}

    async def create_session(
        self,
        title: str | None,
        *,
        session_id: str | None = None,
        provider: str = DEFAULT_SESSION_PROVIDER,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> SessionData:
        """Create a session. Refused if the id is taken."""
        settings = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, title, **settings)

        def create() -> SessionData:
            self._live.create_session(session_id=draft.session_id, **draft.fields)
            return self._loaded(draft.session_id)

        return await _in_thread(create)

    async def list_sessions(self, *, cwd: str | None = None) -> list[Message]:
        """Newest first."""
        directory = _directory(cwd) if cwd else None

        def listed() -> list[Message]:
            return [_to_meta(row) for row in self._live.list_sessions(cwd=directory, limit=ALL)]

        return await _in_thread(listed)

    async def latest_session(self, *, cwd: str | None = None) -> Message | None:
        directory = _directory(cwd) if cwd else None
        row = await _in_thread(lambda: self._live.latest_session(cwd=directory))
        return None if row is None else _to_meta(row)

    def load_session_sync(self, session_id: str) -> SessionData | None:
        """The session with its context, or None if it does not exist. Nothing is written."""
        try:
            return self._loaded(check_id(session_id))
        except UnknownLiveSession:
            return None

    async def load_session(self, session_id: str) -> SessionData | None:
        return await _in_thread(lambda: self.load_session_sync(session_id))

    async def clear_session(self, session_id: str) -> None:
        def clear() -> None:
            if self._live.get_session(session_id) is not None:
                self._live.clear_session(session_id)

        check_id(session_id)
        await _in_thread(clear)

    async def delete_session(self, session_id: str) -> None:
        """Close the session. Its data stays until ``forget``; its id cannot be used again."""
        check_id(session_id)
        await _in_thread(lambda: self._live.close_session(session_id))

    async def repair_session(self, session_id: str) -> int:
        """Add an error result for every interrupted call; return their number."""
        return len(await _in_thread(lambda: self._live.repair(check_id(session_id))))

    # ------------------------------------------------------------ messages

    async def append_message(
        self,
        session_id: str,
        message: Message,
        *,
        provider: str,
        model: str,
        cwd: str,
        api_base: str | None,
    ) -> None:
        """Append a message, or a ``compact`` or ``rewind`` event. Creates the session if new."""
        settings = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, None, **settings)
        await _in_thread(lambda: self._append(draft, message))

    def _append(self, draft: Draft, message: Message) -> None:
        meta = message.get("meta") or {}
        match message.get("role"):
            case "rewind":
                self._rewind(draft.session_id, meta.get("rewind_to"))
            case "compact":
                self._compact(draft, text_of(message.get("content")), meta)
            case role:
                content = message.get("content")
                self._live.append_message(draft, role=str(role), content=content, meta=meta or None)

    async def append_rewind(self, session_id: str, rewind_to: int) -> None:
        """Rewind so that the first ``rewind_to`` messages of `load_session` remain."""
        check_id(session_id)

        def rewind() -> None:
            if self._live.get_session(session_id) is not None:
                self._rewind(session_id, rewind_to)

        await _in_thread(rewind)

    def _rewind(self, session_id: str, rewind_to: Any) -> None:
        while True:
            head = self._live.head(session_id)
            ends = [end for _, end in self._visible(session_id)]
            if not is_place(rewind_to, len(ends)):
                raise NotOnPath(session_id, rewind_to)
            to = ends[rewind_to - 1] if rewind_to else 0
            # HeadMoved: somebody appended meanwhile, so look at the messages again.
            with suppress(HeadMoved):
                self._live.rewind(session_id, to, expect=head)
                return

    def _compact(self, draft: Draft, summary: str, meta: Message) -> None:
        while True:
            head = self._live.head(draft.session_id)
            context = self._live.load_active_messages(draft.session_id)
            if not context:
                return
            with suppress(HeadMoved):
                self._live.record_compaction(
                    draft.session_id,
                    from_seq=context[0].seq,
                    to_seq=context[-1].seq,
                    note_content=summary,
                    note_meta=meta,
                    expect=head,
                )
                return

    # ------------------------------------------------------------ shapes

    def _draft(self, session_id: str | None, title: str | None, **settings: Any) -> Draft:
        metadata = {"message_format_version": MESSAGE_FORMAT_VERSION}
        settings["cwd"] = _directory(settings["cwd"])
        return self._live.draft_session(
            session_id=session_id, title=title or None, metadata=metadata, **settings
        )

    def _loaded(self, session_id: str) -> SessionData:
        row = self._live.get_session(session_id)
        if row is None:
            raise UnknownLiveSession(session_id)
        return {"session": _to_meta(row), "messages": [m for m, _ in self._visible(session_id)]}

    def _visible(self, session_id: str) -> list[tuple[Message, int]]:
        """The context, each message with the seq to rewind to so that it stays the last one."""
        context = self._live.load_active_messages(session_id)
        ends = {fold.note_seq: fold.to_seq for fold in self._live.list_compactions(session_id)}

        def end(seq: int) -> int:
            return end(ends[seq]) if seq in ends else seq

        return [(shown, end(row.seq)) for row in context for shown in _as_mycode(row)]


def _as_mycode(row: MessageRow) -> Iterator[Message]:
    if row.name == "compact_note":
        yield from as_summary(text_of(row.content))
    else:
        blocks = as_blocks(row)
        yield {name: blocks[name] for name in ("role", "content", "meta") if blocks.get(name)}


def _to_meta(row: SessionRow) -> Message:
    version = row.metadata.get("message_format_version", MESSAGE_FORMAT_VERSION)
    if not isinstance(version, int) or version > MESSAGE_FORMAT_VERSION:
        found = version if isinstance(version, int) else 0
        raise NewerSchema(f"session {row.session_id}", found=found, known=MESSAGE_FORMAT_VERSION)
    return {
        "id": row.session_id,
        "title": row.title or DEFAULT_SESSION_TITLE,
        "provider": row.provider,
        "model": row.model,
        "cwd": row.cwd,
        "api_base": row.api_base,
        "message_format_version": version,
        "created_at": iso_time(row.created_at),
        "updated_at": iso_time(row.updated_at),
    }


async def _in_thread(operation: Callable[[], T]) -> T:
    # Shielded: a cancelled caller returns at once, and its operation still completes.
    return await asyncio.shield(asyncio.to_thread(operation))


def _directory(cwd: str) -> str:
    return os.path.abspath(cwd)  # noqa: PTH100


# mycode's own name for the class.
SessionStore = MycodeSessionStore
