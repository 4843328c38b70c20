"""Choose which session owns a record that several sessions hold (docs/concepts.md).

A set of sessions is a bit mask over their positions in the list of rows.
"""

from collections import Counter
from collections.abc import Iterator

from session_memory.derive.facts import logged_parent
from session_memory.store.sessions import CollectedSession

NEVER = 1 << 62


class Owners:
    """Chooses owners. ``holders`` maps the key of each record to the sessions that hold it.

    ``first_seen`` has, for each set of sessions, the key and the time of the first record that
    exactly these sessions hold.
    """

    def __init__(
        self, rows: list[CollectedSession], holders: dict[bytes, int], first_seen: dict[bytes, int]
    ) -> None:
        self._rows = rows
        self._counts = Counter(holders.values())
        # Thousands of forks give as many masks with one session each. Only the other masks are
        # compared.
        self._shared_counts = {m: count for m, count in self._counts.items() if not is_single(m)}
        self._totals = [self._counts[1 << index] for index in range(len(rows))]
        for mask, count in self._shared_counts.items():
            for index in positions(mask):
                self._totals[index] += count
        # The time of the first record in the order of reading. It counts even if a later
        # record has an earlier time.
        first_own: dict[int, int] = {}
        for key, mask in holders.items():
            if mask not in first_own:
                first_own[mask] = first_seen[key]
        self._first_own = [first_own.get(1 << index, NEVER) for index in range(len(rows))]
        self._chosen: dict[int, int] = {}

    def own_records(self, index: int) -> int:
        """How many records only the session at this position holds."""
        return self._counts[1 << index]

    def of(self, mask: int) -> int:
        """The position of the owner among the holders in ``mask``."""
        if is_single(mask):
            return mask.bit_length() - 1
        if mask not in self._chosen:
            self._chosen[mask] = self._choose(mask)
        return self._chosen[mask]

    def _choose(self, mask: int) -> int:
        holders = list(positions(mask))
        holders = self._named_parents(holders) or holders
        common = sum(count for held, count in self._shared_counts.items() if held & mask == mask)
        # A session whose every record is in all holders was copied whole, so it came first.
        whole = [index for index in holders if self._totals[index] == common]
        # If an origin was forked at several places, each of its records is in some fork, but not in
        # every fork. So a holder without records of its own may be the origin.
        shared = [index for index in holders if not self._counts[1 << index]]
        return min(
            whole or shared or holders,
            key=lambda index: (self._first_own[index], self._rows[index].uid),
        )

    def _named_parents(self, holders: list[int]) -> list[int]:
        """The holders that another holder's log names as its parent. Of these, only the topmost
        ones, unless they name each other in a circle."""
        uids = {self._rows[index].uid: index for index in holders}
        parents = {index: uids.get(logged_parent(self._rows[index]) or "") for index in holders}
        named = {parent for parent in parents.values() if parent is not None}
        return sorted(index for index in named if parents[index] is None) or sorted(named)


def is_single(mask: int) -> bool:
    """Whether a set has at most one session."""
    return mask & (mask - 1) == 0


def positions(mask: int) -> Iterator[int]:
    """The positions of the sessions in a set, in order."""
    digits = f"{mask:b}"
    last = len(digits) - 1
    place = digits.rfind("1")
    while place >= 0:
        yield last - place
        place = digits.rfind("1", 0, place)
