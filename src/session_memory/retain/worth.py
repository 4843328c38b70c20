"""Tell which evictions free more space in the store than they take in the archive.

An archive file has an entry and a padded block for each source, and copies of dictionaries. For a
session of a few events that is more than its events and their words take in the store.
"""

from collections.abc import Collection, Sequence

from session_memory.retain.units import Unit
from session_memory.store.store import Store

# Sizes in bytes, measured on small sessions. One event with its words in the index takes 60 to 420
# bytes in the store. A source with one pack takes about 1,560 bytes in an archive file.
EVENT = 100
SOURCE, PACK = 800, 800
# The manifest and the end of an archive file, and pages of the store that stay partly filled.
FILE = 6144
# Rows of live sessions are compressed when they are archived.
COMPRESSED = 0.5
_EVENTS = "select id, event_count from sessions where id in ({keys})"
_PACKS = "select source_id, count(*) from packs where source_id in ({keys}) group by source_id"


def too_small(store: Store, units: Sequence[Unit]) -> list[Unit]:
    """Return the units that are not worth archiving: in an archive file they take at least as much
    space as their eviction frees in the store."""
    saved = _saved(store, units)
    return [unit for unit in units if saved[unit.uids] <= 0]


def is_worth_a_file(store: Store, units: Sequence[Unit]) -> bool:
    """Whether the units together free more than a new archive file takes besides them."""
    used = store.retention.dictionaries_of([one for unit in units for one in unit.sources])
    return sum(_saved(store, units).values()) > FILE + sum(used.values())


def _saved(store: Store, units: Sequence[Unit]) -> dict[tuple[str, ...], float]:
    """Return how many bytes archiving each unit saves, without the overhead of the file."""
    events = _counts(store, _EVENTS, {one for unit in units for one in unit.sessions})
    packs = _counts(store, _PACKS, {one for unit in units for one in unit.sources})
    saved: dict[tuple[str, ...], float] = {}
    for unit in units:
        frees: float = EVENT * sum(events.get(one, 0) for one in unit.sessions)
        if unit.live_revision is not None:
            frees += unit.bytes * (1 - COMPRESSED)
        takes = sum(SOURCE + PACK * packs.get(one, 1) for one in unit.sources)
        saved[unit.uids] = frees - takes
    return saved


def _counts(store: Store, sql: str, keys: Collection[int]) -> dict[int, int]:
    return {int(key): int(count) for key, count in store.db.matching(sql, sorted(keys))}
