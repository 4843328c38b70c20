"""Lanes: which rows lie on a path, whoever wrote them and wherever the path turned.

A lane is a line of messages that only grows at its end; it begins where another lane was left (a
rewind, a fork) or with nothing. A path is a lane and those it was begun from, each up to a cut. A
message's place on the path is its seq, except that a repair stands behind the message it repairs;
so a cut is a place, and what was repaired before it later than it was cut does not belong to it.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from session_memory.core.errors import NotOnPath, StoreDamaged
from session_memory.live.base import Live
from session_memory.store.database import Row

COLUMNS = (
    "seq",
    "stands_after",
    "role",
    "name",
    "content",
    "blocks",
    "tool_calls",
    "tool_call_id",
    "round_index",
    "meta",
    "body",
    "created_at",
)
_LANE = "select base_lane, base_at, base_seq, base_limit from live_lanes where id = :lane"
_FIRST_LANE = """
    select base_lane, base_seq, base_at, base_limit from live_lanes
    where session_key = :key order by id limit 1
"""
_SELECT = f"select {', '.join(COLUMNS)} from live_messages"
_BETWEEN = f"{_SELECT} where lane_id = :lane and seq between :first and :upto order by seq"
_REPAIRS = f"""
    {_SELECT} where lane_id = :lane and stands_after is not null and stands_after <= :upto
    and stands_after >= :first and seq > :above and seq < :limit
"""
_LAST = f"""
    {_SELECT} where lane_id = :lane and seq <= :upto and stands_after is null
    order by seq desc limit :count
"""
_SEQS = """
    select seq from live_messages where lane_id = :lane and seq <= :upto order by seq
"""
_STANDING = """
    select seq, stands_after from live_messages where lane_id = :lane and stands_after is not null
