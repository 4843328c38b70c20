"""Find near-duplicate texts without comparing all pairs (one-permutation MinHash).

A text is a set of shingles: runs of five words. Each shingle is hashed, and the smallest hash in
each of 64 bins is kept. The share of equal bins estimates how much two sets overlap. Two texts are
compared only if all bins of one band are equal.
"""

import re
from collections.abc import Callable
from hashlib import blake2b

BINS = 64
BAND = 4
RUN = 5
LONGEST = 50_000
ALIKE = 0.7
# A hash has `_SIZE` bytes. About `FEW` hashes are enough to find the smallest of each bin.
_SIZE = 8
_ALL = 1 << 8 * _SIZE
FEW = 1024

_WORD = re.compile(r"\w+")

Signature = tuple[int, ...]


def shingles(text: str, run: int = RUN) -> set[bytes]:
    """Return every run of ``run`` words in a text; a shorter text is one run."""
    words = [word.encode("utf-8", "replace") for word in _WORD.findall(text.lower())[:LONGEST]]
    if len(words) <= run:
        return {b" ".join(words)}
    runs = zip(*(words[first:] for first in range(run)), strict=False)
    return set(map(b" ".join, runs))


def overlap(one: str, other: str) -> float:
    """Return the share of three-word runs that two texts have in common, from 0 to 1."""
    mine, theirs = shingles(one, 3), shingles(other, 3)
    return len(mine & theirs) / len(mine | theirs)


def exact_hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def signature(text: str) -> Signature:
    hashes = [blake2b(one, digest_size=_SIZE).digest() for one in shingles(text)]
    # Of many hashes, first only the smallest are put into bins: they nearly always fill all bins.
    few = min(_ALL * FEW // len(hashes), _ALL - 1).to_bytes(_SIZE)
    smallest = _smallest([one for one in hashes if one < few])
    return _filled(_smallest(hashes) if None in smallest else smallest)


def _smallest(hashes: list[bytes]) -> list[int | None]:
    """Return the smallest hash in each bin. The last bits of a hash are the number of its bin."""
    smallest: list[int | None] = [None] * BINS
    for one in sorted(hashes, reverse=True):
        smallest[one[-1] % BINS] = int.from_bytes(one) // BINS
    return smallest


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
        self._same: set[bytes] = set()
        self._seen: list[Signature] = []
        self._bands: dict[tuple[int, Signature], list[int]] = {}

    def is_new(self, exact: bytes, signature_of: Callable[[], Signature]) -> bool:
        """Whether no similar text was added before. ``exact`` is the text's `exact_hash`."""
        # The same text a second time is never new, so it needs no signature.
        if exact in self._same:
            return False
        self._same.add(exact)
        signed = signature_of()
        bands = [(place, signed[place : place + BAND]) for place in range(0, BINS, BAND)]
        near = {number for band in bands for number in self._bands.get(band, ())}
        if any(agreement(signed, self._seen[number]) >= self._alike for number in near):
            return False
        for band in bands:
            self._bands.setdefault(band, []).append(len(self._seen))
        self._seen.append(signed)
        return True
