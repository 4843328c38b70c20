"""Which parts of the stored logs were searched for secrets, so that they are searched once.

A source is searched in stretches. The table has the place of each stretch and whether it contains a
secret, but never the secret: it is found again when somebody asks. The result for a stretch is
valid as long as the packs with its bytes are the same.
"""

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.store.database import Database

_PACKS = "select start, hash from packs where source_id = :source order by start"
_GET = (
    "select size, packs, stretches from secret_scans where source_id = :source and rules = :rules"
)
_DROP = "delete from secret_scans where source_id in ({keys})"
_COLUMNS = ("source_id", "rules", "size", "packs", "stretches")
_PLACE, _HASH = 8, 8


class SearchedStretch(msgspec.Struct, frozen=True, array_like=True):
    """A searched part of a source: ``length`` bytes from ``start`` on.

    The bytes from ``end`` on belong to the next stretch as well.
    """

    start: int
    end: int
    length: int
    has_secret: bool


class SecretScan(msgspec.Struct, frozen=True):
    """The result of a search of one source: its searched ``stretches``.

    ``size`` (in bytes) and ``packs`` (from `SecretScans.packs_of`) tell whether the source has
    changed since.
    """

    source_id: int
    size: int
    packs: bytes
    stretches: Sequence[SearchedStretch]


_DECODER = msgspec.msgpack.Decoder(list[SearchedStretch])


class SecretScans:
    """The table of searched parts. Only those searched with the version ``rules`` are returned."""

    def __init__(self, db: Database, rules: int) -> None:
        self._db = db
        self._rules = rules

    def packs_of(self, source_id: int) -> bytes:
        """The packs of a source: where each begins, and a part of its hash."""
        rows = self._db.all(_PACKS, {"source": source_id})
        return b"".join(start.to_bytes(_PLACE) + bytes(hash)[:_HASH] for start, hash in rows)

    def known(self, source_id: int, size: int, packs: bytes) -> list[SearchedStretch]:
        """The stretches that need not be searched again, in order, from the start of the source
        on. ``size`` and ``packs`` are those of the source now."""
        row = self._db.one(_GET, {"source": source_id, "rules": self._rules})
        if row is None:
            return []
        stretches = _DECODER.decode(bytes(row[2]))
        if (row[0], bytes(row[1])) == (size, packs):
            return stretches
        # The log has changed: from ``same`` on, its bytes may differ from those that were searched.
        # So the stretches that end there or later are searched again.
        same = min(row[0], _same_to(bytes(row[1]), packs))
        return [one for one in stretches if one.start + one.length < same]

    def keep(self, scans: Iterable[SecretScan]) -> None:
        """Replace the results for the sources of ``scans``. Call it inside a transaction."""
        some = list(scans)
        ids = [one.source_id for one in some]
        self._db.execute(_DROP.format(keys=", ".join(map(str, ids)) or "null"))
        encode = msgspec.msgpack.encode
        rows = (
            (one.source_id, self._rules, one.size, one.packs, encode(list(one.stretches)))
            for one in some
        )
        self._db.insert("secret_scans", _COLUMNS, rows)


def _same_to(old: bytes, new: bytes) -> int:
    """The first byte of a source from which on two lists of its packs (`packs_of`) differ.

    It is very large if the new list only continues the old one.
    """
    step = _PLACE + _HASH
    for at in range(0, len(old), step):
        if old[at : at + step] != new[at : at + step]:
            return int.from_bytes(old[at : at + _PLACE])
    return 1 << 62
