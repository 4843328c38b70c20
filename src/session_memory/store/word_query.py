"""A query of the word index, and the interface that each database's word engine implements.

The engines are in `sqlite_word_index` and `postgres_word_index`. They give the same answers. An
engine stores no texts. If words alone cannot answer a query, such as one for a phrase, the caller
reads the texts from the stored logs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, NamedTuple, Protocol

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


class PreparedText(NamedTuple):
    """A text of ``size`` characters, already split into words for one kind of engine.

    ``entries`` are what that engine stores of it: one entry, or several for a very long text.
    """

    entries: tuple[Any, ...]
    size: int


IndexedText = str | PreparedText
PreparedDocs = list[tuple[int, Any]]
"""Docs, each with its words as its engine stores them. A long text may have several entries."""


def entries_of(kind: str) -> Callable[[str], tuple[Any, ...]]:
    """The function that prepares a text for engines of this kind, without a store."""
    module = import_module(f"session_memory.store.{kind}_word_index")
    prepare: Callable[[str], tuple[Any, ...]] = module.entries_of
    return prepare


class WordEngine(Protocol):
    """An index of the words in texts. A *doc* is the number of a text in the index.

    Methods that work step by step yield after each step, so that the caller can commit there.
    """

    kind: str
    """The database of the engine. It names the module whose ``entries_of`` prepares texts."""

    writes_ahead: bool
    """Whether docs should be written before a long transaction ends. It pays if a server does it
    while this process goes on."""

    @property
    def loads_faster_alone(self) -> bool:
        """Whether loading many docs is faster between `stop_finding` and `begin_finding`."""
        ...

    def create(self) -> None: ...

    def destroy(self) -> None: ...

    def replace_table(self, table: str, old: str) -> None:
        """Replace the index ``table`` by this one. The replaced one may stay as ``old``."""

    def stop_finding(self) -> None:
        """Drop the database index that finds words quickly. Docs can still be added and dropped."""

    def begin_finding(self) -> None:
        """Build the database index that `stop_finding` dropped."""

    def removed(self) -> Iterator[object]:
        """Delete the index step by step. Call it only when nothing uses the index any more."""

    def prepared(self, docs: Iterable[tuple[int, str]]) -> PreparedDocs:
        """Convert ``(doc, text)`` pairs to what `add_prepared` takes. Needs no transaction."""

    def add_prepared(self, docs: PreparedDocs) -> None:
        """Add docs that are not in the index yet."""

    def add(self, docs: Iterable[tuple[int, IndexedText]]) -> None:
        """Add ``(doc, text)`` pairs whose docs are not in the index yet."""

    def known(self, docs: Sequence[int]) -> list[int]:
        """Those of ``docs`` that are in the index. Empty if the database never reuses an id."""

    def drop(self, docs: Sequence[int]) -> None: ...

    def docs_without_events(self) -> list[int]:
        """Docs of events that the store no longer has."""
        ...

    def find(self, query: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        """The docs of matching texts below ``before``, highest first.

        With ``text_class`` None, texts of all classes match.
        """

    def count(self, query: WordQuery, text_class: int | None) -> int: ...

    def stable_docs(self) -> AbstractContextManager[None]:
        """Within this block, a doc that was found keeps belonging to the same event."""

    def terms(self, *, first: str = "", last: str = "") -> list[tuple[str, int]]:
        """Indexed words in a range, with the number of texts that have them.

        Longer words are cut to `LONGEST` characters.
        """

    def terms_with(self, parts: Sequence[str]) -> list[tuple[str, int]]:
        """Indexed words that contain one of ``parts``, as `terms` returns them."""

    def beginning(self, text: str, most: int) -> tuple[QueryWord, ...]:
        """The query words that match words which begin with ``text``, at most ``most``."""

    def merged(self) -> Iterator[object]:
        """Keep the index quick to read: merge what many transactions have written, step by step."""

    def purged(self) -> Iterator[object]:
        """Remove the traces of deleted texts from the index files, step by step."""
