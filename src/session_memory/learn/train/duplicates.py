"""Find near-duplicate texts without comparing all pairs (one-permutation MinHash).

A text is a set of shingles: runs of five words. Each shingle is hashed, and the smallest hash in
each of 64 bins is kept. The share of equal bins estimates how much two sets overlap. Two texts are
compared only if all bins of one band are equal.
"""

import re
from hashlib import blake2b

BINS = 64
BAND = 4
RUN = 5
LONGEST = 50_000
ALIKE = 0.7

_WORD = re.compile(r"\w+")

Signature = tuple[int, ...]


def shingles(text: str, run: int = RUN) -> set[str]:
    """Every run of ``run`` words; a shorter text is one run."""
    words = _WORD.findall(text.lower())[:LONGEST]
    if len(words) <= run:
        return {" ".join(words)}
    return {" ".join(words[place : place + run]) for place in range(len(words) - run + 1)}


def overlap(one: str, other: str) -> float:
    """The share of common three-word runs: 1 for equal texts, 0 for nothing in common."""
    mine, theirs = shingles(one, 3), shingles(other, 3)
    return len(mine & theirs) / len(mine | theirs)


def signature(text: str) -> Signature:
    smallest: list[int | None] = [None] * BINS
    for shingle in shingles(text):
        number = int.from_bytes(blake2b(shingle.encode("utf-8", "replace"), digest_size=8).digest())
        place, rest = number % BINS, number // BINS
        least = smallest[place]
        if least is None or rest < least:
            smallest[place] = rest
    return _filled(smallest)


def _filled(smallest: list[int | None]) -> Signature:
    """Fill empty bins with the value of the next bin that is not empty."""
    filled = []
    for place in range(BINS):
        steps = next(step for step in range(BINS) if smallest[(place + step) % BINS] is not None)
        value = smallest[(place + steps) % BINS] or 0
        filled.append(value + steps)
    return tuple(filled)


def agreement(one: Signature, other: Signature) -> float:
    return sum(a == b for a, b in zip(one, other, strict=True)) / BINS


class Duplicates:
    """Remembers texts. Of several similar texts only the first one is new."""

    def __init__(self, alike: float = ALIKE) -> None:
        self._alike = alike
        self._seen: list[Signature] = []
        self._bands: dict[tuple[int, Signature], list[int]] = {}

    def is_new(self, text: str) -> bool:
        signed = signature(text)
        bands = [(place, signed[place : place + BAND]) for place in range(0, BINS, BAND)]
        near = {number for band in bands for number in self._bands.get(band, ())}
        if any(agreement(signed, self._seen[number]) >= self._alike for number in near):
            return False
        for band in bands:
            self._bands.setdefault(band, []).append(len(self._seen))
        self._seen.append(signed)
        return True
