"""Live sessions as lines, for whoever reads logs: their rows are their own raw.

A session's messages, folds, moves and usage are put into one order, and each becomes a line of
JSON. Rows are only ever added, so the order of what is there stays; where two rows of different
tables could have come either way round and their times cannot tell, `order` may change its mind,
and ``digest_of`` shows that it did.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from session_memory.store.database import Database, Row
from session_memory.store.zstandard import zstd

MESSAGE, FOLD, MOVE, USAGE = range(4)
KINDS = 4

_HEADS = """
    select s.session_id, s.revision,
        coalesce((select max(u.id) from live_usage u where u.session_key = s.id), 0)
    from live_sessions s order by s.id
"""
_ABOUT_NAMES = (
    *("session_id", "created_at", "model", "kind", "parent_session_id", "spawn_tool_call_id"),
    *("spawn_depth", "title", "cwd", "provider", "forked_from", "forked_at"),
)
_ABOUT = f"select {', '.join(_ABOUT_NAMES)} from live_sessions where session_id = :session"
_KEY = "select id, model from live_sessions where session_id = :session"
# A note lies in a lane of its own and is part of its fold.
_SEQS = """
    select m.seq, m.lane_id, m.created_at from live_messages m
    join live_lanes l on l.id = m.lane_id
    where l.session_key = :key
        and not exists (select 1 from live_folds f where f.note_lane = l.id)
    order by m.seq
"""
# A fork has the folds of its past too; their notes are its origin's.
_FOLDS = """
    select f.compact_seq, f.note_seq, f.created_at from live_folds f
    join live_lanes l on l.id = f.note_lane
    where f.session_key = :key and l.session_key = :key order by f.compact_seq
"""
_MOVES = """
    select from_head, to_lane, to_head, created_at, kind from live_moves
    where session_key = :key order by id
"""
_USED = "select created_at from live_usage where session_key = :key order by id"
_FIRST_LANE = "select min(id) from live_lanes where session_key = :key"
_LANE = "select session_key, base_lane, base_at from live_lanes where id = :lane"
_BEFORE = """
    select max(seq) from live_messages
    where lane_id = :lane and seq < :seq and stands_after is null
"""
_NAME = "select session_id from live_sessions where id = :key"
_COLUMNS = (
    *("lane_id", "seq", "stands_after", "role", "name", "content", "blocks", "tool_calls"),
    *("tool_call_id", "round_index", "meta", "body", "created_at"),
)
_MESSAGES = f"""
    select {", ".join(_COLUMNS)} from live_messages
    where lane_id in (select id from live_lanes where session_key = :key)
        and seq between :first and :last
    order by seq
"""
_BODY = "select body from live_bodies where hash = :hash"
_FOLD_NAMES = (
    *("compact_seq", "note_seq", "from_seq", "to_seq", "members", "before_tokens"),
    *("after_tokens", "round_index", "created_at"),
)
_FOLD = f"""
    select {", ".join(_FOLD_NAMES)} from live_folds where session_key = :key and compact_seq = :fold
"""
_USAGE_NAMES = (
    *("send_index", "round_index", "prompt_tokens", "completion_tokens", "total_tokens"),
    *("cache_read_tokens", "cache_write_tokens", "model", "created_at"),
)
_USAGE = f"""
    select {", ".join(_USAGE_NAMES)} from live_usage where session_key = :key
    order by id limit :count offset :skip
