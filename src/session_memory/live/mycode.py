"""mycode's names and shapes over the live store, so that a runtime can change its import.

Sessions are plain dicts (``{"session": meta, "messages": [...]}``), messages are lists of blocks,
``compact`` and ``rewind`` are events one appends. Loading writes nothing: whoever takes over a
session that was interrupted says so with `SessionStore.repair_session`.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from session_memory.core.errors import HeadMoved, NewerSchema, NotOnPath, UnknownLiveSession
from session_memory.live.base import check_id
from session_memory.live.blocks import text_of
from session_memory.live.compaction import THRESHOLD, should_compact
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

SUMMARY = "[Conversation Summary]\n\n"
ACKNOWLEDGED = "I have read the summary and go on from there."

T = TypeVar("T")
Message = dict[str, Any]
SessionData = dict[str, Any]


# ---------------------------------------------------------------- messages and events


def build_message(role: str, blocks: list[Message], *, meta: Message | None = None) -> Message:
    return {"role": role, "content": blocks, **_meta(meta)}


def user_text_message(text: str, *, meta: Message | None = None) -> Message:
    return build_message("user", [text_block(text)], meta=meta)


def text_block(text: str, *, meta: Message | None = None) -> Message:
    return {"type": "text", "text": text, **_meta(meta)}


def thinking_block(text: str, *, meta: Message | None = None) -> Message:
    return {"type": "thinking", "text": text, **_meta(meta)}


def image_block(
    data: str, *, mime_type: str, name: str | None = None, meta: Message | None = None
) -> Message:
    return {"type": "image", "data": data, "mime_type": mime_type, **_named(name), **_meta(meta)}


def document_block(
    data: str, *, mime_type: str, name: str | None = None, meta: Message | None = None
) -> Message:
    return {"type": "document", "data": data, "mime_type": mime_type, **_named(name), **_meta(meta)}


def tool_use_block(
    *, tool_id: str, name: str, input: Message | None = None, meta: Message | None = None
) -> Message:
    called = {"type": "tool_use", "id": tool_id, "name": name, "input": dict(input or {})}
    return {**called, **_meta(meta)}


def tool_result_block(
    *,
    tool_use_id: str,
    model_text: str,
    display_text: str,
    is_error: bool = False,
    content: list[Message] | None = None,
    meta: Message | None = None,
) -> Message:
    """``model_text`` is what the model is told, ``display_text`` what a person is shown."""
    result = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "model_text": model_text,
        "display_text": display_text,
        "is_error": is_error,
    }
    return {**result, **({"content": content} if content else {}), **_meta(meta)}


def build_compact_event(
    summary_text: str,
    *,
    provider: str,
    model: str,
    compacted_count: int,
    usage: Message | None = None,
) -> Message:
    """To be appended: everything visible so far is then behind the summary."""
    meta = {"provider": provider, "model": model, "compacted_count": compacted_count}
    told = meta if usage is None else {**meta, "usage": usage}
    return build_message("compact", [text_block(summary_text)], meta=told)


def build_rewind_event(rewind_to: int) -> Message:
    return {"role": "rewind", "meta": {"rewind_to": rewind_to, "created_at": _iso(None)}}


def apply_compact(messages: Sequence[Message]) -> list[Message]:
    """A raw log with its last ``compact`` event as the summary that the model is sent."""
    places = [at for at, message in enumerate(messages) if message.get("role") == "compact"]
    if not places:
        return list(messages)
    last = places[-1]
    return [*_as_summary(text_of(messages[last].get("content"))), *messages[last + 1 :]]


def apply_rewind(messages: Sequence[Message]) -> list[Message]:
    """A raw log with its ``rewind`` events carried out, each on what was visible at its moment."""
    visible: list[Message] = []
    for message in messages:
        if message.get("role") != "rewind":
            visible.append(message)
            continue
        to = (message.get("meta") or {}).get("rewind_to", 0)
        if not _is_place(to, len(visible)):
            raise NotOnPath("of this log", to)
        visible = visible[:to]
    return visible


# ---------------------------------------------------------------- the store


class SessionStore:
    """One store for every session; ``place`` is a file or a ``postgresql://`` address."""

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
        """A session that is on no disk until `append_message` is called with its id."""
        draft = self._draft(None, title, provider=provider, model=model, cwd=cwd, api_base=api_base)
        now = _iso(None)
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
        """A new session; an id that is taken is refused, and what it names stays as it is."""
        told = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, title, **told)

        def create() -> SessionData:
            self._live.create_session(session_id=draft.session_id, **draft.fields)
            return self._loaded(draft.session_id)

        return await _in_thread(create)

    async def list_sessions(self, *, cwd: str | None = None) -> list[Message]:
        """Newest first."""
        where = _directory(cwd) if cwd else None

        def listed() -> list[Message]:
            return [_to_meta(row) for row in self._live.list_sessions(cwd=where, limit=ALL)]

        return await _in_thread(listed)

    async def latest_session(self, *, cwd: str | None = None) -> Message | None:
        where = _directory(cwd) if cwd else None
        row = await _in_thread(lambda: self._live.latest_session(cwd=where))
        return None if row is None else _to_meta(row)

    def load_session_sync(self, session_id: str) -> SessionData | None:
        """What the model is sent, and nothing is written, whoever is at work meanwhile."""
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
        """Hide it; only ``forget`` erases. Its id is not given out again."""
        check_id(session_id)
        await _in_thread(lambda: self._live.close_session(session_id))

    async def repair_session(self, session_id: str) -> int:
        """Give every call that was interrupted an error result behind it; how many there were."""
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
        """Append a message, or a ``compact`` or ``rewind`` event; the first makes the session."""
        told = {"provider": provider, "model": model, "cwd": cwd, "api_base": api_base}
        draft = self._draft(session_id, None, **told)
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
        """Leave the first ``rewind_to`` of the messages that `load_session` shows."""
        check_id(session_id)

        def rewind() -> None:
            if self._live.get_session(session_id) is not None:
                self._rewind(session_id, rewind_to)

        await _in_thread(rewind)

    def _rewind(self, session_id: str, rewind_to: Any) -> None:
        while True:
            head = self._live.head(session_id)
            ends = [end for _, end in self._visible(session_id)]
            if not _is_place(rewind_to, len(ends)):
                raise NotOnPath(session_id, rewind_to)
            to = ends[rewind_to - 1] if rewind_to else 0
            # Somebody may have appended meanwhile: then what is visible is looked at again.
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

    def _draft(self, session_id: str | None, title: str | None, **told: Any) -> Draft:
        metadata = {"message_format_version": MESSAGE_FORMAT_VERSION}
        told["cwd"] = _directory(told["cwd"])
        return self._live.draft_session(
            session_id=session_id, title=title or None, metadata=metadata, **told
        )

    def _loaded(self, session_id: str) -> SessionData:
        row = self._live.get_session(session_id)
        if row is None:
            raise UnknownLiveSession(session_id)
        return {"session": _to_meta(row), "messages": [m for m, _ in self._visible(session_id)]}

    def _visible(self, session_id: str) -> list[tuple[Message, int]]:
        """What a reader sees, each message with the seq at which the path ends behind it."""
        context = self._live.load_active_messages(session_id)
        ends = {fold.note_seq: fold.to_seq for fold in self._live.list_compactions(session_id)}

        def end(seq: int) -> int:
            return end(ends[seq]) if seq in ends else seq

        return [(shown, end(row.seq)) for row in context for shown in _as_mycode(row)]


