"""Kept figures of files: how often each session read and changed each file."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from session_memory.core.text import escaped
from session_memory.store.database import Database
from session_memory.store.figures import listed

COUNTS = ("reads", "edits", "writes", "other", "failed", "open")
_COLUMNS = ("set_id", "session_id", "repo", "path", *COUNTS, "last_at")
_DROP = "delete from session_files where set_id + 0 = :set_id and session_id in ({ids})"
_UNMARK = "delete from figure_marks where set_id = :set_id and session_id in ({ids})"
_TOTALS = f"""
    select f.repo, f.path, {", ".join(f"cast(sum(f.{name}) as bigint)" for name in COUNTS)},
        max(f.last_at), count(*)
    from session_files f where f.set_id = :set_id {{others}} group by f.repo, f.path
"""


class KeptFile(msgspec.Struct, frozen=True):
    """How often one or more ``sessions`` used a file: a number for each name in ``COUNTS``."""

    repo: str | None
    path: str
    counts: tuple[int, ...]
    last_at: int | None
    sessions: int = 1


class SessionFiles:
    def __init__(self, db: Database) -> None:
        self._db = db

    def replace(
        self, set_id: int, ids: Sequence[int], files: Iterable[tuple[int, KeptFile]]
    ) -> None:
        """Replace the files of the sessions ``ids``, and remove the marks of these sessions.

        ``files`` are pairs ``(session id, file)``.
        """
        given, among = {"set_id": set_id}, listed(ids)
        self._db.execute(_DROP.format(ids=among), given)
        rows = [
            (
                set_id,
                session_id,
                None if one.repo is None else escaped(one.repo),
                escaped(one.path),
                *one.counts,
                one.last_at,
            )
            for session_id, one in files
        ]
        self._db.insert("session_files", _COLUMNS, rows)
        self._db.execute(_UNMARK.format(ids=among), given)

    def totals(self, set_id: int, without: Collection[int]) -> list[KeptFile]:
        """Each file with its sums over all sessions except those in ``without``."""
        others = f"and f.session_id not in ({listed(without)})" if without else ""
        rows = self._db.all(_TOTALS.format(others=others), {"set_id": set_id})
        return [
            KeptFile(row[0], row[1], tuple(map(int, row[2:-2])), row[-2], int(row[-1]))
            for row in rows
        ]
