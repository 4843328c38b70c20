"""The stored logs: every byte of every source, in order, in compressed packs.

A pack holds whole records, unless a record is larger than a pack. Each pack can be unpacked alone.
It has a hash of its stored bytes, and its zstd frame has a checksum of the raw bytes. An incomplete
last line is a separate pack until the line is complete. Packs of similar logs are compressed with
a dictionary: the start of an earlier log of the same agent.
"""

import io
from collections.abc import Iterator
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

from session_memory.core.errors import StoreDamaged
from session_memory.store.database import Database
from session_memory.store.zstandard import decompressed, zstd

PACK_BYTES = 512 * 1024
LONGEST_PACK = 1024 * 1024
LEVEL = 3
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,
}
SMALL_PACK = 16 * 1024
SMALL_PACKS = 16
DICTIONARY_BYTES = 128 * 1024
# A dictionary costs time, so it must save at least this share. That is tested on the start of one
# log out of every TRIED_EVERY.
DICTIONARY_SAVES = 0.3
TRIED_EVERY = 64
DICTIONARY_EVERY = 64 * 1024 * 1024


class Pack(NamedTuple):
    """A stored pack: ``length`` bytes of a source from ``start`` on, compressed in ``body``."""

    start: int
    length: int
    hash: bytes
    dictionary_id: int | None
    body: bytes


class Packed(NamedTuple):
    """A compressed pack that is not stored yet. Its dictionary may have no id."""

    start: int
    length: int
    hash: bytes
    dictionary: "Dictionary | None"
    body: bytes


_COLUMNS = ("source_id", "start", "length", "hash", "dictionary_id", "body")
_DROP_FROM = "delete from packs where source_id = :source and start >= :start"
_ALL = """
    select start, length, hash, dictionary_id, body from packs
    where source_id = :source and start + length > :first and start < :end order by start
"""
_CONTAINING = """
    select start, length, hash, dictionary_id, body from packs
    where source_id = :source and start <= :place and start + length > :place
    order by start desc limit 1
"""
_LAST_SIZES = """
    select start, length from packs where source_id = :source order by start desc limit :count
"""
_DICTIONARY = "select body from dictionaries where id = :id"
_NEWEST_DICTIONARY = """
    select id, body from dictionaries where flavor = :flavor order by id desc limit 1
"""
_FLAVOR = "select flavor from sources where id = :source"
_LENGTH = "select coalesce(sum(length), 0) from packs where source_id = :source"
_STORED = "select coalesce(sum(length), 0), coalesce(sum(length(body)), 0) from packs"

WHOLE_SOURCE = 1 << 62


