"""Which session owns a record that several sessions hold (docs/concepts.md).

A set of sessions is a bit mask over their positions in the list of rows.
"""

from collections import Counter

from session_memory.derive.facts import logged_parent
from session_memory.store.sessions import CollectedSession

NEVER = 1 << 62


class Owners:
    """Chooses owners. ``holders`` maps each record to its sessions, ``first_seen`` to its time."""

    def __init__(
        self, rows: list[CollectedSession], holders: dict[bytes, int], first_seen: dict[bytes, int]
    ) -> None:
        self._rows = rows
        self._counts = Counter(holders.values())
        self._totals = [
            sum(count for mask, count in self._counts.items() if mask >> index & 1)
            for index in range(len(rows))
        ]
        # The time of the first record in the order of reading. It counts even if a later
        # record has an earlier time.
        first_own: dict[int, int] = {}
        for key, mask in holders.items():
            first_own.setdefault(mask, first_seen[key])
        self._first_own = [first_own.get(1 << index, NEVER) for index in range(len(rows))]
        self._chosen: dict[int, int] = {}

    def of(self, mask: int) -> int:
        """The position of the owner among the holders in ``mask``."""
        if mask not in self._chosen:
            self._chosen[mask] = self._choose(mask)
        return self._chosen[mask]

    def _choose(self, mask: int) -> int:
        holders = [index for index in range(len(self._rows)) if mask >> index & 1]
        holders = self._named_parents(holders) or holders
        common = sum(count for held, count in self._counts.items() if held & mask == mask)
        # A session whose every record is in all holders was copied whole, so it came first.
        whole = [index for index in holders if self._totals[index] == common]
        # An origin that was forked at several places shares all its records, but not all of them
        # with every fork.
        shared = [index for index in holders if not self._counts[1 << index]]
        return min(
            whole or shared or holders,
            key=lambda index: (self._first_own[index], self._rows[index].uid),
        )

    def _named_parents(self, holders: list[int]) -> list[int]:
        """The holders that another holder's log names as its parent, the topmost ones first."""
        uids = {self._rows[index].uid: index for index in holders}
        parents = {index: uids.get(logged_parent(self._rows[index]) or "") for index in holders}
        named = {parent for parent in parents.values() if parent is not None}
        return sorted(index for index in named if parents[index] is None) or sorted(named)