"""
_STANDS = "select stands_after from live_messages where lane_id = :lane and seq = :seq"
_BEGINS = "select 1 from live_messages where lane_id = :lane and seq <= :upto limit 1"
_FIND = f"{_SELECT} where lane_id = :lane and seq = :seq"

# More holes than this in what is wanted of a lane, and it is cheaper to read it whole.
MOST_RUNS = 16

Place = tuple[int, int]
Base = tuple[int | None, int, int, int]


class Cut(NamedTuple):
    """The part of a lane on a path: up to ``place``, of what had a seq below ``limit``."""

    lane: int
    place: Place
    limit: int

    def holds(self, seq: int, stands_after: int | None) -> bool:
        return seq < self.limit and place(seq, stands_after) <= self.place


def place(seq: int, stands_after: int | None) -> Place:
    return (seq if stands_after is None else stands_after, seq)


def in_order(rows: list[Row]) -> list[Row]:
    """Rows by their place; they come by seq, which is nearly always the same."""
    if any(row[1] is not None for row in rows):
        rows.sort(key=lambda row: place(row[0], row[1]))
    return rows


def _runs(seqs: Sequence[int], hidden: Set[int]) -> list[tuple[int, int]]:
    """The stretches of ``seqs`` with nothing hidden in them; few, or else one over them all."""
    runs: list[tuple[int, int]] = []
    is_open = False
    for seq in seqs:
        if seq in hidden:
            is_open = False
        elif is_open:
            runs[-1] = (runs[-1][0], seq)
        else:
            runs.append((seq, seq))
            is_open = True
    return runs if len(runs) <= MOST_RUNS else [(runs[0][0], runs[-1][1])]


class Lanes(Live):
    """Everything here happens within a transaction of its caller's."""

    def _cuts(self, lane: int, head: int, limit: int | None = None) -> Iterator[Cut]:
        """The cuts of a path, from the head back; ``limit`` is the session's next seq."""
        return self._cuts_from(lane, (head, head), head + 1 if limit is None else limit)

    def _cuts_from(self, lane: int | None, upto: Place, limit: int) -> Iterator[Cut]:
        while lane is not None:
            yield Cut(lane, upto, limit)
            found = self._db.one(_LANE, {"lane": lane})
            if found is None:
                raise StoreDamaged(f"lane {lane}", "it is missing")
            lane, limit, upto = found[0], found[3], min(upto, (found[1], found[2]))

    def _inherited(self, key: int) -> list[Cut]:
        """The past that a fork began with, wherever it has gone since; nothing for others."""
        lane, last, at, limit = self._db.one(_FIRST_LANE, {"key": key}) or (None, 0, 0, 0)
        return list(self._cuts_from(lane, (at, last), limit))

    def _rows(self, cuts: Sequence[Cut]) -> list[Row]:
        """Every row of a path in its order."""
        rows: list[Row] = []
        for cut in reversed(cuts):
            rows += self._between(cut, 0, cut.place[0])
            rows += self._repairs(cut, 0)
        return in_order(rows)

    def _rows_without(self, cuts: Sequence[Cut], hidden: Set[int]) -> list[Row]:
        """The same without some, which are not read either where they lie together."""
        rows: list[Row] = []
        for cut in reversed(cuts):
            for first, last in _runs(self._lane_seqs(cut), hidden):
                rows += self._between(cut, first, last)
            rows += self._repairs(cut, 0)
        return in_order([row for row in rows if row[0] not in hidden])

    def _between(self, cut: Cut, first: int, upto: int) -> list[Row]:
        return self._db.all(_BETWEEN, {"lane": cut.lane, "first": first, "upto": upto})

    def _lane_seqs(self, cut: Cut) -> list[int]:
        return [row[0] for row in self._db.all(_SEQS, {"lane": cut.lane, "upto": cut.place[0]})]

    def _repairs(self, cut: Cut, first: int, above: int | None = None) -> list[Row]:
        """Repairs that stand from ``first`` on, made when the lane was longer than its cut."""
        at = cut.place[0]
        above = at if above is None else above
        if cut.limit <= above + 1:
            return []
        told = {"lane": cut.lane, "first": first, "upto": at, "above": above, "limit": cut.limit}
        return [row for row in self._db.all(_REPAIRS, told) if cut.holds(row[0], row[1])]

    def _seqs(self, cuts: Sequence[Cut]) -> list[int]:
        """The seqs of a path in its order, without reading a message."""
        seqs: list[int] = []
        standing: dict[int, int] = {}
        for cut in reversed(cuts):
            seqs += self._lane_seqs(cut)
            for seq, after in self._db.all(_STANDING, {"lane": cut.lane}):
                if cut.holds(seq, after):
                    standing[seq] = after
        if standing:
            known = {*seqs, *standing}
            return sorted(known, key=lambda seq: (standing.get(seq, seq), seq))
        return seqs

    def _last_rows(self, cuts: Iterator[Cut], count: int) -> list[Row]:
        """The last rows of a path, at a cost that does not depend on its length."""
        rows: list[Row] = []
        looked: list[Cut] = []
        if count <= 0:
            return rows
        for cut in cuts:
            told = {"lane": cut.lane, "upto": cut.place[0], "count": count - len(rows)}
            rows += self._db.all(_LAST, told)
            looked.append(cut)
            if len(rows) >= count:
                break
        oldest = rows[-1][0] if len(rows) >= count else 0
        for cut in looked:
            rows += self._repairs(cut, oldest, above=0)
        return sorted(rows, key=lambda row: place(row[0], row[1]))[-count:]

    def _on_path(self, cuts: Iterator[Cut], seq: int) -> Row | None:
        """The row of a message, if it is on the path."""
        for cut in cuts:
            row = self._db.one(_FIND, {"lane": cut.lane, "seq": seq}) if seq < cut.limit else None
            if row is not None and cut.holds(row[0], row[1]):
                return row
        return None

    def _base_at(self, session_id: str, to: int, where: tuple[int, int, int]) -> Base:
        """What a lane is begun with that goes on behind message ``to`` of the path."""
        lane, head, next_seq = where
        if isinstance(to, bool) or not isinstance(to, int) or not 0 <= to < next_seq:
            raise NotOnPath(session_id, to)
        if to == 0:
            return (None, 0, 0, 0)
        cuts = list(self._cuts(lane, head, next_seq))
        upto = (head, head) if to == head else self._place_of(session_id, cuts, to)
        return self._base_of(session_id, cuts, upto)

    def _base_of(self, session_id: str, cuts: Sequence[Cut], upto: Place) -> Base:
        for cut in cuts:
            short = cut._replace(place=min(cut.place, upto))
            if self._is_begun(short):
                # Lanes that give nothing to the path are left out of it.
                at, last = short.place
                return (cut.lane, last, at, cut.limit)
        raise NotOnPath(session_id, upto[1])

    def _place_of(self, session_id: str, cuts: Sequence[Cut], seq: int) -> Place:
        for cut in cuts:
            found = self._db.one(_STANDS, {"lane": cut.lane, "seq": seq})
            if found is not None and cut.holds(seq, found[0]):
                return place(seq, found[0])
        raise NotOnPath(session_id, seq)

    def _is_begun(self, cut: Cut) -> bool:
        found = self._db.one(_BEGINS, {"lane": cut.lane, "upto": cut.place[0]})
        return found is not None or bool(self._repairs(cut, 0))
