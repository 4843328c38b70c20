"""Find the messages on a path.

A branch is a line of messages that grows only at its end (table ``live_lanes``). It starts empty,
or after a message of another branch (a rewind or a fork). A path is a branch and the branches it
started from, each up to some position: its segments.

A message's position is its seq. A repair is an exception: its position is right after the message
it repairs. So a segment also has a ``limit``: a repair that was made after the path left the
branch has a seq of ``limit`` or more and is not on the path.
"""

from collections.abc import Iterator, Sequence, Set
from operator import countOf, itemgetter
from typing import NamedTuple

from session_memory.core.errors import StoreDamaged
from session_memory.core.live_errors import NotOnPath
from session_memory.live.connection import LiveConnection
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
    and stands_after >= :first and seq > :above
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

# With more gaps than this it is faster to read the whole branch.
MOST_RUNS = 16
_stands_after = itemgetter(1)

Position = tuple[int, int]
Base = tuple[int | None, int, int, int]


class Segment(NamedTuple):
    """The part of a branch on a path: up to ``position``, with seqs below ``limit``."""

    branch: int
    position: Position
    limit: int

    def holds(self, seq: int, stands_after: int | None) -> bool:
        return seq < self.limit and position(seq, stands_after) <= self.position


def position(seq: int, stands_after: int | None) -> Position:
    return (seq if stands_after is None else stands_after, seq)


def in_order(rows: list[Row]) -> list[Row]:
    """Sort rows by position. They come sorted by seq, which differs only with repairs."""
    if countOf(map(_stands_after, rows), None) < len(rows):
        rows.sort(key=lambda row: position(row[0], row[1]))
    return rows


def _runs(seqs: Sequence[int], hidden: Set[int]) -> list[tuple[int, int]]:
    """Ranges of ``seqs`` without hidden ones. With too many ranges: one over all of them."""
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


class BranchReader(LiveConnection):
    """Reads rows of a path. The caller has opened a transaction."""

    def _segments(self, branch: int, head: int, limit: int | None = None) -> Iterator[Segment]:
        """The segments of a path, from the head back. ``limit`` is the session's next seq."""
        return self._segments_from(branch, (head, head), head + 1 if limit is None else limit)

    def _segments_from(self, branch: int | None, upto: Position, limit: int) -> Iterator[Segment]:
        while branch is not None:
            yield Segment(branch, upto, limit)
            found = self._db.one(_LANE, {"lane": branch})
            if found is None:
                raise StoreDamaged(f"branch {branch}", "its row is missing")
            branch, limit, upto = found[0], found[3], min(upto, (found[1], found[2]))

    def _inherited(self, key: int) -> list[Segment]:
        """The path that a fork started with; empty for a session that is no fork."""
        branch, last, at, limit = self._db.one(_FIRST_LANE, {"key": key}) or (None, 0, 0, 0)
        return list(self._segments_from(branch, (at, last), limit))

    def _rows(self, segments: Sequence[Segment]) -> list[Row]:
        """Every row of a path in order."""
        rows: list[Row] = []
        for segment in reversed(segments):
            rows += self._between(segment, 0, segment.position[0])
            rows += self._repairs(segment, 0)
        return in_order(rows)

    def _rows_without(self, segments: Sequence[Segment], hidden: Set[int]) -> list[Row]:
        """The rows of a path that are not hidden, and sometimes hidden ones, in no fixed order."""
        rows: list[Row] = []
        for segment in reversed(segments):
            for first, last in _runs(self._branch_seqs(segment), hidden):
                rows += self._between(segment, first, last)
            rows += self._repairs(segment, 0)
        return rows

    def _between(self, segment: Segment, first: int, upto: int) -> list[Row]:
        return self._db.all(_BETWEEN, {"lane": segment.branch, "first": first, "upto": upto})

    def _branch_seqs(self, segment: Segment) -> list[int]:
        return [
            row[0]
            for row in self._db.all(_SEQS, {"lane": segment.branch, "upto": segment.position[0]})
        ]

    def _repairs(self, segment: Segment, first: int, above: int | None = None) -> list[Row]:
        """Repairs in the segment, from position ``first`` on, with a seq above ``above``.

        By default these are the repairs that `_between` does not read: those made after the branch
        had grown beyond the segment.
        """
        at = segment.position[0]
        above = at if above is None else above
        if segment.limit <= above + 1:
            return []
        params = {
            "lane": segment.branch,
            "first": first,
            "upto": at,
            "above": above,
        }
        return [row for row in self._db.all(_REPAIRS, params) if segment.holds(row[0], row[1])]

    def _seqs(self, segments: Sequence[Segment]) -> list[int]:
        """The seqs of a path in order. Messages are not read."""
        seqs: list[int] = []
        standing: dict[int, int] = {}
        for segment in reversed(segments):
            seqs += self._branch_seqs(segment)
            for seq, after in self._db.all(_STANDING, {"lane": segment.branch}):
                if segment.holds(seq, after):
                    standing[seq] = after
        if standing:
            known = {*seqs, *standing}
            return sorted(known, key=lambda seq: (standing.get(seq, seq), seq))
        return seqs

    def _last_rows(self, segments: Iterator[Segment], count: int) -> list[Row]:
        """The last rows of a path. The cost does not depend on the length of the path."""
        rows: list[Row] = []
        looked: list[Segment] = []
        if count <= 0:
            return rows
        for segment in segments:
            params = {
                "lane": segment.branch,
                "upto": segment.position[0],
                "count": count - len(rows),
            }
            rows += self._db.all(_LAST, params)
            looked.append(segment)
            if len(rows) >= count:
                break
        oldest = rows[-1][0] if len(rows) >= count else 0
        for segment in looked:
            rows += self._repairs(segment, oldest, above=0)
        return sorted(rows, key=lambda row: position(row[0], row[1]))[-count:]

    def _on_path(self, segments: Iterator[Segment], seq: int) -> Row | None:
        """The row of the message ``seq``, or None if it is not on the path."""
        for segment in segments:
            row = self._db.one(_FIND, {"lane": segment.branch, "seq": seq})
            if row is not None and segment.holds(row[0], row[1]):
                return row
        return None

    def _base_at(self, session_id: str, to: int, state: tuple[int, int, int]) -> Base:
        """The start of a new branch that continues after message ``to`` of the path."""
        branch, head, next_seq = state
        if isinstance(to, bool) or not isinstance(to, int) or not 0 <= to < next_seq:
            raise NotOnPath(session_id, to)
        if to == 0:
            return (None, 0, 0, 0)
        segments = list(self._segments(branch, head, next_seq))
        upto = (head, head) if to == head else self._position_of(session_id, segments, to)
        return self._base_of(session_id, segments, upto)

    def _base_of(self, session_id: str, segments: Sequence[Segment], upto: Position) -> Base:
        for segment in segments:
            short = segment._replace(position=min(segment.position, upto))
            if self._is_begun(short):
                # Branches without a message on the path are skipped.
                at, last = short.position
                return (segment.branch, last, at, segment.limit)
        raise NotOnPath(session_id, upto[1])

    def _position_of(self, session_id: str, segments: Sequence[Segment], seq: int) -> Position:
        for segment in segments:
            found = self._db.one(_STANDS, {"lane": segment.branch, "seq": seq})
            if found is not None and segment.holds(seq, found[0]):
                return position(seq, found[0])
        raise NotOnPath(session_id, seq)

    def _is_begun(self, segment: Segment) -> bool:
        found = self._db.one(_BEGINS, {"lane": segment.branch, "upto": segment.position[0]})
        return found is not None or bool(self._repairs(segment, 0))
