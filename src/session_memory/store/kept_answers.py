"""Answers that compare all analyzed sessions, kept until a digest changes.

Whoever writes or deletes digests calls `note_digests` in the same transaction, which counts the
writes. An answer is stored with the count at the time when it was made.
"""

from session_memory.store.database import Database
from session_memory.store.zstandard import zstd

MOST_ANSWERS = 16
LEVEL = 3
_COUNT = (
    "update digest_writes set number = number + 1",
    """
    insert into digest_writes (number) select 1 where not exists (select 1 from digest_writes)
    """,
)
_NUMBER = "select coalesce(max(number), 0) from digest_writes"
_GET = """
    select body from kept_answers
    where name = :name and digest_writes = (select coalesce(max(number), 0) from digest_writes)
"""
_HAS = _GET.replace("body", "1", 1)
_DROP = "delete from kept_answers where name = :name"
_NAMES = "select name from kept_answers order by made_at desc, name"
_COLUMNS = ("name", "digest_writes", "made_at", "body")


def note_digests(db: Database) -> None:
    """Make all kept answers invalid, because digests change in this transaction."""
    for statement in _COUNT:
        db.execute(statement)


class KeptAnswers:
    def __init__(self, db: Database) -> None:
        self._db = db

    def number(self) -> int:
        """How often digests were written. Call it in the snapshot in which an answer is made."""
        return int(self._db.value(_NUMBER))

    def get(self, name: str) -> bytes | None:
        """The kept answer with this name. None if there is none or it is no longer valid."""
        body = self._db.value(_GET, {"name": name})
        return None if body is None else zstd.decompress(body)

    def has(self, name: str) -> bool:
        """Whether `get` would return an answer."""
        return self._db.value(_HAS, {"name": name}) is not None

    def put(self, name: str, number: int, now: int, answer: bytes) -> None:
        """Keep an answer, with the `number` from which it was made. Call it inside a transaction.

        Only the newest `MOST_ANSWERS` are kept.
        """
        names = [name, *(known for (known,) in self._db.all(_NAMES) if known != name)]
        for old in (name, *names[MOST_ANSWERS:]):
            self._db.execute(_DROP, {"name": old})
        body = zstd.compress(answer, LEVEL)
        self._db.insert("kept_answers", _COLUMNS, [(name, number, now, body)])

    def discard(self) -> None:
        self._db.execute("delete from kept_answers")
