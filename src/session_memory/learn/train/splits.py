"""Decide which rows are for training, for validation and for tests.

All rows of a repository are in one split, so that no model is tested on what it was trained on. A
hash of the repository's name decides the split. If no repository is then left for validation, one
is moved from training. A single repository is divided by sessions, in the same way.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from session_memory.learn.train.card import SPLITS

SHARES = (90, 5, 5)
TRAIN, VALIDATION, TEST = SPLITS


class KeptRow(NamedTuple):
    kind: str
    origin: str
    session_uid: str


def splits_of(rows: Sequence[KeptRow], shares: tuple[int, int, int] = SHARES) -> dict[KeptRow, str]:
    """Return the split of each row. ``shares`` are those of train, validation and test."""
    is_one = len({row.origin for row in rows}) == 1
    keys = {row: row.session_uid if is_one else row.origin for row in rows}
    found = {key: split_of(key, shares) for key in sorted(set(keys.values()))}
    if shares[1]:
        for kind in dict.fromkeys(row.kind for row in rows):
            _fill_validation(found, [keys[row] for row in rows if row.kind == kind])
    return {row: found[key] for row, key in keys.items()}


def split_of(origin: str, shares: tuple[int, int, int] = SHARES) -> str:
    """Return the split of a repository (or session), which a hash of its name decides."""
    number = int.from_bytes(blake2b(origin.encode("utf-8", "replace"), digest_size=8).digest())
    place = number % sum(shares)
    if place < shares[0]:
        return TRAIN
    return VALIDATION if place < shares[0] + shares[1] else TEST


def _fill_validation(found: dict[str, str], of_kind: Iterable[str]) -> None:
    """Move a repository (or session) to validation if this kind of rows has none there.

    The repository with the fewest rows is moved from training, so that most rows remain there.
    """
    counts: dict[str, int] = {}
    for key in of_kind:
        counts[key] = counts.get(key, 0) + 1
    learned = [key for key in counts if found[key] == TRAIN]
    if len(learned) > 1 and all(found[key] != VALIDATION for key in counts):
        found[min(learned, key=lambda key: (counts[key], key))] = VALIDATION