"""


class LiveHead(NamedTuple):
    """How far a session is; nothing was written to it while both stay the same."""

    session_id: str
    revision: int
    last_usage: int


class LiveItem(NamedTuple):
    """A row in the order of its session. ``number`` is its seq, or counts its table from 1."""

    kind: int
    number: int

    @property
    def place(self) -> int:
        return self.number * KINDS + self.kind


class LiveRows:
    """Reads live sessions and writes nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def heads(self) -> list[LiveHead]:
        return [LiveHead(*row) for row in self._db.all(_HEADS)]

    def about(self, session_id: str) -> dict[str, Any] | None:
        """What is known of a session itself, apart from what was said in it."""
        row = self._db.one(_ABOUT, {"session": session_id})
        return None if row is None else dict(zip(_ABOUT_NAMES, row, strict=True))

    def order(self, session_id: str) -> list[LiveItem]:
        """Every row of a session, in the order in which they came."""
        key = self._key(session_id)
        if key is None:
            return []
        where = {"key": key[0]}
        return in_order(
            self._db.value(_FIRST_LANE, where) or 0,
            self._db.all(_SEQS, where),
            self._db.all(_FOLDS, where),
            self._db.all(_MOVES, where),
            [row[0] for row in self._db.all(_USED, where)],
        )

    def lines(self, session_id: str, items: Sequence[LiveItem]) -> Iterator[tuple[LiveItem, bytes]]:
        """Some rows as lines, in the order that is asked for."""
        key = self._key(session_id)
        if key is None or not items:
            return
        session = _LineWriter(self._db, session_id, *key)
        made = dict(session.lines(items))
        for item in items:
            if item in made:
                yield item, made[item]

    def line_at(self, session_id: str, place: int) -> bytes:
        """The line of one row, by its place; nothing when there is none."""
        item = LiveItem(place % KINDS, place // KINDS)
        return next((line for _, line in self.lines(session_id, [item])), b"")

    def _key(self, session_id: str) -> Row | None:
        return self._db.one(_KEY, {"session": session_id})


def digest_of(items: Iterable[LiveItem]) -> str:
    """The same while the order is: an item put among those that were there shows."""
    return f"{crc32(bytes(item.kind for item in items)):08x}"


# ---------------------------------------------------------------- the order


def in_order(
    first_lane: int,
    messages: Sequence[Row],
    folds: Sequence[Row],
    moves: Sequence[Row],
    used: Sequence[int],
) -> list[LiveItem]:
    """A move stands behind the last message of the lane it left, whatever clocks said; a fold at
    its note's seq; usage behind everything that is not later than it."""
    stream = list(_turned(first_lane, _by_seq(messages, folds), moves))
    found: list[LiveItem] = []
    clock = waiting = 0
    spent = list(_rising(used))
    for item, at in stream:
        clock = max(clock, at)
        while waiting < len(spent) and spent[waiting] < clock:
            found.append(LiveItem(USAGE, waiting + 1))
            waiting += 1
        found.append(item)
    found += [LiveItem(USAGE, number + 1) for number in range(waiting, len(spent))]
    return found


def _by_seq(
    messages: Sequence[Row], folds: Sequence[Row]
) -> list[tuple[LiveItem, int | None, int]]:
    """``(item, lane, time)`` by seq; a fold belongs to no lane."""
    said = [(seq, LiveItem(MESSAGE, seq), lane, at) for seq, lane, at in messages]
    said += [(note, LiveItem(FOLD, number), None, at) for number, note, at in folds]
    return [(item, lane, at) for _, item, lane, at in sorted(said, key=lambda each: each[0])]


def _turned(
    lane: int, stream: Sequence[tuple[LiveItem, int | None, int]], moves: Sequence[Row]
) -> Iterator[tuple[LiveItem, int]]:
    """The stream with the moves in it."""
    done = 0

    def is_here(item: LiveItem, there: int) -> bool:
        return there == lane and (done == len(moves) or item.number <= moves[done][0])

    for index, (item, its, at) in enumerate(stream):
        while done < len(moves):
            if its is not None:
                stays = is_here(item, its)
            else:
                # Behind a fold, the next message tells; where there is none, the time must.
                then = next((s for s in stream[index:] if s[1] is not None), None)
                stays = then is not None and is_here(then[0], then[1] or 0)
                stays = stays or at <= moves[done][3]
            if stays:
                break
            lane, done = moves[done][1], done + 1
            yield LiveItem(MOVE, done), moves[done - 1][3]
        yield item, at
    for number in range(done, len(moves)):
        yield LiveItem(MOVE, number + 1), moves[number][3]


def _rising(times: Iterable[int]) -> Iterator[int]:
    clock = 0
    for at in times:
        clock = max(clock, at)
        yield clock


# ---------------------------------------------------------------- the lines


class _LineWriter:
    """Makes the lines of one session."""

    def __init__(self, db: Database, session_id: str, key: int, model: str | None) -> None:
        self._db = db
        self._id = session_id
        self._key = key
        self._model = model
        self._lanes: dict[int, Row] = {}
        self._last: dict[int, int] = {}

    def lines(self, items: Sequence[LiveItem]) -> Iterator[tuple[LiveItem, bytes]]:
        make: dict[int, Callable[[set[int]], Iterator[tuple[int, dict[str, Any]]]]] = {
            MESSAGE: self._messages,
            FOLD: self._folds,
            MOVE: self._moves,
            USAGE: self._usage,
        }
        for kind, rows in make.items():
            wanted = {item.number for item in items if item.kind == kind}
            for number, row in rows(wanted) if wanted else ():
                item = LiveItem(kind, number)
                yield item, _line({"place": item.place, **row})

    def _messages(self, wanted: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        window = {"key": self._key, "first": min(wanted), "last": max(wanted)}
        for row in self._db.all(_MESSAGES, window):
            if row[1] in wanted:
                yield row[1], {"row": "message", **self._message(row)}
            elif row[2] is None:
                self._last[row[0]] = row[1]

    def _message(self, row: Row) -> dict[str, Any]:
        told = dict(zip(_COLUMNS, row, strict=True))
        lane, body, blocks = told.pop("lane_id"), told.pop("body"), told.pop("blocks")
        told["tool_calls"], told["meta"] = _value(told["tool_calls"]), _value(told["meta"])
        if body is not None:
            told["content"], told["tool_calls"] = self._body(body, told["content"])
        elif blocks is not None:
            told["content"] = _value(blocks)
        if told["role"] == "assistant":
            told["model"] = self._model
        told["below"] = self._below(lane, told["seq"], told["stands_after"])
        return _said(told)

    def _body(self, digest: bytes, preview: Any) -> tuple[Any, Any]:
        """A long message's content and calls; its beginning where the rest is lost."""
        packed = self._db.value(_BODY, {"hash": digest})
        whole = None if packed is None else _value(zstd.decompress(packed).decode())
        return (whole[0], whole[1]) if isinstance(whole, list) else (preview, None)

    def _below(self, lane: int, seq: int, stands_after: int | None) -> list[Any] | None:
        """The message that one hangs on: the one before it in its lane, or where that began."""
        if stands_after is not None:
            return self._last_of(lane, stands_after)
        before = self._last.get(lane)
        if before is None or before >= seq:
            before = self._db.value(_BEFORE, {"lane": lane, "seq": seq})
        self._last[lane] = seq
        if before is not None:
            return [self._id, before]
        _, base, base_at = self._lane(lane)
        return self._last_of(base, base_at)

    def _last_of(self, lane: int | None, upto: int) -> list[Any] | None:
        """``[session, seq]`` of the last message on a path, which goes back from lane to lane.

        Repairs are passed over: they stand beside what they repair, and nothing hangs on them.
        """
        while lane is not None:
            key, base, base_at = self._lane(lane)
            found = self._db.value(_BEFORE, {"lane": lane, "seq": upto + 1})
            if found is not None:
                name = self._id if key == self._key else self._db.value(_NAME, {"key": key})
                return [name, found]
            lane, upto = base, min(upto, base_at)
        return None

    def _lane(self, lane: int) -> Row:
        if lane not in self._lanes:
            self._lanes[lane] = self._db.one(_LANE, {"lane": lane}) or (0, None, 0)
        return self._lanes[lane]

    def _folds(self, wanted: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number in wanted:
            row = self._db.one(_FOLD, {"key": self._key, "fold": number})
            if row is None:
                continue
            told = dict(zip(_FOLD_NAMES, row, strict=True))
            told["members"] = json.loads(told["members"])
            note = {"key": self._key, "first": told["note_seq"], "last": told["note_seq"]}
            notes = [self._message(found) for found in self._db.all(_MESSAGES, note)]
            yield number, {"row": "fold", **told, "note": notes[0] if notes else None}

    def _moves(self, wanted: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in enumerate(self._db.all(_MOVES, {"key": self._key}), start=1):
            if number in wanted:
                from_head, to_lane, to_head, at, kind = row
                to = self._last_of(to_lane, to_head)
                told = {"row": "move", "kind": kind, "from": from_head, "to": to, "created_at": at}
                yield number, told

    def _usage(self, wanted: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        first = min(wanted)
        window = {"key": self._key, "count": max(wanted) - first + 1, "skip": first - 1}
        for number, row in enumerate(self._db.all(_USAGE, window), start=first):
            if number in wanted:
                told = dict(zip(_USAGE_NAMES, row, strict=True))
                yield number, {"row": "usage", "number": number, **told}


def _value(text: str | None) -> Any:
    """What a column of JSON holds; as text where it is nested deeper than can be read."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text


def _line(row: dict[str, Any]) -> bytes:
    # Escaped: a text may hold what no encoding takes.
    return json.dumps(_said(row)).encode() + b"\n"


def _said(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