def _as_mycode(row: MessageRow) -> Iterator[Message]:
    if row.name == "compact_note":
        yield from _as_summary(text_of(row.content))
    else:
        told = as_blocks(row)
        yield {name: told[name] for name in ("role", "content", "meta") if told.get(name)}


def _as_summary(text: str) -> list[Message]:
    synthetic = {"synthetic": True}
    return [
        build_message("user", [text_block(SUMMARY + text)], meta=synthetic),
        build_message("assistant", [text_block(ACKNOWLEDGED)], meta=synthetic),
    ]


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
        "created_at": _iso(row.created_at),
        "updated_at": _iso(row.updated_at),
    }


async def _in_thread(operation: Callable[[], T]) -> T:
    # Shielded: a caller that is cancelled does not wait, and what it began still ends whole.
    return await asyncio.shield(asyncio.to_thread(operation))


def _is_place(to: Any, length: int) -> bool:
    return isinstance(to, int) and not isinstance(to, bool) and 0 <= to <= length


def _directory(cwd: str) -> str:
    return os.path.abspath(cwd)  # noqa: PTH100


def _iso(milliseconds: int | None) -> str:
    moment = datetime.now(UTC) if milliseconds is None else None
    return (moment or datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)).isoformat()


def _meta(meta: Message | None) -> Message:
    return {"meta": dict(meta)} if meta else {}


def _named(name: str | None) -> Message:
    return {"name": name} if name else {}
