"""The index of words: which events say what. Its rows commit with the events they are of.

A *doc* is an event as the index knows it: the number of its row and its class in one, so that hits
fall into classes without looking anything up, and the newest have the highest numbers. What
sessions are called is an index of its own, by the numbers of the sessions.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from session_memory.core.index_words import LONGEST
from session_memory.store.database import Database
from session_memory.store.word_query import TABLE, TITLES, QueryWord, WordEngine, WordQuery

VERSION = "1"
"""Of the rule that makes words of texts; an index of another one is not asked."""

MESSAGE, SUMMARY, CALL, OUTPUT = range(4)
CLASSES = ("message", "summary", "call", "output")

NEXT = f"{TABLE}_next"
GATHERED = 16 * 1024 * 1024
ALL = 1 << 62

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
    """The class an event is found in: what was said, noted, called, or printed."""
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
        self._is_gathering = False
        self._begin()

    def _begin(self) -> None:
        self._gathered: dict[int, str] = {}
        self._dropped: list[int] = []
        self._size = 0
        self._called: dict[int, str | None] = {}

    # ------------------------------------------------------------ gathering

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Hold docs back until the end of a transaction, and give them over in order.

        Many at once and by number is what costs least: between other statements SQLite would
        write down a piece of the index for every few docs, and merge the pieces again.
        """
        if self._is_gathering:
            yield
            return
        self._is_gathering = True
        try:
            yield
            self._give()
            self._give_titles()
        finally:
            self._is_gathering = False
            self._begin()

    def _give(self) -> None:
        docs, dropped = self._gathered, self._dropped
        self._gathered, self._dropped, self._size = {}, [], 0
        if dropped:
            self._words.drop(dropped)
        if docs:
            self._words.add(sorted(docs.items()))

    def _give_titles(self) -> None:
        called, self._called = sorted(self._called.items()), {}
        if called:
            self._titles.drop([session_id for session_id, _ in called])
            self._titles.add((session_id, title) for session_id, title in called if title)

    # ------------------------------------------------------------ writing

    def add(self, docs: Sequence[tuple[int, str]]) -> None:
        """Docs that are not in it yet, with their texts."""
        for doc, text in docs:
            if text:
                self._gathered[doc] = text
                self._size += len(text)
        if not self._is_gathering or self._size > GATHERED:
            self._give()

    def replace(self, doc: int, text: str) -> None:
        self.drop([doc])
        self.add([(doc, text)])

    def drop(self, docs: Sequence[int]) -> None:
        if self._gathered:
            # What was added a moment ago is not there yet to be taken out.
            for doc in docs:
                self._size -= len(self._gathered.pop(doc, ""))
        self._dropped += docs
        if not self._is_gathering:
            self._give()

    def set_title(self, session_id: int, title: str | None) -> None:
        """What a session is called from now on."""
        self._called[session_id] = title
        if not self._is_gathering:
            self._give_titles()

    def clear(self) -> None:
        """An index of nothing, which is whole for a store without events."""
        self._begin()
        for words in (self._words, self._titles):
            words.destroy()
            words.create()
        self.declare(complete=True)

    def purge(self) -> None:
        """Leave no trace of what was taken out."""
        self._give()
        self._give_titles()
        self._words.purge()
        self._titles.purge()

    # ------------------------------------------------------------ asking

    def stable_docs(self) -> AbstractContextManager[None]:
        """Meanwhile a number that is found does not come to mean another event."""
        return self._words.stable_docs()

    def find(
        self,
        asked: WordQuery,
        *,
        text_class: int | None = None,
        limit: int = ALL,
        before: int = ALL,
    ) -> list[int]:
        """Docs below ``before``, the newest first."""
        self._give()
        return self._words.find(_cut(asked), text_class, limit, before)

    def count(self, asked: WordQuery, *, text_class: int | None = None) -> int:
        self._give()
        return self._words.count(_cut(asked), text_class)

    def sessions_titled(self, asked: WordQuery) -> list[int]:
        """Numbers of the sessions that are called so."""
        self._give_titles()
        return self._titles.find(_cut(asked), None, ALL, ALL)

    def terms_with(self, part: str) -> list[tuple[str, int]]:
        """Words of the index that contain ``part``, with the number of docs. Reads all of it."""
        self._give()
        return self._words.terms(like=f"%{_literal(part)}%")

    def terms_from(self, beginning: str) -> list[tuple[str, int]]:
        """Words that begin so, with the number of docs."""
        self._give()
        return self._words.terms(first=beginning, last=beginning + "\U0010ffff")

    def title_terms(self) -> list[tuple[str, int]]:
        """Words that sessions are called by, with the number of sessions."""
        self._give_titles()
        return self._titles.terms(last="\U0010ffff")

    # ------------------------------------------------------------ whole or not

    @property
    def is_complete(self) -> bool:
        """Whether every event is in it; not so after an update, until it has been built."""
        state = self._state()
        return (state.get("complete"), state.get("version")) == ("yes", VERSION)

    def _state(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._db.all(_STATE)}

    def declare(self, *, complete: bool) -> None:
        self._declare(complete="yes" if complete else "no", version=VERSION)

    def _declare(self, **said: str) -> None:
        known = self._state()
        for name, value in said.items():
            self._db.execute(_SET if name in known else _NEW, {"name": name, "value": value})

    # ------------------------------------------------------------ building a new one

    def begin_next(self, builder: str) -> None:
        """An empty index beside this one; one that was left unfinished goes, whoever began it."""
        self._next.destroy()
        self._next.create()
        self._declare(builder=builder)

    def is_built_by(self, builder: str) -> bool:
        """Whether nobody else has begun to build one since."""
        return self._state().get("builder") == builder

    def add_next(self, docs: Iterable[tuple[int, str]]) -> None:
        self._next.add((doc, text) for doc, text in docs if text)

    def drop_next(self, docs: Sequence[int]) -> None:
        self._next.drop(docs)

    def swap(self, titles: Iterable[tuple[int, str]]) -> None:
        """The index that was built beside takes the place of this one; titles are few."""
        self._next.replace_table(TABLE)
        self._words = self._db.word_engine(TABLE)
        self._titles.destroy()
        self._titles.create()
        self._titles.add(titles)
        self._declare(builder="")
        self.declare(complete=True)

    @property
    def _next(self) -> WordEngine:
        return self._db.word_engine(NEXT)


def _cut(asked: WordQuery) -> WordQuery:
    """A word that is longer than the index knows is looked for by its beginning."""
    clauses = tuple(tuple(map(_short, clause)) for clause in asked.clauses)
    return WordQuery(clauses, tuple(map(_short, asked.without)))


def _short(word: QueryWord) -> QueryWord:
    return word if len(word.text) < LONGEST else QueryWord(word.text[:LONGEST], is_prefix=True)


def _literal(part: str) -> str:
    return part.replace("!", "!!").replace("%", "!%").replace("_", "!_")
