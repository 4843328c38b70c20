"""The fields of recall: kinds of texts of a session (title, prompt, …), and how much each counts.

Recall is the search for whole sessions, as in ``how`` and ``similar``. Each term of a session is
stored with a packed weight: one number with the term's weight and a bit for each field with it.
"""

from collections.abc import Iterable
from typing import NamedTuple

# The weight takes 10 bits and the fields 13, so a packed weight needs three bytes in SQLite.
SCALE = 8
FIELD_BITS = 13
MOST_WEIGHT = (1 << 10) - 1


class RecallField(NamedTuple):
    """A kind of text. ``shown`` is its name in answers, ``usual_length`` its usual number of terms.

    ``weight`` is how much one term in it counts, ``bit`` its bit in a packed weight.
    """

    name: str
    shown: str
    weight: float
    usual_length: int
    bit: int


# Weights in coarse steps: on real sessions, doubling or halving one changes few answers. Lengths
# are those of an average session.
_WEIGHTS = (
    ("title", "title", 5.0, 7),
    ("prompt", "prompt", 3.0, 100),
    ("commit", "commit", 5.0, 40),
    ("file", "file", 1.5, 30),
    ("later", "prompt", 1.0, 200),
    ("plan", "plan", 1.0, 300),
    ("last", "answer", 2.0, 60),
    ("answer", "answer", 1.0, 300),
    ("command", "command", 0.5, 200),
    ("error", "error", 1.5, 20),
    ("decision", "decision", 1.0, 10),
    ("branch", "branch", 3.0, 4),
    ("repo", "repository", 2.0, 3),
)
FIELDS = tuple(RecallField(*values, 1 << place) for place, values in enumerate(_WEIGHTS))


def packed_weight(weight: float, places: int) -> int:
    """Pack a weight and the bits of the fields that have a term (``places``) into one number."""
    return _bounded(round(weight * SCALE)) << FIELD_BITS | places


def packed_weights(terms: Iterable[tuple[str, float, int]]) -> dict[str, int]:
    """Map each term to its packed weight. ``terms`` are ``(term, weight, bits of the fields)``."""
    return {
        term: (whole if 0 < (whole := round(weight * SCALE)) < MOST_WEIGHT else _bounded(whole))
        << FIELD_BITS
        | places
        for term, weight, places in terms
    }


def _bounded(whole: int) -> int:
    return min(max(whole, 1), MOST_WEIGHT)


def weight_of(packed: int) -> float:
    return (packed >> FIELD_BITS) / SCALE


def fields_of(packed: int) -> list[str]:
    """Return the names of the fields that have a term, in the order of `FIELDS`."""
    shown = (field.shown for field in FIELDS if packed & field.bit)
    return list(dict.fromkeys(shown))
