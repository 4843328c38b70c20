"""A question to the word index, and the interface that each database's word engine implements.

The engines are in `sqlite_word_index` and `postgres_word_index`. They give the same answers. An
engine stores no texts, so a question that words alone cannot answer is decided by reading the
stored logs.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

TABLE = "words"
"""The name of the index of event texts."""
TITLES = "title_words"
"""The name of the index of session titles."""


class QueryWord(msgspec.Struct, frozen=True):
    """A word to find. With ``is_prefix``, any word that starts with ``text`` matches."""

    text: str
    is_prefix: bool = False


class WordQuery(msgspec.Struct, frozen=True):
    """Matches texts that contain a word of each clause, and no word of ``without``."""

    clauses: tuple[tuple[QueryWord, ...], ...]
    without: tuple[QueryWord, ...] = ()


PreparedDocs = list[tuple[int, Any]]
"""Docs, each with its words as its engine stores them. A long text may have several entries."""


class WordEngine(Protocol):
    """One index: which texts contain which words. A *doc* is the number of a text in the index."""

    writes_ahead: bool
    """Whether it pays to write docs before a long transaction ends, because a server does it."""

    def create(self) -> None: ...

    def destroy(self) -> None: ...

    def replace_table(self, table: str, old: str) -> None:
        """Replace the index ``table`` by this one. The replaced one may stay as ``old``."""

    def removed(self) -> Iterator[object]:
        """Delete the index step by step. Nobody may use it any more."""

    def prepared(self, docs: Iterable[tuple[int, str]]) -> PreparedDocs:
        """``(doc, text)`` pairs as `add_prepared` takes them. Needs no transaction."""

    def add_prepared(self, docs: PreparedDocs) -> None:
        """Add docs that are not in the index yet."""

    def add(self, docs: Iterable[tuple[int, str]]) -> None:
        """Add ``(doc, text)`` pairs whose docs are not in the index yet."""

    def known(self, docs: Sequence[int]) -> list[int]:
        """Those of the docs that are in the index, where a number can be used a second time."""

    def drop(self, docs: Sequence[int]) -> None: ...

    def docs_without_events(self) -> list[int]:
        """Docs of events that the store no longer has."""
        ...

    def find(self, query: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        """The docs of matching texts below ``before``, highest first; None means all classes."""

    def count(self, query: WordQuery, text_class: int | None) -> int: ...

    def stable_docs(self) -> AbstractContextManager[None]:
        """Within this block, a doc that was found belongs to the same event all the time."""

    def terms(self, *, first: str = "", last: str = "") -> list[tuple[str, int]]:
        """Indexed words in a range, with the number of texts that have them.

        Longer words are cut to `LONGEST` characters.
        """

    def terms_with(self, parts: Sequence[str]) -> list[tuple[str, int]]:
        """Indexed words that contain one of ``parts``, as `terms` returns them."""

    def beginning(self, text: str, most: int) -> tuple[QueryWord, ...]:
        """What to ask for, to find words that begin with ``text``: at most so many words."""

    def merged(self) -> Iterator[object]:
        """Keep the index quick to read: merge what many transactions have written, step by step."""

    def purged(self) -> Iterator[object]:
        """Remove the traces of deleted texts from the index files, step by step."""
