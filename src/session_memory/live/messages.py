"""Append messages.

The head is always the end of the session's current branch. So an append reads only the session's
own row, and its cost does not depend on the length of the session.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from session_memory.live.arguments import several
from session_memory.live.branches import COLUMNS
from session_memory.live.connection import now
from session_memory.live.message_encoding import (
    EncodedMessage,
    Message,
    encode_fields,
    encode_message,
    key_digest,
    title_of,
)
from session_memory.live.message_reading import MessageReader
from session_memory.live.sessions import Draft, SessionOperations
from session_memory.store.zstandard import zstd

_ADVANCE = """
    update live_sessions
    set next_seq = next_seq + :count, head = next_seq + :count - 1, updated_at = :now,
        revision = revision + 1
    where session_id = :session and status = 'active'{guard}
    returning id, lane_id, head, title
"""
_SET_TITLE = "update live_sessions set title = :title where id = :key and title is null"
_INSERTED = ("lane_id", *COLUMNS)
_FIND_KEY = "select seq, count from live_keys where session_key = :key and append_key = :append"
_KEYS = ("session_key", "append_key", "seq", "count")
# The update locks an equal body until the message that refers to it is stored. So the body stays if
# another message with it is erased at the same time.
_KEEP_BODY = """
    insert into live_bodies (hash, length, body) values (:hash, :length, :body)
    on conflict (hash) do update set length = excluded.length
"""


class MessageOperations(MessageReader, SessionOperations):
    def append_message(
        self,
        session_id: str | Draft,
        *,
        role: str,
        content: str | list[dict[str, Any]] | None = None,
        tool_calls: list[dict[str, Any]] | None = None,
        tool_call_id: str | None = None,
        name: str | None = None,
        round_index: int | None = None,
        meta: dict[str, Any] | None = None,
        key: str | None = None,
        expect: int | None = None,
        fence: int | None = None,
    ) -> int:
        """Append a message after the head and return its seq. It becomes the new head.

        With a ``key``, a repeated append adds nothing and returns the first seq. With ``expect``,
        the append is refused if the head is another message. ``fence`` is the number of the
        caller's lease. A draft becomes a session with its first message, in the same transaction.
        """
        row = encode_fields(role, content, tool_calls, tool_call_id, name, round_index, meta, now())
        return self._append(session_id, (row,), key, expect, fence)[0]

    def append_messages(
        self,
        session_id: str | Draft,
        messages: Sequence[Message],
        *,
        key: str | None = None,
        expect: int | None = None,
        fence: int | None = None,
    ) -> list[int]:
        """Append several messages, all or none, and return their seqs."""
        if not messages:
            return []
        at = now()
        rows = [encode_message(message, at) for message in several(messages, "messages")]
        return list(self._append(session_id, rows, key, expect, fence))

    def _append(
        self,
        session: str | Draft,
        rows: Sequence[EncodedMessage],
        key: str | None,
        expect: int | None,
        fence: int | None,
    ) -> Sequence[int]:
        session_id = session.session_id if isinstance(session, Draft) else session
        with self._writing():
            if isinstance(session, Draft):
                self._create_if_new(session_id, session.fields)
            if key is not None and (seqs := self._appended(session_id, key)):
                return seqs
            count = len(rows)
            session_key, branch, head, title = self._advance(session_id, count, expect, fence)
            first = head - count + 1
            self._insert(branch, first, rows)
            if key is not None:
                row = (session_key, key_digest(key), first, count)
                self._db.insert("live_keys", _KEYS, [row])
            if title is None:
                self._name(session_key, rows)
        return range(first, head + 1)

    def _advance(
        self, session_id: str, count: int, expect: int | None = None, fence: int | None = None
    ) -> tuple[int, int, int, str | None]:
        """Reserve ``count`` seqs. Returns ``(session key, branch, new head, title)``."""
        params = {"session": session_id, "now": now(), "count": count}
        key, branch, head, title = self._changed(_ADVANCE, session_id, fence, expect, params)
        return key, branch, head, title

    def _insert(self, branch: int, first: int, rows: Sequence[EncodedMessage]) -> None:
        bodies = {columns[-2]: body for columns, body in rows if body is not None}
        for digest, body in sorted(bodies.items()):
            self._keep_body(digest, body)
        if len(rows) == 1:
            self._db.insert_one("live_messages", _INSERTED, (branch, first, *rows[0][0]))
            return
        values = [(branch, seq, *columns) for seq, (columns, _) in enumerate(rows, start=first)]
        self._db.insert("live_messages", _INSERTED, values)

    def _keep_body(self, digest: bytes, body: bytes) -> None:
        params = {"hash": digest, "length": len(body), "body": zstd.compress(body, 3)}
        self._db.execute(_KEEP_BODY, params)

    def _appended(self, session_id: str, key: str) -> Sequence[int]:
        """The seqs of an earlier append to this session with the same key."""
        # The lock comes first: of two appends with one key, the second must see the first.
        session_key = self._lock_row(session_id)[0]
        params = {"key": session_key, "append": key_digest(key)}
        found = self._db.one(_FIND_KEY, params)
        return () if found is None else range(found[0], found[0] + found[1])

    def _name(self, session_key: int, rows: Iterable[EncodedMessage]) -> None:
        """Use the first prompt as the title of a session without one."""
        for columns, _ in rows:
            if title := title_of(columns):
                self._db.execute(_SET_TITLE, {"key": session_key, "title": title})
                return
