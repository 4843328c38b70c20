"""The OpenAI Agents SDK's ``Session``, stored as a live session.

Items are returned equal to what was added. Nothing is erased: ``session-memory live undo`` restores
a popped item and a cleared conversation. In place of folded messages, their summary is returned.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from session_memory.core.errors import MissingExtra
from session_memory.core.live_errors import HeadMoved, UnknownLiveSession
from session_memory.integrations.verbatim import RECORD, is_shown
from session_memory.live.aio import AsyncSessionStore
from session_memory.live.connection import SESSION_ID
from session_memory.live.rows import MessageRow
from session_memory.live.store import SessionStore

try:
    from agents.memory.session_settings import SessionSettings, coerce_session_settings
except ImportError as error:
    raise MissingExtra("openai-agents") from error

PROVIDER = "openai-agents"

_ROLES = ("user", "assistant", "system", "developer")
_OUTPUT = re.compile(r"_(call_)?output$")

Item = Any


class LiveSession:
    """The SDK's session, stored as a live session. Pass it as ``Runner.run(..., session=...)``.

    Several sessions may share one ``AsyncSessionStore``. With a path or an address the session
    opens a store of its own, and `close` closes it.
    """

    def __init__(
        self,
        session_id: str,
        store: AsyncSessionStore | str | Path | None = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(
            SessionSettings() if session_settings is None else session_settings
        )
        self._owns_store = not isinstance(store, AsyncSessionStore)
        self._store = (
            store
            if isinstance(store, AsyncSessionStore)
            else AsyncSessionStore(SessionStore.open(store))
        )
        self._live_id = _live_id(session_id)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """The conversation, or its last ``limit`` items, oldest first."""
        default = self.session_settings.limit if self.session_settings else None
        most = default if limit is None else limit
        try:
            messages = await self._messages(most)
        except UnknownLiveSession:
            return []
        return [_to_item(message) for message in messages]

    async def _messages(self, most: int | None) -> list[MessageRow]:
        if most == 0:
            return []
        if most is None or most < 0:
            return list(await self._store.load_active_messages(self._live_id))
        if not await self._store.list_compactions(self._live_id):
            return list(await self._store.load_tail(self._live_id, most))
        return list(await self._store.load_active_messages(self._live_id))[-most:]

    async def add_items(self, items: Sequence[Item]) -> None:
        """Add items at the end, all or none. The first items create the session."""
        if items:
            metadata = {"session_id": self.session_id}
            draft = self._store.draft_session(
                session_id=self._live_id, provider=PROVIDER, metadata=metadata
            )
            await self._store.append_messages(draft, [_to_message(dict(item)) for item in items])

    async def pop_item(self) -> Item | None:
        """Remove the last item and return it; None if there is none.

        Concurrent callers get different items.
        """
        while True:
            try:
                tail = await self._store.load_tail(self._live_id, 2)
            except UnknownLiveSession:
                return None
            if not tail:
                return None
            before = tail[-2].seq if len(tail) > 1 else 0
            try:
                await self._store.rewind(self._live_id, before, expect=tail[-1].seq)
            except HeadMoved:
                continue
            return _to_item(tail[-1])

    async def clear_session(self) -> None:
        try:
            await self._store.clear_session(self._live_id)
        except UnknownLiveSession:
            return

    async def close(self) -> None:
        """Close the store if this session opened it."""
        if self._owns_store:
            await self._store.close()


def _live_id(session_id: str) -> str:
    """The live session's id: the session's own id if it is valid, else a hash of it."""
    if SESSION_ID.fullmatch(session_id) and ".." not in session_id:
        return session_id
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"x-{digest[:32]}"


def _to_message(item: dict[str, Any]) -> dict[str, Any]:
    match item:
        case {"type": "function_call", "call_id": str(call_id), "name": str(name)}:
            function = {"name": name, "arguments": item.get("arguments")}
            call = {"id": call_id, "type": "function", "function": function}
            rest = _without(item, "call_id", "name", "arguments")
            return {"role": "assistant", "tool_calls": [call], "meta": {RECORD: rest}}
        case {"type": "function_call_output", "call_id": str(call_id), "output": output} if (
            is_shown(output)
        ):
            result = {"role": "tool", "content": output, "tool_call_id": call_id}
            return {**result, "meta": {RECORD: _without(item, "call_id", "output")}}
        case {"role": str(role), "content": content} if role in _ROLES and is_shown(content):
            rest = _without(item, "role", "content")
            return {"role": role, "content": content, "meta": {RECORD: rest}}
    kind = str(item.get("type"))
    role = "tool" if _OUTPUT.search(kind) else "assistant"
    return {"role": role, "name": kind, "meta": {RECORD: item}}


def _to_item(message: MessageRow) -> Item:
    if RECORD not in message.meta:
        return _plain_item(message)
    rest = message.meta[RECORD]
    if message.name is not None:
        return rest
    if message.tool_calls:
        call = message.tool_calls[0]
        return {**rest, "call_id": call["id"], **_present(call["function"])}
    if message.tool_call_id:
        return {**rest, "call_id": message.tool_call_id, "output": message.content}
    return {"role": message.role, "content": message.content, **rest}


def _plain_item(message: MessageRow) -> Item:
    """An item for a message that the SDK did not add: a note or a repair."""
    if message.tool_call_id:
        output = {"call_id": message.tool_call_id, "output": message.content}
        return {"type": "function_call_output", **output}
    return {"role": message.role, "content": message.content or ""}


def _present(function: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in function.items() if value is not None}


def _without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}
