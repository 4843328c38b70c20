"""Messages: append below the head, and read the path back.

The head is always the end of the session's present lane, so an append looks at nothing but the
session's own row, and costs the same however long the session is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from session_memory.core.errors import InvalidRecord, StoreDamaged, UnknownLiveSession
from session_memory.core.text import escaped, short_repr
from session_memory.live.base import decode, from_json, is_usable, now, to_json
from session_memory.live.blocks import text_of
from session_memory.live.context import arranged
from session_memory.live.lanes import COLUMNS, Cut, Lanes
from session_memory.live.rows import CompactionRow, MessageRow, MessageState
from session_memory.live.sessions import Draft, Sessions
from session_memory.store.database import Row
from session_memory.store.zstandard import zstd

TITLE = 48
_ROLES = frozenset({"user", "assistant", "system", "tool"})
# What is longer lies in a body of its own, once for all messages that say the same.
LONGEST_INLINE = 64 * 1024
PREVIEW = 2000

_ADVANCE = """
    update live_sessions
    set next_seq = next_seq + :count, head = next_seq + :count - 1, updated_at = :now,
        revision = revision + 1
    where session_id = :session and status = 'active'{guard}
    returning id, lane_id, head, title
"""
_SET_TITLE = "update live_sessions set title = :title where id = :key and title is null"
_HEAD = "select id, lane_id, head from live_sessions where session_id = :session"
_INSERTED = ("lane_id", *COLUMNS)
OF_SESSION = f"""
    select {", ".join(COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key) and seq > :after
    order by seq
"""
_ANY = f"""
    select {", ".join(COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key) and seq = :seq
"""
_IN_LANE = f"select {', '.join(COLUMNS)} from live_messages where lane_id = :lane and seq = :seq"
_FIND_KEY = "select seq, count from live_keys where session_key = :key and append_key = :append"
_KEYS = ("session_key", "append_key", "seq", "count")
_FIND_BODY = "select body from live_bodies where hash = :hash"
_KEEP_BODY = """
    insert into live_bodies (hash, length, body) values (:hash, :length, :body)
    on conflict (hash) do nothing
"""
_FOLDS = """
    select compact_seq, note_seq, from_seq, to_seq, before_tokens, after_tokens, round_index,
           created_at, members, undone_at, note_lane
    from live_folds where session_key = :key order by compact_seq
"""

Message = Mapping[str, Any]
Stored = tuple[tuple[Any, ...], bytes | None]
"""The columns of a row from ``stands_after`` on, and the body that it refers to."""


class Messages(Lanes, Sessions):
    # ------------------------------------------------------------ append

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
        """Add a message below the head and move the head to it; its seq.

        ``key`` makes a repeated append a no-op that gives the first one's seq; ``expect`` is the
        head the caller believes in; ``fence`` is that of its lease. A draft becomes a session with
        its first message, in the same transaction.
        """
        row = stored(role, content, tool_calls, tool_call_id, name, round_index, meta, now())
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
        """Add several, all or none; their seqs."""
        if not messages:
            return []
        at = now()
        rows = [stored_message(message, at) for message in messages]
        return list(self._append(session_id, rows, key, expect, fence))

    def _append(
        self,
        session: str | Draft,
        rows: Sequence[Stored],
        key: str | None,
        expect: int | None,
        fence: int | None,
    ) -> Sequence[int]:
        session_id = session.session_id if isinstance(session, Draft) else session
        with self._writing():
            if isinstance(session, Draft):
                self._begun(session_id, session.fields)
            if key is not None and (seqs := self._appended(session_id, key)):
                return seqs
            count = len(rows)
            session_key, lane, head, title = self._advance(session_id, count, expect, fence)
            first = head - count + 1
            self._insert(lane, first, rows)
            if key is not None:
                told = (session_key, _digest(key), first, count)
                self._db.insert("live_keys", _KEYS, [told])
            if title is None:
                self._name(session_key, rows)
        return range(first, head + 1)

    def _advance(
        self, session_id: str, count: int, expect: int | None = None, fence: int | None = None
    ) -> tuple[int, int, int, str | None]:
        """Take the next ``count`` seqs: ``(session key, lane, new head, title)``."""
        told = {"session": session_id, "now": now(), "count": count}
        key, lane, head, title = self._changed(_ADVANCE, session_id, fence, expect, told)
        return key, lane, head, title

    def _insert(self, lane: int, first: int, rows: Sequence[Stored]) -> None:
        for _, body in rows:
            if body is not None:
                self._keep_body(body)
        if len(rows) == 1:
            self._db.insert_one("live_messages", _INSERTED, (lane, first, *rows[0][0]))
            return
        values = [(lane, seq, *columns) for seq, (columns, _) in enumerate(rows, start=first)]
        self._db.insert("live_messages", _INSERTED, values)

    def _keep_body(self, body: bytes) -> None:
        packed = zstd.compress(body, 3)
        told = {"hash": sha256(body).digest(), "length": len(body), "body": packed}
        self._db.execute(_KEEP_BODY, told)

    def _appended(self, session_id: str, key: str) -> Sequence[int]:
        """The seqs of an earlier append with the same key, in this session."""
        # Held first: of two that come with one key at once, the second must see the first.
        session_key = self._lock_row(session_id)[0]
        told = {"key": session_key, "append": _digest(key)}
        found = self._db.one(_FIND_KEY, told)
        return () if found is None else range(found[0], found[0] + found[1])

    def _name(self, session_key: int, rows: Iterable[Stored]) -> None:
        """The first thing a person said is the title, until somebody gives a better one."""
        for columns, _ in rows:
            if title := _title(columns):
                self._db.execute(_SET_TITLE, {"key": session_key, "title": title})
                return

    # ------------------------------------------------------------ read

    def load_active_messages(self, session_id: str) -> list[MessageRow]:
        """The context: what the model is sent, each message once or behind exactly one note."""
        with self._reading():
            return self._context(session_id)

    def load_path(self, session_id: str) -> list[MessageRow]:
        """Root to head, as if nothing had ever been folded."""
        with self._reading():
            _, lane, head = self._where(session_id)
            return self._path(session_id, list(self._cuts(lane, head)))

    def load_all_messages(self, session_id: str) -> list[MessageRow]:
        """Everything ever appended or inherited, by seq; ``state`` says where it is now."""
        with self._reading():
            key, lane, head = self._where(session_id)
            path = self._path(session_id, list(self._cuts(lane, head)))
            folds, notes = self._folds(session_id, key)
            rows = self._db.all(OF_SESSION, {"key": key, "after": 0})
            rows += self._rows(self._inherited(key))
            every = {m.seq: m for m in (*self._messages(session_id, rows), *notes.values(), *path)}
        on_path = [message.seq for message in path]
        order, in_force = arranged(on_path, folds)
        folded = {*on_path, *(fold.note_seq for fold in in_force)}.difference(order)
        for seq in every.keys() - order:
            state = MessageState.COMPACTED_OUT if seq in folded else MessageState.REWOUND
            every[seq].state = state
        return [every[seq] for seq in sorted(every)]

    def load_tail(self, session_id: str, count: int = 50) -> list[MessageRow]:
        """The last ``count`` messages of the path; costs the same however long it is."""
        with self._reading():
            _, lane, head = self._where(session_id)
            return self._messages(session_id, self._last_rows(self._cuts(lane, head), count))

    def get_message(self, session_id: str, seq: int) -> MessageRow | None:
        """A message of this session or of the past it shares, on its path or off it."""
        if not is_usable(session_id) or not isinstance(seq, int) or not 0 < seq < 2**63:
            return None
        with self._reading():
            found = self._db.one(_HEAD, {"session": session_id})
            return None if found is None else self._one(session_id, seq, found)

    def _one(self, session_id: str, seq: int, where: Row) -> MessageRow | None:
        key, lane, head = where
        cuts = list(self._cuts(lane, head))
        folds, notes = self._folds(session_id, key)
        row = self._on_path(iter(cuts), seq)
        state = MessageState.REWOUND if row is None else MessageState.ACTIVE
        if folds:
            order, in_force = arranged(self._seqs(cuts), folds)
            if seq in order:
                state = MessageState.ACTIVE
            elif row is not None or seq in {fold.note_seq for fold in in_force}:
                state = MessageState.COMPACTED_OUT
        if row is None and seq not in notes:
            row = self._db.one(_ANY, {"key": key, "seq": seq})
            row = row or self._on_path(iter(self._inherited(key)), seq)
        message = notes.get(seq) if row is None else self._message(session_id, row)
        if message is not None:
            message.state = state
        return message

    def head(self, session_id: str) -> int:
        """The seq of the last message that was added to the path; 0 while there is none."""
        with self._reading():
            return self._where(session_id)[2]

    # ------------------------------------------------------------ within a transaction

    def _where(self, session_id: str) -> tuple[int, int, int]:
        """``(session key, lane, head)``."""
        found = self._db.one(_HEAD, {"session": session_id}) if is_usable(session_id) else None
        if found is None:
            raise UnknownLiveSession(session_id)
        return found[0], found[1], found[2]

    def _path(self, session_id: str, cuts: Sequence[Cut]) -> list[MessageRow]:
        return self._messages(session_id, self._rows(cuts))

    def _context(self, session_id: str) -> list[MessageRow]:
        """Without reading what lies behind a note."""
        key, lane, head = self._where(session_id)
        cuts = list(self._cuts(lane, head))
        folds, notes = self._folds(session_id, key)
        if not folds:
            return self._path(session_id, cuts)
        seqs = self._seqs(cuts)
        order, _ = arranged(seqs, folds)
        hidden = set(seqs).difference(order)
        rows = self._rows_without(cuts, hidden)
        messages = {**notes, **{m.seq: m for m in self._messages(session_id, rows)}}
        return [messages[seq] for seq in order]

    def _folds(
        self, session_id: str, key: int
    ) -> tuple[list[CompactionRow], dict[int, MessageRow]]:
        """Every fold of the session in their order, and the notes that stand for them."""
        folds, notes = [], {}
        for row in self._db.all(_FOLDS, {"key": key}):
            folds.append(to_fold(session_id, row))
            note = self._db.one(_IN_LANE, {"lane": row[10], "seq": row[1]})
            if note is None:
                raise StoreDamaged(f"session {short_repr(session_id)}", f"note {row[1]} is missing")
            notes[row[1]] = self._message(session_id, note)
        return folds, notes

    def _messages(self, session_id: str, rows: Sequence[Row]) -> list[MessageRow]:
        try:
            return self._made(session_id, rows, decode)
        except msgspec.DecodeError:
            # Something odd is among them: half a surrogate pair, or a number that is none.
            return self._made(session_id, rows, from_json)

    def _made(
        self, session_id: str, rows: Sequence[Row], load: Callable[[str], Any]
    ) -> list[MessageRow]:
        """Written out, for a context has tens of thousands of them."""
        make, active = MessageRow, MessageState.ACTIVE
        made = []
        for row in rows:
            seq, after, role, name, content, blocks, calls, call, number, meta, body, at = row
            if body is not None:
                content, calls = self._unspilled(body)
            elif blocks is not None or calls is not None:
                content = content if blocks is None else load(blocks)
                calls = None if calls is None else load(calls)
            told = {} if meta is None else load(meta)
            # fmt: off
            made.append(make(
                session_id, seq, role, name, content, calls, call, number, active, told, at, after
            ))
            # fmt: on
        return made

    def _message(self, session_id: str, row: Row) -> MessageRow:
        return self._messages(session_id, [row])[0]

    def _unspilled(self, digest: bytes) -> tuple[Any, Any]:
        packed = self._db.value(_FIND_BODY, {"hash": digest})
        if packed is None:
            raise StoreDamaged(f"body {digest.hex()[:12]}", "it is missing")
        content, calls = from_json(zstd.decompress(packed))
        return content, calls


def to_fold(session_id: str, row: Row) -> CompactionRow:
    return CompactionRow(
        session_id=session_id,
        compact_seq=row[0],
        note_seq=row[1],
        from_seq=row[2],
        to_seq=row[3],
        before_tokens=row[4],
        after_tokens=row[5],
        round_index=row[6],
        created_at=row[7],
        members=from_json(row[8]),
        is_undone=row[9] is not None,
    )


# ---------------------------------------------------------------- a message as its row holds it


def stored_message(message: Message, at: int, stands_after: int | None = None) -> Stored:
    if not isinstance(message, Mapping):
        raise InvalidRecord(
            f"a message must be a mapping, not {short_repr(message)}", field="message"
        )
    told = message.get
    return stored(
        *(told("role"), told("content"), told("tool_calls"), told("tool_call_id"), told("name")),
        *(told("round_index"), told("meta"), at, stands_after),
    )


def stored(
    role: Any,
    content: Any,
    calls: Any,
    call_id: Any,
    name: Any,
    round_index: Any,
    meta: Any,
    at: int,
    stands_after: int | None = None,
) -> Stored:
    if not isinstance(role, str) or not role:
        raise InvalidRecord(f"role must be a text, not {short_repr(role)}", field="role")
    if isinstance(content, str):
        text, blocks = _in_text(content)
    else:
        text, blocks = None, None if content is None else to_json(content, "content")
    if calls is not None:
        calls = _listed(calls)
    if meta is not None:
        meta = _mapped(meta)
    body = digest = None
    if len(text or "") + len(blocks or "") + len(calls or "") > LONGEST_INLINE:
        exact = to_json(content, "content") if blocks is None else blocks
        body = f"[{exact},{calls or 'null'}]".encode()
        digest = sha256(body).digest()
        text, blocks, calls = escaped(text_of(content)[:PREVIEW]), None, None
    name = None if name is None else _text(name, "name")
    call_id = None if call_id is None else _text(call_id, "tool_call_id")
    role = role if role in _ROLES else _text(role, "role")
    number = None if round_index is None else _whole(round_index)
    return (
        (stands_after, role, name, text, blocks, calls, call_id, number, meta, digest, at),
        body,
    )


def _in_text(content: str) -> tuple[str, str | None]:
    """As text that every database holds; where that differs from what it was, exactly as well."""
    text = escaped(content)
    return text, None if text is content or text == content else to_json(content, "content")


def _listed(calls: Any) -> str | None:
    if not isinstance(calls, list | tuple):
        raise InvalidRecord(
            f"tool_calls must be a list, not {short_repr(calls)}", field="tool_calls"
        )
    return to_json(calls, "tool_calls") if calls else None


def _mapped(meta: Any) -> str | None:
    if not isinstance(meta, Mapping):
        raise InvalidRecord(f"meta must be a mapping, not {short_repr(meta)}", field="meta")
    return to_json(meta, "meta") if meta else None


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise InvalidRecord(f"{field} must be a text, not {short_repr(value)}", field=field)
    return escaped(str.__str__(value))


def _whole(number: Any) -> int:
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    raise InvalidRecord(
        f"round_index must be a whole number, not {short_repr(number)}", field="round_index"
    )


def _title(columns: tuple[Any, ...]) -> str | None:
    """What a person said, on one line; nothing for what was put in their mouth."""
    _, role, _, text, blocks, _, call_id, _, meta = columns[:9]
    if role != "user" or call_id is not None or (meta and from_json(meta).get("synthetic")):
        return None
    said = text if text is not None else text_of(from_json(blocks)) if blocks else ""
    return escaped(" ".join(said.split())[:TITLE]) or None


def _digest(key: str) -> bytes:
    """Of any length: an index takes no long keys."""
    return sha256(key.encode("utf-8", "surrogatepass")).digest()
