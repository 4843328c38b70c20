"""The word engine for SQLite: an FTS5 table that stores no texts and no positions of words.

Without positions the index takes a third of the space. To match a phrase, the caller compares the
texts themselves.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from session_memory.core.index_words import JOINT, LONGEST, with_joints
from session_memory.store.fts5_pages import LEAVES, words_in_pages
from session_memory.store.word_query import (
    IndexedText,
    PreparedDocs,
    PreparedText,
    QueryWord,
    WordQuery,
)

if TYPE_CHECKING:
    from session_memory.store.sqlite import Sqlite

# Bytes that FTS5 collects in memory before it writes a segment of the index.
HASH_BYTES = 16 * 1024 * 1024

# The greatest character.
LAST = "\U0010ffff"
# Pages that one step of a merge writes, and rows that one step of removing an index deletes.
MERGED_PAGES = 32
ROWS_AT_ONCE = 200
# Of the words that contain a part, at most this many are looked up one by one. If there are more,
# or if a part is shorter than SHORTEST_PART, all words are read with their numbers of texts.
MOST_LOOKED_UP, SHORTEST_PART = 500, 3
# The large tables of an FTS5 index. Rows up to the number describe the whole index.
_PARTS = (("data", 10), ("docsize", 0))

CREATE = """
create virtual table {table} using fts5 (
    text, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
)
"""
# Segments are merged late, so a first load writes each word only once or twice. Searching sixteen
# segments is as fast as searching four. With its own settings, FTS5 would merge segments while a
# transaction commits. These settings turn that off, and `merged` merges in steps.
_SETTINGS = {"hashsize": HASH_BYTES, "automerge": 0, "usermerge": 16, "crisismerge": 64}
CONFIGURE = ";\n".join(
    f"insert into {{table}} ({{table}}, rank) values ('{name}', {value})"
    for name, value in _SETTINGS.items()
)


def entries_of(text: str) -> tuple[str, ...]:
    """Return what the index stores for a text: one entry, the text in the form that FTS5 needs."""
    return (with_joints(text),)


class SqliteWordEngine:
    kind = "sqlite"
    writes_ahead = False
    loads_faster_alone = False

    def __init__(self, db: "Sqlite", table: str) -> None:
        self._db = db
        self._table = table
        self._is_configured = False

    def create(self) -> None:
        for statement in (CREATE, *CONFIGURE.split(";\n")):
            self._db.execute(statement.format(table=self._table))

    def destroy(self) -> None:
        self._db.execute(f"drop table if exists {self._table}")

    def replace_table(self, table: str, old: str) -> None:
        self._db.execute(f"drop table if exists {old}")
        if self._db.has_table(table):
            # Deleting a large index takes long, so it is only renamed here.
            self._db.execute(f"alter table {table} rename to {old}")
        self._db.execute(f"alter table {self._table} rename to {table}")
        self._table = table

    def stop_finding(self) -> None:
        """Nothing to do: an FTS5 table is its own index."""

    def begin_finding(self) -> None:
        """Nothing to do, as in `stop_finding`."""

    def removed(self) -> Iterator[None]:
        for part, first in _PARTS:
            table = f"{self._table}_{part}"
            some = f"select id from {table} where id > {first} limit {ROWS_AT_ONCE}"
            # Another process may delete the table between two steps.
            while self._db.has_table(table) and self._db.value(f"select exists ({some})"):
                self._db.execute(f"delete from {table} where id in ({some})")
                yield
        self.destroy()

    def prepared(self, docs: Iterable[tuple[int, str]]) -> PreparedDocs:
        return [(doc, with_joints(text)) for doc, text in docs]

    def add_prepared(self, docs: PreparedDocs) -> None:
        self._db.insert(self._table, ("rowid", "text"), docs)

    def add(self, docs: Iterable[tuple[int, IndexedText]]) -> None:
        rows = (
            (doc, text.entries[0] if isinstance(text, PreparedText) else with_joints(text))
            for doc, text in docs
        )
        self._db.insert(self._table, ("rowid", "text"), rows)

    def known(self, docs: Sequence[int]) -> list[int]:
        sql = f"select rowid from {self._table} where rowid in ({{keys}})"
        return [row[0] for row in self._db.matching(sql, docs)]

    def drop(self, docs: Sequence[int]) -> None:
        sql = f"delete from {self._table} where rowid = :doc"
        self._db.update_many(sql, ({"doc": doc} for doc in docs))

    def docs_without_events(self) -> list[int]:
        missing = "not exists (select 1 from events e where e.id = w.rowid >> 2)"
        return [
            row[0] for row in self._db.all(f"select rowid from {self._table} w where {missing}")
        ]

    def find(self, query: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        sql = f"select rowid from {self._table} where {self._where(text_class)} and rowid < :before"
        params = _params(query, text_class) | {"limit": limit, "before": before}
        return [row[0] for row in self._db.all(f"{sql} order by rowid desc limit :limit", params)]

    def count(self, query: WordQuery, text_class: int | None) -> int:
        sql = f"select count(*) from {self._table} where {self._where(text_class)}"
        return int(self._db.value(sql, _params(query, text_class)))

    def _where(self, text_class: int | None) -> str:
        of_class = "" if text_class is None else " and (rowid & 3) = :text_class"
        return f"{self._table} match :query{of_class}"

    def stable_docs(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def terms(self, *, first: str = "", last: str = "") -> list[tuple[str, int]]:
        sql = f"{self._known_words()} and term >= :first and term < :last"
        return self._db.all(sql, {"first": first, "last": last})

    def terms_with(self, parts: Sequence[str]) -> list[tuple[str, int]]:
        known = self._known_words()
        # Only a query of the list of words makes FTS5 write what it has collected in memory.
        self._db.all(f"{known} and term = ''")
        words = self._words_with(parts) if min(map(len, parts)) >= SHORTEST_PART else None
        if words is None or len(words) > MOST_LOOKED_UP:
            params = {f"part_{at}": part for at, part in enumerate(parts)}
            has_one = " or ".join(f"instr(word, :{name})" for name in params)
            return self._db.all(f"{known} and ({has_one})", params)
        found = (self._db.one(f"{known} and term = :word", {"word": word}) for word in words)
        return [(row[0], row[1]) for row in found if row is not None]

    def _known_words(self) -> str:
        """The statement that lists words with their number of texts.

        FTS5 cuts very long words at any byte, so they are cut again at a character.
        """
        view = f"temp.{self._table}_terms"
        self._db.execute(
            f"create virtual table if not exists {view} using fts5vocab"
            f" ('main', '{self._table}', 'row')"
        )
        return (
            f"select substr(term, 1, {LONGEST}) as word, doc from {view}"
            f" where substr(term, 1, 1) <> '{JOINT}'"
        )

    def _words_with(self, parts: Sequence[str]) -> list[str] | None:
        """Words that may contain one of ``parts``, from the pages of the index.

        None if the pages are not enough. Then the caller must look at all words.
        """
        wanted = [part.encode() for part in parts]
        pages = self._db.each(LEAVES.format(table=self._table))
        try:
            stored = words_in_pages(page for (page,) in pages)
        except IndexError:
            return None  # The page is damaged. FTS5 will say so.
        words = [word[1:] for word in stored if any(part in word for part in wanted)]
        try:
            return [word.decode() for word in words]
        except UnicodeDecodeError:
            return None  # A word that FTS5 has cut inside of a character.

    def beginning(self, text: str, most: int) -> tuple[QueryWord, ...]:
        """The most frequent words that begin with ``text``.
        A prefix search of FTS5 would collect the texts of all such words.
        """
        found = sorted(self.terms(first=text, last=text + LAST), key=lambda one: -one[1])
        return tuple(QueryWord(word) for word, _ in found[:most])

    def merged(self) -> Iterator[None]:
        self._configure()
        yield from self._merged(MERGED_PAGES)

    def purged(self) -> Iterator[None]:
        """Rewrite the segments of the index without deleted docs: `optimize` in small steps."""
        return self._merged(-MERGED_PAGES)  # A negative number begins with all segments.

    def _merged(self, pages: int) -> Iterator[None]:
        merge = f"insert into {self._table} ({self._table}, rank) values ('merge', :pages)"
        while self._db.changes_of(merge, {"pages": pages}) >= 2:
            pages = MERGED_PAGES
            yield

    def _configure(self) -> None:
        """Set the settings of an index that an earlier version made."""
        if self._is_configured:
            return
        known: dict[str, int] = dict(self._db.all(f"select k, v from {self._table}_config"))
        if any(known.get(name) != value for name, value in _SETTINGS.items()):
            for statement in CONFIGURE.split(";\n"):
                self._db.execute(statement.format(table=self._table))
        self._is_configured = True


def _params(query: WordQuery, text_class: int | None) -> dict[str, object]:
    params: dict[str, object] = {"query": _match(query)}
    return params if text_class is None else params | {"text_class": text_class}


def _match(query: WordQuery) -> str:
    clauses = (f"({' OR '.join(map(_word, clause))})" for clause in query.clauses)
    match = " AND ".join(clauses)
    return f"({match}) NOT ({' OR '.join(map(_word, query.without))})" if query.without else match


def _word(word: QueryWord) -> str:
    """The word in quotes, so that FTS5 never reads it as an operator."""
    return f'"{word.text}" *' if word.is_prefix else f'"{word.text}"'
