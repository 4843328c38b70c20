"""The words of a store in PostgreSQL: the words of a doc in a ``tsvector``, made by our own rule.

A ``tsvector`` holds a megabyte; a text with more words than that is several rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from session_memory.core.index_words import vocabulary
from session_memory.store.word_query import QueryWord, WordQuery

if TYPE_CHECKING:
    from session_memory.store.postgres import Postgres

BATCH_BYTES = 1024 * 1024
PART_BYTES = 500_000

CREATE = """
create table {table} (doc bigint not null, lexemes tsvector not null);
create index {table}_by_doc on {table} (doc);
create index {table}_by_word on {table} using gin (lexemes) with (fastupdate = on)
"""
_ADD = """
    insert into {table} (doc, lexemes)
    select doc, words::tsvector
    from unnest(cast(:docs as bigint[]), cast(:words as text[])) as given (doc, words)
"""
_STAT = "select word, ndoc from ts_stat('select lexemes from {table}')"


class PostgresWordEngine:
    def __init__(self, db: "Postgres", table: str) -> None:
        self._db = db
        self._table = table

    def create(self) -> None:
        for statement in CREATE.format(table=self._table).split(";\n"):
            self._db.execute(statement)

    def destroy(self) -> None:
        self._db.execute(f"drop table if exists {self._table}")

    def replace_table(self, table: str) -> None:
        self._db.execute(f"drop table if exists {table}")
        self._db.execute(f"alter table {self._table} rename to {table}")
        for index in ("by_doc", "by_word"):
            self._db.execute(f"alter index {self._table}_{index} rename to {table}_{index}")
        self._table = table

    def add(self, docs: Iterable[tuple[int, str]]) -> None:
        sql = _ADD.format(table=self._table)
        numbers: list[int] = []
        words: list[str] = []
        size = 0
        for doc, text in docs:
            for part in _parts(text):
                numbers.append(doc)
                words.append(part)
                size += len(part)
            if size > BATCH_BYTES:
                self._db.execute(sql, {"docs": _array(numbers), "words": words})
                numbers, words, size = [], [], 0
        if numbers:
            self._db.execute(sql, {"docs": _array(numbers), "words": words})

    def drop(self, docs: Sequence[int]) -> None:
        sql = f"delete from {self._table} where doc = any(cast(:docs as bigint[]))"
        self._db.execute(sql, {"docs": _array(docs)})

    def find(self, asked: WordQuery, text_class: int | None, limit: int, before: int) -> list[int]:
        found, params = self._found(asked, text_class)
        sql = f"select doc from ({found}) found where doc < :before order by doc desc limit :limit"
        rows = self._db.all(sql, params | {"limit": limit, "before": before})
        return [row[0] for row in rows]

    def count(self, asked: WordQuery, text_class: int | None) -> int:
        found, params = self._found(asked, text_class)
        return int(self._db.value(f"select count(*) from ({found}) found", params))

    def _found(self, asked: WordQuery, text_class: int | None) -> tuple[str, dict[str, object]]:
        """The parts of a text are rows, so clauses meet where they name the same doc."""
        params: dict[str, object] = {}
        of_class = ""
        if text_class is not None:
            params["text_class"], of_class = text_class, " and (doc & 3) = :text_class"
        table = f"{self._table} where lexemes @@ cast(:{{name}} as tsquery){of_class}"
        with_one_of = f"select doc from {table}"
        selects = []
        for place, clause in enumerate(asked.clauses):
            params[f"clause_{place}"] = " | ".join(map(_word, clause))
            selects.append(with_one_of.format(name=f"clause_{place}"))
        sql = " intersect ".join(selects)
        if len(selects) == 1:
            sql = sql.replace("select doc", "select distinct doc", 1)
        if asked.without:
            params["without"] = " | ".join(map(_word, asked.without))
            sql = f"({sql}) except {with_one_of.format(name='without')}"
        return sql, params

    def stable_docs(self) -> AbstractContextManager[None]:
        """Numbers are never used again; and an index that was swapped in would look empty to
        whoever sees the moment before."""
        return nullcontext()

    def terms(self, *, like: str = "", first: str = "", last: str = "") -> list[tuple[str, int]]:
        sql = _STAT.format(table=self._table)
        if like:
            sql += " where word like :like escape '!'"
            return [(row[0], int(row[1])) for row in self._db.all(sql, {"like": like})]
        sql += ' where word collate "C" >= :first and word collate "C" < :last'
        rows = self._db.all(sql, {"first": first, "last": last})
        return [(row[0], int(row[1])) for row in rows]

    def purge(self) -> None:
        """Dead rows go with the next vacuum, which a transaction cannot run."""


def _array(numbers: Sequence[int]) -> str:
    """As text: psycopg takes the narrowest type the first ones fit, and later ones may not."""
    return f"{{{','.join(map(str, numbers))}}}"


def _parts(text: str) -> Iterator[str]:
    part: list[str] = []
    size = 0
    for word in vocabulary(text):
        part.append(word)
        size += 4 * len(word) + 8
        if size > PART_BYTES:
            yield " ".join(part)
            part, size = [], 0
    if part:
        yield " ".join(part)


def _word(word: QueryWord) -> str:
    return f"'{word.text}':*" if word.is_prefix else f"'{word.text}'"