class Raw:
    """The packs of one store."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.dictionary = lru_cache(maxsize=16)(self._load_dictionary)

    def packer(self, flavor: str) -> "Packer":
        return Packer(self.newest_dictionary(flavor))

    def newest_dictionary(self, flavor: str) -> "Dictionary | None":
        row = self._db.one(_NEWEST_DICTIONARY, {"flavor": flavor})
        return None if row is None else Dictionary(zstd.decompress(row[1]), row[0])

    def replace_from(
        self, source_id: int, start: int, packs: list[Packed], is_known: bool = True
    ) -> None:
        """Replace the source's bytes from ``start`` on by ``packs``, then merge small packs.

        With ``is_known=False`` the source has no bytes there yet, so nothing is removed.
        """
        if is_known:
            packs = [*self._kept_part(source_id, start), *packs]
            first = packs[0].start if packs else start
            self._db.execute(_DROP_FROM, {"source": source_id, "start": first})
        self._insert(source_id, packs)
        if start and packs:
            self._merge_small(source_id)

    def _insert(self, source_id: int, packs: list[Packed]) -> None:
        rows = []
        for start, length, digest, dictionary, body in packs:
            dictionary_id = None
            if dictionary is not None:
                if dictionary.id is None:
                    dictionary.id = self._add_dictionary(source_id, dictionary.body)
                dictionary_id = dictionary.id
            rows.append((source_id, start, length, digest, dictionary_id, body))
        self._db.insert("packs", _COLUMNS, rows)

    def _add_dictionary(self, source_id: int, head: bytes) -> int:
        flavor = self._db.value(_FLAVOR, {"source": source_id})
        values = (flavor, zstd.compress(head, 9))
        return self._db.insert_one("dictionaries", ("flavor", "body"), values)

    def _kept_part(self, source_id: int, place: int) -> list[Packed]:
        """If a merged pack begins before ``place`` and goes on after it: its part before ``place``,
        packed again."""
        row = self._db.one(_CONTAINING, {"source": source_id, "place": place})
        if row is None or row[0] == place:
            return []
        pack = Pack(*row)
        head = self.unpacked(source_id, pack)[: place - pack.start]
        return [packed(head, pack.start, compressor())]

    def _merge_small(self, source_id: int) -> None:
        last = self._db.all(_LAST_SIZES, {"source": source_id, "count": SMALL_PACKS})
        if len(last) < SMALL_PACKS or any(length > SMALL_PACK for _, length in last):
            return
        start = last[-1][0]
        merged = b"".join(self.pieces(source_id, start))
        # An incomplete last line stays a separate pack, because it will be replaced.
        whole = merged.rfind(b"\n") + 1
        parts = [part for part in (merged[:whole], merged[whole:]) if part]
        self._db.execute(_DROP_FROM, {"source": source_id, "start": start})
        for part in parts:
            self._insert(source_id, [packed(part, start, compressor())])
            start += len(part)

    def pieces(self, source_id: int, first: int = 0, end: int = WHOLE_SOURCE) -> Iterator[bytes]:
        """The bytes from ``first`` to ``end``, pack by pack. Each pack is checked by its hash."""
        window = {"source": source_id, "first": first, "end": end}
        for start, length, digest, dictionary, body in self._db.each(_ALL, window):
            data = self.unpacked(source_id, Pack(start, length, digest, dictionary, body))
            yield data[max(first - start, 0) : end - start]

    def packs(self, source_id: int) -> Iterator[Pack]:
        """Every pack of a source, in order, as stored."""
        window = {"source": source_id, "first": 0, "end": WHOLE_SOURCE}
        for row in self._db.each(_ALL, window):
            yield Pack(*row)

    def pack_at(self, source_id: int, start: int) -> Pack:
        """The pack that begins at ``start``, as stored."""
        window = {"source": source_id, "first": start, "end": start + 1}
        (row,) = (row for row in self._db.each(_ALL, window) if row[0] == start)
        return Pack(*row)

    def is_incomplete(self, source_id: int, kept: int) -> bool:
        """Whether the packs of a source do not add up to the bytes that were kept of it."""
        return int(self._db.value(_LENGTH, {"source": source_id})) != kept

    def unpacked(self, source_id: int, pack: Pack) -> bytes:
        if sha256(pack.body).digest() != pack.hash:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", "its hash does not match")
        dictionary = None
        try:
            if pack.dictionary_id is not None:
                dictionary = self.dictionary(pack.dictionary_id)
            data = decompressed(pack.body, pack.length, dictionary)
        except (zstd.ZstdError, TypeError) as error:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", str(error)) from error
        if len(data) != pack.length:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", "its length does not match")
        return data

    def from_place(self, source_id: int, place: int) -> bytes:
        """The pack that contains ``place``, from ``place`` on. Empty past the end."""
        start, data = self.around(source_id, place)
        return data[place - start :]

    def around(self, source_id: int, place: int) -> tuple[int, bytes]:
        """Where the pack that contains ``place`` starts, and its bytes. Empty past the end."""
        row = self._db.one(_CONTAINING, {"source": source_id, "place": place})
        if row is None:
            return place, b""
        pack = Pack(*row)
        return pack.start, self.unpacked(source_id, pack)

    def record(self, source_id: int, place: int, length: int) -> bytes:
        return b"".join(self.pieces(source_id, place, place + length))

    def open(self, source_id: int, offset: int = 0) -> BinaryIO:
        """A binary stream of the source from ``offset`` on. It holds one pack in memory."""
        return stream_of(_each_pack(self, source_id, offset))

    def stored_bytes(self) -> tuple[int, int]:
        """``(raw, compressed)`` bytes of all packs."""
        row = self._db.one(_STORED)
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def _load_dictionary(self, dictionary_id: int) -> Any:
        body = self._db.value(_DICTIONARY, {"id": dictionary_id})
        return zstd.ZstdDict(zstd.decompress(body), is_raw=True)


class Dictionary:
    """The start of a log, used to compress similar logs. Stored with the first pack using it."""

    def __init__(self, body: bytes, stored_id: int | None = None) -> None:
        self.body = body
        self.id = stored_id

    @cached_property
    def compressor(self) -> zstd.ZstdCompressor:
        return compressor(zstd.ZstdDict(self.body, is_raw=True))


class Packer:
    """Compresses the sources of one flavor.

    The start of a log becomes the dictionary for later logs if that saves enough: an agent writes
    the same long text at the start of every log, until its next release changes it.
    """

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        self._dictionary = dictionary
        self._plain = compressor()
        self._saves_enough = False
        self._heads = 0
        self._since_renewed = 0

    def packs(self, data: bytes, start: int, cut_at: int | None = None) -> list[Packed]:
        """Compress ``data`` into packs, which end at the ends of records.

        ``start`` is the place of ``data`` in its source. ``cut_at`` is the length of ``data``
        without a torn last line. That line becomes a pack of its own.
        """
        if start == 0 and len(data) >= SMALL_PACK:
            self._test_dictionary(data[:DICTIONARY_BYTES])
        self._since_renewed += len(data)
        whole = len(data) if cut_at is None else cut_at
        packs = []
        for piece in (*cut(data[:whole]), *cut(data[whole:])):
            packs.append(self._pack(piece, start))
            start += len(piece)
        return packs

    def _pack(self, piece: bytes, start: int) -> Packed:
        dictionary = self._dictionary
        if dictionary is None or not (self._saves_enough or self._is_short(piece)):
            return packed(piece, start, self._plain)
        return packed(piece, start, dictionary.compressor, dictionary)

    def _is_short(self, piece: bytes) -> bool:
        """Whether the piece is so short that a dictionary from the store is used in any case."""
        known = self._dictionary is not None and self._dictionary.id is not None
        return known and len(piece) <= SMALL_PACK

    def _test_dictionary(self, head: bytes) -> None:
        """Test from time to time whether the dictionary saves enough; if not, replace it."""
        if self._dictionary is not None and self._heads % TRIED_EVERY == 0:
            without = len(_frame(self._plain, head))
            with_it = len(_frame(self._dictionary.compressor, head))
            self._saves_enough = with_it < without * (1 - DICTIONARY_SAVES)
        self._heads += 1
        stale = self._dictionary is None or self._since_renewed >= DICTIONARY_EVERY
        if stale and not self._saves_enough and len(head) >= DICTIONARY_BYTES // 2:
            self._dictionary = Dictionary(head)
            self._heads = self._since_renewed = 0


def compressor(dictionary: zstd.ZstdDict | None = None) -> zstd.ZstdCompressor:
    """A reusable compressor. Creating one for each pack would take a fifth more time."""
    digested = None if dictionary is None else dictionary.as_digested_dict
    return zstd.ZstdCompressor(options=_OPTIONS, zstd_dict=digested)


def packed(
    data: bytes, start: int, using: zstd.ZstdCompressor, dictionary: Dictionary | None = None
) -> Packed:
    body = _frame(using, data)
    return Packed(start, len(data), sha256(body).digest(), dictionary, body)


def _frame(using: zstd.ZstdCompressor, data: bytes) -> bytes:
    # With the size known in advance, zstd picks a smaller window, and the frame contains the size.
    # A reader can then reject a frame that is larger than it should be.
    using.set_pledged_input_size(len(data))
    return using.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def cut(data: bytes) -> Iterator[bytes]:
    """``data`` in pieces of about ``PACK_BYTES``, cut after a newline if there is one nearby."""
    start, size = 0, len(data)
    while start < size:
        end = start + PACK_BYTES
        if end < size:
            newline = data.find(b"\n", end, start + LONGEST_PACK)
            end = newline + 1 if newline >= 0 else start + LONGEST_PACK
        yield data[start:end]
        start = end


def stream_of(pieces: Iterator[bytes]) -> BinaryIO:
    """The pieces as a binary stream. It holds one of them in memory."""
    return io.BufferedReader(_PieceStream(pieces), PACK_BYTES)


class _PieceStream(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _each_pack(raw: Raw, source_id: int, offset: int) -> Iterator[bytes]:
    """The source pack by pack, so that a large one is never in memory as a whole."""
    while piece := raw.from_place(source_id, offset):
        yield piece
        offset += len(piece)
