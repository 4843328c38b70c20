"""Words that repeat on every row (kinds, tools, models), stored once and known by number."""

from session_memory.core.text import escaped
from session_memory.store.database import Database

_LOAD = "select id, name from names"
_FIND = "select id from names where name = :name"
_ADD = "insert into names (name) values (:name) returning id"


class NameTable:
    """A two-way map that only grows; ``numbers`` may be asked only inside a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.numbers = _Numbers(db)
        self._words: dict[int, str] = {}

    def word(self, number: int | None) -> str | None:
        if number is None:
            return None
        if number not in self._words:
            self._words = {row[0]: row[1] for row in self._db.all(_LOAD)}
        return self._words[number]

    def all(self) -> set[str]:
        """Every word that is in use."""
        return {row[1] for row in self._db.all(_LOAD)}

    def forget(self) -> None:
        """After a rollback the numbers given out in it mean nothing."""
        self.numbers.clear()
        self._words.clear()


class _Numbers(dict[str | None, int | None]):
    """Word to number; a word nobody used yet gets the next one, no word none."""

    def __init__(self, db: Database) -> None:
        super().__init__()
        self._db = db

    def __missing__(self, word: str | None) -> int | None:
        number = None
        if word is not None:
            storable = {"name": escaped(word)}
            number = self._db.value(_FIND, storable)
            if number is None:
                number = self._db.value(_ADD, storable)
        self[word] = number
        return number
