"""Read how sessions resolved an error, for a hook that must answer fast: each query uses an index.

`session_memory.store.digests` writes the tables.
"""

from session_memory.core.short_ids import short_lengths
from session_memory.store.quick_reading import QuickReader
from session_memory.store.record_keys import event_uid, place_key, record_key

TYPE_CHECKING = False  # As in `quick_reading`.
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from session_memory.store.quick_reading import Row

# An error that more sessions have says nothing about its cause.
MOST_ERRORS = 200
_ERRORS = """
    select session_uid, fingerprint, resolution from error_fingerprints
    where fingerprint in ({keys}) order by session_uid limit :most
"""
_DIGESTS = """
    select session_uid, repo, coalesce(ended_at, started_at, 0) from digests
    where session_uid in ({keys})
"""
_HAS_REPO = "select 1 from digests where repo = :repo limit 1"
_BODY = "select version, body from digests where session_uid = :uid"
_PLACES = """
    select e.record, e.block, e.seq from events e join sessions s on s.id = e.session_id
    where e.record in ({keys}) and s.uid = :uid
"""
# The uids before and after that of a session in alphabetical order. The uids of its subagents begin
# with its own, so they are passed over.
_NEIGHBOURS = """
    select (select max(uid) from sessions where uid >= :first and uid < :uid),
        (select min(uid) from sessions where uid >= :behind and uid < :last)
"""


def known_repository(reader: QuickReader, names: "Iterable[str]") -> str | None:
    """The first of ``names`` that is the repository of a stored session; None if none is."""
    return next((name for name in names if reader.all(_HAS_REPO, {"repo": name})), None)


class ErrorOfSession:
    """An error with a fingerprint in one session. ``how`` is the kind of its resolution."""

    def __init__(self, row: "Row", repo: str | None, ended: int) -> None:
        self.uid: str = row[0]
        self.fingerprint: str = row[1]
        self.how: str | None = row[2]
        self.repo, self.ended = repo, ended


class StoredFixes:
    def __init__(self, reader: QuickReader) -> None:
        self._reader = reader

    def errors(self, fingerprints: "Sequence[str]") -> list[ErrorOfSession]:
        """The sessions with these errors, the newest first; [] if there are too many."""
        rows = list(self._reader.matching(_ERRORS, fingerprints, {"most": MOST_ERRORS + 1}))
        if not rows or len(rows) > MOST_ERRORS:
            return []
        uids = sorted({row[0] for row in rows})
        known = {uid: (repo, ended) for uid, repo, ended in self._reader.matching(_DIGESTS, uids)}
        found = [ErrorOfSession(row, *known[row[0]]) for row in rows if row[0] in known]
        return sorted(found, key=lambda one: (-one.ended, one.uid))

    def digest(self, uid: str) -> "dict[str, Any]":
        """The digest of a session as plain values."""
        from json import loads

        from session_memory.store.zstandard import zstd

        ((_, body),) = self._reader.all(_BODY, {"uid": uid})
        values: dict[str, Any] = loads(zstd.decompress(body))
        return values

    def places(self, uid: str, events: "Iterable[str]") -> dict[str, int]:
        """event_uid → the event's seq in the session. Events of evicted sessions are left out."""
        asked = list(dict.fromkeys(events))
        keys = {
            key
            for identity in {one.rpartition(":")[0].partition("~")[0] for one in asked}
            for key in (record_key(identity), place_key(identity))
        }
        rows = self._reader.matching(_PLACES, sorted(keys), {"uid": uid})
        numbers = {event_uid(bytes(record), block): seq for record, block, seq in rows}
        return {one: numbers[one] for one in asked if one in numbers}

    def short_name(self, uid: str) -> str:
        """``claude:5b0c6a1e``: enough of a uid to find the session again."""
        flavor, _, native = uid.partition(":")
        if ":" in native:
            return uid
        given = {"first": f"{flavor}:", "uid": uid, "behind": f"{uid};", "last": f"{flavor};"}
        others = [other for other in self._reader.all(_NEIGHBOURS, given)[0] if other]
        for length in short_lengths(native):
            start = f"{flavor}:{native[:length]}"
            if length < len(native) and not any(other.startswith(start) for other in others):
                return start
        return uid
