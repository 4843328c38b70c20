"""Tell records with the same native id apart: those with the same content are copies.

An id alone proves nothing: any log may repeat the id of another session's record. So a record is
identified by its id and its content. Almost always all records with one id have one content. Then
the key of the record is made from the id alone (`session_memory.store.record_keys`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from session_memory.adapters.base import Record
from session_memory.core.text import one_line
from session_memory.derive.cluster_records import PlacedRecord
from session_memory.derive.contents import content_of
from session_memory.derive.owners import NEVER, Owners
from session_memory.store.record_keys import identity_of, record_key, variant_key
from session_memory.store.sessions import CollectedSession
from session_memory.store.sources import SourceRow

OTHER_CONTENT = "record id with other content"
_CONTENT_BITS = 64
_DETAIL = 400


class SameIds:
    """The native ids of the records of a cluster: sessions that share records.

    A set of sessions is a bit mask. ``holders`` maps the key of each record to the sessions that
    hold it. ``contents`` has, for each id with several contents, the key of each content.
    """

    def __init__(self) -> None:
        self.holders: dict[bytes, int] = {}
        self.contents: dict[bytes, dict[int, bytes]] = {}
        # The time and the content of each record as one number: two would need twice the memory.
        self._first: dict[bytes, int] = {}

    def add(self, record: Record, mask: int) -> None:
        """Note that the sessions in ``mask`` hold a record."""
        if record.native_id is None:
            return
        key, content = record_key(record.native_id), content_of(record.events)
        first = self._first.get(key)
        if first is not None and first & ((1 << _CONTENT_BITS) - 1) != content:
            contents = self.contents.setdefault(key, {_content(first): key})
            key = contents.setdefault(content, variant_key(key, content, is_second=False))
            first = self._first.get(key)
        if first is None:
            ts = NEVER if record.ts is None else record.ts
            self._first[key] = ts << _CONTENT_BITS | content
        self.holders[key] = self.holders.get(key, 0) | mask

    def first_seen(self) -> dict[bytes, int]:
        """The key and the time of the first record that each set of sessions holds."""
        first = {mask: key for key, mask in reversed(self.holders.items())}
        return {key: self._first[key] >> _CONTENT_BITS for key in first.values()}

    def sharing(self) -> set[int]:
        """The sets of sessions that hold records with the same id."""
        masks = set(self.holders.values())
        for contents in self.contents.values():
            union = 0
            for key in contents.values():
                union |= self.holders[key]
            masks.add(union)
        return masks

    def key_of(self, key: bytes, record: Record) -> bytes:
        """The key of a record, given the key of its native id."""
        contents = self.contents.get(key)
        return key if contents is None else contents[content_of(record.events)]

    def choose_keys(self, owners: Owners, places: "Places") -> Iterator["OtherContent"]:
        """Decide which content of an id keeps the key of the id. Yields all other contents.

        The first content of the session with the smallest uid keeps it. This depends neither on
        the order in which files were found, nor on records that are appended later.
        """
        for plain, contents in self.contents.items():
            holders = {content: self.holders.pop(key) for content, key in contents.items()}
            placed = [
                (content, owners.of(mask), places.of(plain, content, owners.of(mask)))
                for content, mask in holders.items()
            ]
            placed.sort(key=lambda one: one[2].number)
            first_of: dict[int, Place] = {}
            for _, owner, place in placed:
                first_of.setdefault(owner, place)
            reference = min(first_of.values(), key=lambda place: place.uid)
            for content, owner, place in placed:
                key, first = plain, first_of[owner]
                if place is not reference:
                    key = variant_key(plain, content, is_second=place is not first)
                    other = reference if place is first else first
                    yield OtherContent(identity_of(plain), place, other)
                contents[content], self.holders[key] = key, holders[content]


def _content(first: int) -> int:
    return first & ((1 << _CONTENT_BITS) - 1)


class Place(NamedTuple):
    """Where a session first holds a record. ``number`` is its position in the session's records."""

    number: int
    uid: str
    source: SourceRow
    offset: int


class Places:
    """The first places of records whose id has several contents."""

    def __init__(self, same_ids: SameIds) -> None:
        self._ids = same_ids.contents
        self._places: dict[tuple[bytes, int, int], Place] = {}

    def add(self, index: int, row: CollectedSession, records: Iterable[PlacedRecord]) -> None:
        """Find the places in the session at position ``index`` of the cluster."""
        for number, (source, record) in enumerate(records):
            key = record_key(record.native_id) if record.native_id and record.events else b""
            if key in self._ids:
                place = Place(number, row.uid, source, record.offset)
                self._places.setdefault((key, content_of(record.events), index), place)

    def of(self, key: bytes, content: int, index: int) -> Place:
        return self._places[key, content, index]


class OtherContent(NamedTuple):
    """A record that has the native id of another record, but other content."""

    native_id: str
    place: Place
    other: Place

    @property
    def detail(self) -> str:
        """The problem in words. The uid comes first: `Problems.replace` finds it by that."""
        other = self.other
        where = f"{other.uid} (byte {other.offset:,} of {other.source.path})"
        detail = f"the record {self.native_id} has other content than in {where}"
        return one_line(f"{self.place.uid}: {detail}", _DETAIL)
