"""What the index asks of a database's engine for words, and how a question is put to it.

The two engines differ in everything but their answers, and stand in `sqlite_words` and
`postgres_words`. Neither keeps a text, so whatever words alone cannot tell is asked of the raw.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

TABLE = "words"
"""The index of what events say."""
TITLES = "title_words"
"""The index of what sessions are called."""


class Word(msgspec.Struct, frozen=True):
    """``is_prefix``: any word that begins so."""

    text: str
    is_prefix: bool = False


class Asked(msgspec.Struct, frozen=True):
    """Docs that have a word of each clause, and none of ``without``."""

    clauses: tuple[tuple[Word, ...], ...]
    without: tuple[Word, ...] = ()


class Words(Protocol):
    """One index: which docs hold which words."""

    def create(self) -> None: ...

    def destroy(self) -> None: ...

    def take_the_place_of(self, table: str) -> None:
        """Become ``table``, whose index goes."""

    def add(self, docs: Iterable[tuple[int, str]]) -> None:
        """Docs that are not in it yet, with their texts."""

    def drop(self, docs: Sequence[int]) -> None: ...

    def find(self, asked: Asked, shelf: int | None, limit: int, before: int) -> list[int]:
        """The docs with the highest numbers below ``before``, of one class if one is given."""

    def count(self, asked: Asked, shelf: int | None) -> int: ...

    def still(self) -> AbstractContextManager[None]:
        """Meanwhile a number that is found does not come to mean another doc."""

    def terms(self, *, like: str = "", first: str = "", last: str = "") -> list[tuple[str, int]]:
        """Words in the index with the number of docs: those like a pattern, or in a range.

        Of a longer word the first `LONGEST` characters are told.
        """

    def purge(self) -> None:
        """Leave no trace of what was taken out."""
