"""The word engine for PostgreSQL: the words of each doc in a ``tsvector``, split by our own rule.

A ``tsvector`` holds at most a megabyte, so a text with more words becomes several rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from struct import Struct
from typing import TYPE_CHECKING

from session_memory.core.index_words import JOINT, index_terms
from session_memory.store.copy_batches import EncodedRows
from session_memory.store.postgres_sql import number_array
from session_memory.store.word_query import (
    IndexedText,
    PreparedDocs,
    PreparedText,
    QueryWord,
    WordQuery,
)

if TYPE_CHECKING:
    from session_memory.store.postgres import Postgres

BATCH_BYTES = 1024 * 1024
PART_BYTES = 500_000
# A row for a binary ``COPY``: two columns, the doc in eight bytes, and the size of the words.
_ROW_HEAD = Struct("!hiqi")
# A binary ``tsvector``: the number of words; then each word, a NUL and its number of positions.
_COUNT = Struct("!i")
_LEXEME_END = "\0\0\0"

CREATE = """
create table {table} (doc bigint not null, lexemes tsvector not null);
alter table {table} alter column lexemes set statistics 0;
create index {table}_by_doc on {table} (doc);
create index {table}_by_word on {table} using gin (lexemes) with (fastupdate = on)
"""
# Another process may have built the whole index anew meanwhile.
_BY_WORD = CREATE.split(";\n")[-1].replace("create index", "create index if not exists")
_IS_OURS = """
    select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass(:table)
"""
_STAT = f"""
    select word, ndoc from ts_stat('select lexemes from {{table}}') where left(word, 1) <> '{JOINT}'
