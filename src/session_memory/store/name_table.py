"""Names that repeat on many rows (kinds, tools, models). Each is stored once and has a number."""

from session_memory.core.errors import StoreDamaged
from session_memory.core.text import escaped
from session_memory.store.database import Database

_LOAD = "select id, name from names"
_FIND = "select id from names where name = :name"
_ADD = """
    insert into names (name) select :name
    where not exists (select 1 from names where name = :name) returning id
"""


class NameTable:
    """A map between names and numbers. ``numbers`` inserts new names: use it in a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.numbers = _Numbers(db)
        # A look-up here is faster than a call of `word`.
        self.words: dict[int | None, str | None] = _Words(db)

    def word(self, number: int | None) -> str | None:
        return self.words[number]

    def all(self) -> set[str]:
        """Every name in the table."""
        return {row[1] for row in self._db.all(_LOAD)}

    def forget(self) -> None:
        """Clear the cache. After a rollback, numbers assigned in the transaction are not valid."""
        self.numbers.clear()
        self.words.clear()


class _Words(dict[int | None, str | None]):
    """Number → name. None stays None."""

    def __init__(self, db: Database) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, number: int | None) -> str | None:
        # Many columns are None. With this entry, only the first None calls this function.
        self[None] = None
        if number is None:
            return None
        # Another process may have added the name since the table was read.
        self.update(self._db.all(_LOAD))
        if number not in self:
            raise StoreDamaged("the table names", f"row {number} is missing")
        return self[number]


class _Numbers(dict[str | None, int | None]):
    """Name → number. A new name is inserted. None stays None."""

    def __init__(self, db: Database) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, name: str | None) -> int | None:
        if not self:
            self[None] = None
            self.update((stored, number) for number, stored in self._db.all(_LOAD))
        kept = None if name is None else escaped(name)
        if kept not in self:
            params = {"name": kept}
            # Another process may have added the name since the table was read.
            self[kept] = self._db.value(_ADD, params) or self._db.value(_FIND, params)
        self[name] = self[kept]
        return self[name]
