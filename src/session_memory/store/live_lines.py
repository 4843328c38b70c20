"""The rows of a live session as lines of JSON, in the form that the adapter ``live`` reads."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from session_memory.store.database import Database, Row
from session_memory.store.live_imports import LiveImports, SessionImport, place_in
from session_memory.store.live_order import FOLD, MESSAGE, MOVE, USAGE, LiveItem
from session_memory.store.zstandard import zstd

MOVES = """
    select from_head, to_lane, to_head, created_at, kind from live_moves
    where session_key = :key order by id
"""
_LANE = "select session_key, base_lane, base_at from live_lanes where id = :lane"
_BEFORE = """
    select max(seq) from live_messages
    where lane_id = :lane and seq < :seq and stands_after is null
"""
_NAME = "select session_id from live_sessions where id = :key"
_MESSAGE_COLUMNS = (
    *("lane_id", "seq", "stands_after", "role", "name", "content", "blocks", "tool_calls"),
    *("tool_call_id", "round_index", "meta", "body", "created_at"),
)
_MESSAGES = f"""
    select {", ".join(_MESSAGE_COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key)
        and seq between :first and :last
    order by seq
"""
_BODY = "select body from live_bodies where hash = :hash"
_FOLD_COLUMNS = (
    *("compact_seq", "note_seq", "from_seq", "to_seq", "members", "before_tokens"),
    *("after_tokens", "round_index", "created_at"),
)
_FOLD = f"""
    select {", ".join(_FOLD_COLUMNS)} from live_folds
    where session_key = :key and compact_seq = :fold
"""
_USAGE_COLUMNS = (
    *("send_index", "round_index", "prompt_tokens", "completion_tokens", "total_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "model", "created_at"),
)
_USAGE = f"""
    select {", ".join(_USAGE_COLUMNS)} from live_usage where session_key = :key
    order by id limit :count offset :skip
"""

NumberedRows = Iterator[tuple[int, dict[str, Any]]]


class LineWriter:
    """Builds the lines of one session from its rows."""

    def __init__(self, db: Database, session_id: str, key: int, model: str | None) -> None:
        self._db = db
        self._id = session_id
        self._key = key
        self._model = model
        self._lanes: dict[int, Row] = {}
        self._last_seq: dict[int, int] = {}
        self._imports: dict[int, SessionImport | None] = {}

    def lines(self, items: Sequence[LiveItem]) -> Iterator[tuple[LiveItem, bytes]]:
        """Each item with its line, grouped by kind."""
        rows_of: dict[int, Callable[[set[int]], NumberedRows]] = {
            MESSAGE: self._messages,
            FOLD: self._folds,
            MOVE: self._moves,
            USAGE: self._usage,
        }
        for kind, rows in rows_of.items():
            numbers = {item.number for item in items if item.kind == kind}
            for number, row in rows(numbers) if numbers else ():
                item = LiveItem(kind, number)
                yield item, _line({"place": item.place, **row})

    def _messages(self, seqs: set[int]) -> NumberedRows:
        window = {"key": self._key, "first": min(seqs), "last": max(seqs)}
        for row in self._db.all(_MESSAGES, window):
            if row[1] in seqs:
                yield row[1], {"row": "message", **self._message(row)}
            elif row[2] is None:
                self._last_seq[row[0]] = row[1]

    def _message(self, row: Row) -> dict[str, Any]:
        message = dict(zip(_MESSAGE_COLUMNS, row, strict=True))
        lane, body, blocks = (message.pop(name) for name in ("lane_id", "body", "blocks"))
        message["tool_calls"] = decoded(message["tool_calls"])
        message["meta"] = decoded(message["meta"])
        if body is not None:
            message["content"], message["tool_calls"] = self._body(body, message["content"])
        elif blocks is not None:
            message["content"] = decoded(blocks)
        if message["role"] == "assistant":
            message["model"] = self._model
        message["below"] = self._parent(lane, message["seq"], message["stands_after"])
        return _without_nulls(message)

    def _body(self, digest: bytes, preview: Any) -> tuple[Any, Any]:
        """The content and tool calls of a long message, or its preview if the body is missing."""
        packed = self._db.value(_BODY, {"hash": digest})
        whole = None if packed is None else decoded(zstd.decompress(packed).decode())
        return (whole[0], whole[1]) if isinstance(whole, list) else (preview, None)

    def _parent(self, lane: int, seq: int, stands_after: int | None) -> list[Any] | str | None:
        """``[session, seq]`` of the message before this one on its path.

        If that message repeats a record of a collected origin, the native id of this record.
        """
        if stands_after is not None:
            return self._last_on_path(lane, stands_after)
        before = self._last_seq.get(lane)
        if before is None or before >= seq:
            before = self._db.value(_BEFORE, {"lane": lane, "seq": seq})
        self._last_seq[lane] = seq
        if before is not None:
            return self._place(self._key, before)
        _, base, base_at = self._lane(lane)
        return self._last_on_path(base, base_at)

    def _place(self, key: int, seq: int) -> list[Any] | str:
        if key not in self._imports:
            self._imports[key] = LiveImports(self._db).of_key(key)
        name = self._id if key == self._key else self._db.value(_NAME, {"key": key})
        return place_in(self._imports[key], seq) or [name, seq]

    def _last_on_path(self, lane: int | None, upto: int) -> list[Any] | str | None:
        """``[session, seq]`` of the last message on a path, following the lanes back.

        Results that `repair` inserted are skipped, because no message continues them.
        """
        while lane is not None:
            key, base, base_at = self._lane(lane)
            seq = self._db.value(_BEFORE, {"lane": lane, "seq": upto + 1})
            if seq is not None:
                return self._place(key, seq)
            lane, upto = base, min(upto, base_at)
        return None

    def _lane(self, lane: int) -> Row:
        if lane not in self._lanes:
            self._lanes[lane] = self._db.one(_LANE, {"lane": lane}) or (0, None, 0)
        return self._lanes[lane]

    def _folds(self, numbers: set[int]) -> NumberedRows:
        for number in numbers:
            row = self._db.one(_FOLD, {"key": self._key, "fold": number})
            if row is None:
                continue
            fold = dict(zip(_FOLD_COLUMNS, row, strict=True))
            fold["members"] = json.loads(fold["members"])
            window = {"key": self._key, "first": fold["note_seq"], "last": fold["note_seq"]}
            notes = [self._message(note) for note in self._db.all(_MESSAGES, window)]
            yield number, {"row": "fold", **fold, "note": notes[0] if notes else None}

    def _moves(self, numbers: set[int]) -> NumberedRows:
        for number, row in enumerate(self._db.all(MOVES, {"key": self._key}), start=1):
            if number in numbers:
                from_head, to_lane, to_head, at, kind = row
                to = self._last_on_path(to_lane, to_head)
                move = {"row": "move", "kind": kind, "from": from_head, "to": to, "created_at": at}
                yield number, move

    def _usage(self, numbers: set[int]) -> NumberedRows:
        first = min(numbers)
        window = {"key": self._key, "count": max(numbers) - first + 1, "skip": first - 1}
        for number, row in enumerate(self._db.all(_USAGE, window), start=first):
            if number in numbers:
                usage = dict(zip(_USAGE_COLUMNS, row, strict=True))
                usage["model"] = usage["model"] or self._model
                yield number, {"row": "usage", "number": number, **usage}


def decoded(text: str | None) -> Any:
    """The value of a JSON column, or its text if it is nested too deeply."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text


def _line(row: dict[str, Any]) -> bytes:
    # ASCII with escapes, because a text may contain lone surrogates.
    return json.dumps(_without_nulls(row)).encode() + b"\n"


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
