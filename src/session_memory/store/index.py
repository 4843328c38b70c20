"""The word index: which event contains which words. Its rows commit together with the events.

A *doc* is the number of an event in the index: the id of the event's row and its text class
(message, summary, call or output) in one integer. So the class of a hit is known without a lookup,
and events that were stored later have higher numbers; they are called newer. The titles of sessions
have a separate index, by session id.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from session_memory.core.index_words import LONGEST
from session_memory.store.database import Database
from session_memory.store.word_query import (
    TABLE,
    TITLES,
    IndexedText,
    PreparedDocs,
    PreparedText,
    QueryWord,
    WordEngine,
    WordQuery,
)

VERSION = "2"
"""The version of the rule in `core.index_words`. An index of another version is not used."""

MESSAGE, SUMMARY, CALL, OUTPUT = range(4)
CLASSES = ("message", "summary", "call", "output")

NEXT, OLD = f"{TABLE}_next", f"{TABLE}_old"
WRITE_AT_BYTES = 16 * 1024 * 1024
ALL = 1 << 62
# After this many transactions that wrote to it, the index is merged.
MERGE_EVERY = 8

_STATE = "select name, value from search_state"
_SET = "update search_state set value = :value where name = :name"
_NEW = "insert into search_state (name, value) values (:name, :value)"


def doc_of(event_id: int, text_class: int) -> int:
    return event_id << 2 | text_class


def event_of(doc: int) -> int:
    return doc >> 2


def text_class_in(doc: int) -> int:
    return doc & 3


def text_class_of(kind: str, role: str, call_id: str | None) -> int:
    """The text class of an event: message, summary, tool call or tool output."""
    if role == "tool":
        return OUTPUT
    if call_id is not None:
        return CALL
    return SUMMARY if kind == "lifecycle" or role == "system" else MESSAGE


class WordIndex:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._words = db.word_engine(TABLE)
        self._titles = db.word_engine(TITLES)
        self._is_collecting = False
        # One below the limit, so that the first transaction of a process makes a merge due.
        # Otherwise processes that write only once would never merge.
        self._unmerged = MERGE_EVERY - 1
        self._is_written = False
        self._reset()

    def _reset(self) -> None:
        self._new_docs: dict[int, IndexedText] = {}
        self._dropped: list[int] = []
        self._size = 0
        self._new_titles: dict[int, str | None] = {}

    # ------------------------------------------------------------ collecting

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect docs until the end of a transaction, then write them in order of their numbers.

        Writing many docs at once is cheapest. If docs are written between other statements, SQLite
        writes a segment of the index for every few docs, and merges the segments later.
        """
        if self._is_collecting:
            yield
            return
        self._is_collecting = True
        try:
            yield
            self._write_docs()
            self._write_titles()
            self._unmerged += self._is_written
        finally:
            self._is_collecting = self._is_written = False
            self._reset()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Load an empty index. On PostgreSQL its words can be found quickly only after the block.

        If the process is killed within the block, the index stays incomplete, and the next sync
        builds it anew.
        """
        is_ours, load = self._words.loads_faster_alone, f"after load {secrets.token_hex(8)}"
        if is_ours:
            with self._db.transaction():
                # If several processes load the same store at once, only one of them may do this.
                if is_ours := self.is_complete:
                    self._save_state(complete=load)
                    self._words.stop_finding()
        try:
            yield
        finally:
            if is_ours:
                with self._db.transaction():
                    self._words.begin_finding()
                    # Another process may have copied a store into this one meanwhile. The words of
                    # that store are not in the index.
                    if self._state().get("complete") == load:
                        self.declare(complete=True)

    def write_ahead(self) -> None:
        """Write what is collected so far, if a server can do it while this process goes on."""
        if self._words.writes_ahead:
            self._write_docs()

    def _write_docs(self) -> None:
        docs, dropped = self._new_docs, self._dropped
        self._new_docs, self._dropped, self._size = {}, [], 0
        if dropped:
            self._words.drop(dropped)
        if docs:
            self._words.add(sorted(docs.items()))
        self._is_written |= bool(docs or dropped)

    def _write_titles(self) -> None:
        titles, self._new_titles = sorted(self._new_titles.items()), {}
        if titles:
            self._is_written = True
            self._titles.drop([session_id for session_id, _ in titles])
            self._titles.add((session_id, title) for session_id, title in titles if title)

    # ------------------------------------------------------------ writing

    @property
    def kind(self) -> str:
        """The kind of the engine that stores the words of texts."""
        return self._words.kind

    def add(self, docs: Sequence[tuple[int, IndexedText]]) -> None:
        """Add ``(doc, text)`` pairs whose docs are not in the index yet."""
        for doc, text in docs:
            if text:
                self._new_docs[doc] = text
                self._size += _size_of(text)
        if not self._is_collecting or self._size > WRITE_AT_BYTES:
            self._write_docs()

    def replace(self, doc: int, text: str) -> None:
        self.drop([doc])
        self.add([(doc, text)])

    def drop(self, docs: Sequence[int]) -> None:
        if self._new_docs:
            # A doc that was added in this transaction is not in the engine yet.
            for doc in docs:
                self._size -= _size_of(self._new_docs.pop(doc, ""))
        self._dropped += docs
        if not self._is_collecting:
            self._write_docs()

    def drop_orphans(self) -> None:
        """Remove the docs of events that are missing in the store because it was damaged."""
        self.drop(self._words.docs_without_events())

    def set_title(self, session_id: int, title: str | None) -> None:
        """Set or remove the indexed title of a session."""
        self._new_titles[session_id] = title
        if not self._is_collecting:
            self._write_titles()

    def clear(self) -> None:
        """Empty the index and declare it complete. Call it only for a store without events."""
        self._reset()
        for words in (self._words, self._titles):
            words.destroy()
            words.create()
        self.declare(complete=True)

    @property
    def must_merge(self) -> bool:
        """Whether `merged` is due. Searches get slower with every transaction that writes."""
        return self._unmerged >= MERGE_EVERY

    def merged(self) -> Iterator[object]:
        """Merge what many transactions have written to the index, step by step."""
        self._unmerged = 0
        yield from self._words.merged()
        yield from self._titles.merged()

    def purged(self) -> Iterator[object]:
        """Remove the traces of deleted texts from the index files, step by step."""
        yield from self._words.purged()
        yield from self._titles.purged()

    # ------------------------------------------------------------ searching

    def stable_docs(self) -> AbstractContextManager[None]:
        """Within this block, a doc that was found keeps belonging to the same event."""
        return self._words.stable_docs()

    def find(
        self,
        query: WordQuery,
        *,
        text_class: int | None = None,
        limit: int = ALL,
        before: int = ALL,
    ) -> list[int]:
        """The index numbers (docs) of matching events below ``before``, the last stored first."""
        self._write_docs()
        return self._words.find(_cut(query), text_class, limit, before)

    def count(self, query: WordQuery, *, text_class: int | None = None) -> int:
        self._write_docs()
        return self._words.count(_cut(query), text_class)

    def sessions_titled(self, query: WordQuery) -> list[int]:
        """Ids of the sessions whose titles match."""
        self._write_titles()
        return self._titles.find(_cut(query), None, ALL, ALL)

    def terms_with(self, parts: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
        """For each of ``parts``, the indexed words that contain it, with their number of events.

        Reads all words once, however many parts there are.
        """
        self._write_docs()
        found = self._words.terms_with(parts) if parts else []
        return {part: [one for one in found if part in one[0]] for part in parts}

    def terms_from(self, beginning: str) -> list[tuple[str, int]]:
        """Indexed words that start with ``beginning``, each with its number of events."""
        self._write_docs()
        return self._words.terms(first=beginning, last=beginning + "\U0010ffff")

    def beginning(self, text: str, most: int) -> tuple[QueryWord, ...]:
        """The query words that match words which begin with ``text``, at most ``most``.

        A single letter begins very many words, so only words of titles are matched for it.
        """
        self._write_docs()
        self._write_titles()
        return (self._words if len(text) > 1 else self._titles).beginning(text, most)

    def title_terms(self) -> list[tuple[str, int]]:
        """The words of all titles, with their number of sessions."""
        self._write_titles()
        return self._titles.terms(last="\U0010ffff")

    # ------------------------------------------------------------ completeness

    @property
    def is_complete(self) -> bool:
        """Whether every event is in the index, by the present rule for words.

        False after an update of the program with another rule, until `reindex` has run.
        """
        state = self._state()
        return (state.get("complete"), state.get("version")) == ("yes", VERSION)

    def _state(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._db.all(_STATE)}

    def declare(self, *, complete: bool) -> None:
        self._save_state(complete="yes" if complete else "no", version=VERSION)

    def _save_state(self, **values: str) -> None:
        known = self._state()
        for name, value in values.items():
            self._db.execute(_SET if name in known else _NEW, {"name": name, "value": value})

    # ------------------------------------------------------------ building a new one

    def claim_next(self, builder: str) -> None:
        """Let only ``builder`` build a new index. Another process that is building one gives up."""
        self._save_state(builder=builder)

    def unfinished_removed(self) -> Iterator[object]:
        """Delete what a killed `reindex` left, step by step."""
        for name in (NEXT, OLD):
            if self._db.has_table(name):
                yield from self._db.word_engine(name).removed()

    def begin_next(self) -> None:
        """Create an empty new index beside the current one."""
        self._next.destroy()
        self._next.create()

    def drop_unfinished(self) -> None:
        """Delete what a killed `reindex` left, at once. Call it only while no `reindex` runs."""
        for name in (NEXT, OLD):
            if self._db.has_table(name):
                self._db.word_engine(name).destroy()
                self._save_state(builder="")

    def is_built_by(self, builder: str) -> bool:
        """Whether ``builder`` was the last to call `claim_next`."""
        return self._state().get("builder") == builder

    @property
    def has_next(self) -> bool:
        """Whether `begin_next` has created a new index that nobody deleted or swapped."""
        return self._db.has_table(NEXT)

    def prepared(self, docs: Iterable[tuple[int, str]]) -> PreparedDocs:
        """Convert ``(doc, text)`` pairs to what `add_next` takes. Needs no transaction."""
        return self._next.prepared((doc, text) for doc, text in docs if text)

    def add_next(self, docs: PreparedDocs) -> None:
        """Add docs to the new index.

        If the index has a doc with the same number, it is of a deleted event and is replaced.
        """
        words = self._next
        words.drop(words.known([doc for doc, _ in docs]))
        words.add_prepared(docs)

    def drop_next(self, docs: Sequence[int]) -> None:
        self._next.drop(docs)

    def next_merged(self) -> Iterator[object]:
        """Merge what many transactions have written to the new index, step by step."""
        return self._next.merged()

    def swap(self, titles: Iterable[tuple[int, str]]) -> None:
        """Replace the current index by the new one, and index the titles again.

        `old_removed` deletes what is left of the replaced index.
        """
        self._next.replace_table(TABLE, OLD)
        self._words = self._db.word_engine(TABLE)
        self._titles.destroy()
        self._titles.create()
        self._titles.add(titles)
        self._save_state(builder="")
        self.declare(complete=True)

    def old_removed(self) -> Iterator[object]:
        """Delete an index that was replaced, step by step."""
        return self._db.word_engine(OLD).removed()

    @property
    def _next(self) -> WordEngine:
        return self._db.word_engine(NEXT)


def _size_of(text: IndexedText) -> int:
    """The length of a text, whether its words are prepared or not."""
    return text.size if isinstance(text, PreparedText) else len(text)


def _cut(query: WordQuery) -> WordQuery:
    """The query with words that are too long for the index replaced by prefixes."""
    clauses = tuple(tuple(map(_short, clause)) for clause in query.clauses)
    return WordQuery(clauses, tuple(map(_short, query.without)))


def _short(word: QueryWord) -> QueryWord:
    return word if len(word.text) < LONGEST else QueryWord(word.text[:LONGEST], is_prefix=True)