"""


def entries_of(text: str) -> tuple[bytes, ...]:
    """Return what the index stores for a text: its words, as one or more binary ``tsvector``."""
    return tuple(_rows(index_terms(text)))


class PostgresWordEngine:
    kind = "postgres"
    writes_ahead = True

    def __init__(self, db: "Postgres", table: str) -> None:
        self._db = db
        self._table = table

    def create(self) -> None:
        for statement in CREATE.format(table=self._table).split(";\n"):
            self._db.execute(statement)

    def destroy(self) -> None:
        self._db.execute(f"drop table if exists {self._table}")

    def replace_table(self, table: str, old: str) -> None:
        self._db.execute(f"drop table if exists {table}")
        self._db.execute(f"alter table {self._table} rename to {table}")
        for index in ("by_doc", "by_word"):
            self._db.execute(f"alter index {self._table}_{index} rename to {table}_{index}")
        self._table = table

    @property
    def loads_faster_alone(self) -> bool:
        """False if another role owns the table: only its owner may drop and make an index."""
        return bool(self._db.value(_IS_OURS, {"table": self._table}))

    def stop_finding(self) -> None:
        self._db.execute(f"drop index if exists {self._table}_by_word")

    def begin_finding(self) -> None:
        self._db.execute(_BY_WORD.format(table=self._table))

    def removed(self) -> Iterator[None]:
        yield from ()
        self.destroy()

    def prepared(self, docs: Iterable[tuple[int, str]]) -> PreparedDocs:
        return list(_all_rows(docs))

    def add(self, docs: Iterable[tuple[int, IndexedText]]) -> None:
        self._add(_all_rows(docs))

    def add_prepared(self, docs: PreparedDocs) -> None:
        self._add(docs)

    def _add(self, rows: Iterable[tuple[int, bytes]]) -> None:
        batch: list[bytes] = []
        size = 0
        for doc, lexemes in rows:
            batch += (_ROW_HEAD.pack(2, 8, doc, len(lexemes)), lexemes)
            size += len(lexemes)
            if size > BATCH_BYTES:
                self._copy(batch)
                batch, size = [], 0
        if batch:
            self._copy(batch)

    def _copy(self, batch: list[bytes]) -> None:
        self._db.copy_beside(EncodedRows(self._table, ("doc", "lexemes"), batch))

    def drop(self, docs: Sequence[int]) -> None:
        sql = f"delete from {self._table} where doc = any(cast(:docs as bigint[]))"
        self._db.execute(sql, {"docs": number_array(docs)})

    def known(self, docs: Sequence[int]) -> list[int]:
        """Always empty, because the server never uses an id twice."""
        return []

    def docs_without_events(self) -> list[int]:
        known = "select 1 from events e where e.id = w.doc >> 2"
        sql = f"select doc from {self._table} w where not exists ({known})"
        return [row[0] for row in self._db.all(sql)]

    def find(self, query: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        matching, params = self._matching(query, text_class)
        sql = (
            f"select doc from ({matching}) docs where doc < :before order by doc desc limit :limit"
        )
        rows = self._db.all(sql, params | {"limit": limit, "before": before})
        return [row[0] for row in rows]

    def count(self, query: WordQuery, text_class: int | None) -> int:
        matching, params = self._matching(query, text_class)
        return int(self._db.value(f"select count(*) from ({matching}) docs", params))

    def _matching(self, query: WordQuery, text_class: int | None) -> tuple[str, dict[str, object]]:
        """The SQL that selects the matching docs, and its parameters.

        A long doc has several rows, so clauses are combined by doc and not by row.
        """
        params: dict[str, object] = {}
        of_class = ""
        if text_class is not None:
            params["text_class"], of_class = text_class, " and (doc & 3) = :text_class"
        table = f"{self._table} where lexemes @@ cast(:{{name}} as tsquery){of_class}"
        with_one_of = f"select doc from {table}"
        selects = []
        for place, clause in enumerate(query.clauses):
            params[f"clause_{place}"] = " | ".join(map(_word, clause))
            selects.append(with_one_of.format(name=f"clause_{place}"))
        sql = " intersect ".join(selects)
        if len(selects) == 1:
            sql = sql.replace("select doc", "select distinct doc", 1)
        if query.without:
            params["without"] = " | ".join(map(_word, query.without))
            sql = f"({sql}) except {with_one_of.format(name='without')}"
        return sql, params

    def stable_docs(self) -> AbstractContextManager[None]:
        """Do nothing: PostgreSQL never gives the id of a deleted event to another event.

        A snapshot would do harm. If a reindex swaps the index after the snapshot began, the new
        index looks empty in the snapshot.
        """
        return nullcontext()

    def terms(self, *, first: str = "", last: str = "") -> list[tuple[str, int]]:
        sql = _STAT.format(table=self._table)
        sql += ' and word collate "C" >= :first and word collate "C" < :last'
        rows = self._db.all(sql, {"first": first, "last": last})
        return [(row[0], int(row[1])) for row in rows]

    def terms_with(self, parts: Sequence[str]) -> list[tuple[str, int]]:
        params = {f"part_{at}": part for at, part in enumerate(parts)}
        has_one = " or ".join(f"strpos(word, :{name}) > 0" for name in params)
        sql = f"{_STAT.format(table=self._table)} and ({has_one})"
        return [(row[0], int(row[1])) for row in self._db.all(sql, params)]

    def beginning(self, text: str, most: int) -> tuple[QueryWord, ...]:
        """One prefix search. The index is sorted, so it finds all words with this beginning."""
        return (QueryWord(text, is_prefix=True),)

    def merged(self) -> Iterator[None]:
        """Nothing to do: the server merges its index by itself."""
        yield from ()

    def purged(self) -> Iterator[None]:
        """Nothing to do: the next vacuum removes deleted rows."""
        yield from ()


def _all_rows(docs: Iterable[tuple[int, IndexedText]]) -> Iterator[tuple[int, bytes]]:
    return (
        (doc, row)
        for doc, text in docs
        for row in (text.entries if isinstance(text, PreparedText) else _rows(index_terms(text)))
    )


def _rows(words: list[str]) -> Iterator[bytes]:
    """The words in PostgreSQL's binary form of a ``tsvector``. Many words give several of them."""
    if not words:
        return
    lexemes = _LEXEME_END.join([*words, ""]).encode()
    if len(lexemes) <= PART_BYTES:
        yield _COUNT.pack(len(words)) + lexemes
    else:
        half = len(words) // 2
        yield from _rows(words[:half])
        yield from _rows(words[half:])


def _word(word: QueryWord) -> str:
    return f"'{word.text}':*" if word.is_prefix else f"'{word.text}'"
