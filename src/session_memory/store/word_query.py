"""A question to the word index, and the interface that each database's word engine implements.

The engines are in `sqlite_word_index` and `postgres_word_index`. They give the same answers. An
engine stores no texts, so a question that words alone cannot answer is decided by reading the raw.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

TABLE = "words"
"""The index of what events say."""
TITLES = "title_words"
"""The index of what sessions are called."""


class QueryWord(msgspec.Struct, frozen=True):
    """``is_prefix``: any word that begins so."""

    text: str
    is_prefix: bool = False


class WordQuery(msgspec.Struct, frozen=True):
    """Docs that have a word of each clause, and none of ``without``."""

    clauses: tuple[tuple[QueryWord, ...], ...]
    without: tuple[QueryWord, ...] = ()


class WordEngine(Protocol):
    """One index: which docs hold which words."""

    def create(self) -> None: ...

    def destroy(self) -> None: ...

    def replace_table(self, table: str) -> None:
        """Become ``table``, whose index goes."""

    def add(self, docs: Iterable[tuple[int, str]]) -> None:
        """Docs that are not in it yet, with their texts."""

    def drop(self, docs: Sequence[int]) -> None: ...

    def find(self, asked: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        """The docs with the highest numbers below ``before``, of one class if one is given."""

    def count(self, asked: WordQuery, text_class: int | None) -> int: ...

    def stable_docs(self) -> AbstractContextManager[None]:
        """Meanwhile a number that is found does not come to mean another doc."""

    def terms(self, *, like: str = "", first: str = "", last: str = "") -> list[tuple[str, int]]:
        """Words in the index with the number of docs: those like a pattern, or in a range.

        Of a longer word the first `LONGEST` characters are told.
        """

    def purge(self) -> None:
        """Leave no trace of what was taken out."""
