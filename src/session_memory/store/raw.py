"""The raw: every byte of every source, in order, in compressed packs.

A pack holds whole records where it can (one larger than a pack spans several) and is unpacked
alone. Its stored bytes are hashed, and the frame inside carries a checksum of the raw ones. What
follows the last whole record, a torn tail, is a pack of its own until its line is complete. Small
packs share their vocabulary through a dictionary: the head of an earlier log, which new logs of
the same agent resemble closely.
"""

import io
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

from session_memory.core.errors import StoreDamaged
from session_memory.store.database import Sqlite
from session_memory.store.zstandard import zstd

PACK_BYTES = 384 * 1024
LONGEST_PACK = 1024 * 1024
LEVEL = 3
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    # Tables that fit the first cache: a tenth less time for half a per cent more bytes.
    zstd.CompressionParameter.hash_log: 15,
    zstd.CompressionParameter.chain_log: 15,
    zstd.CompressionParameter.checksum_flag: 1,
}
DICTIONARY_BYTES = 128 * 1024
# A newer release of an agent writes other boilerplate: every so often a newer log lends its head.
DICTIONARY_EVERY = 64 * 1024 * 1024
# It costs time to use. Small packs always gain from it, larger ones only where logs resemble each
# other closely: tried on every so many heads, it must save at least this share.
DICTIONARY_SERVES = 64 * 1024
DICTIONARY_SAVES = 0.3
DICTIONARY_TRIED_EVERY = 32
SMALL_PACK = 16 * 1024
SMALL_PACKS = 16


class Pack(NamedTuple):
    start: int
    length: int
    hash: bytes
    dictionary_id: int | None
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
    select id, raw_before from dictionaries where flavor = :flavor order by id desc limit 1
"""
_ADD_DICTIONARY = """
    insert into dictionaries (flavor, raw_before, body)
    values (:flavor, :raw_before, :body) returning id
"""
_RAW_BYTES = "select coalesce(sum(kept), 0) from sources where flavor = :flavor"
_STORED = "select coalesce(sum(length), 0), coalesce(sum(length(body)), 0) from packs"

END_OF_TIME = 1 << 62


class Raw:
    """Packs of one store."""

    def __init__(self, db: Sqlite) -> None:
        self._db = db
        self.dictionary = lru_cache(maxsize=16)(self._load_dictionary)

    def packer(self, flavor: str) -> "Packer":
        return Packer(self, flavor)

    def replace_from(
        self, source_id: int, start: int, packs: list[Pack], is_known: bool = True
    ) -> None:
        """Put ``packs`` where the source's bytes from ``start`` on were; merge small ones."""
        if is_known:
            packs = [*self._cut_short(source_id, start), *packs]
            first = packs[0].start if packs else start
            self._db.execute(_DROP_FROM, {"source": source_id, "start": first})
        self._db.insert("packs", _COLUMNS, [(source_id, *pack) for pack in packs])
        if start and packs:
            self._merge_small(source_id)

    def _cut_short(self, source_id: int, place: int) -> list[Pack]:
        """The part before ``place`` of a pack that was merged across it, over a blank line say."""
        row = self._db.one(_CONTAINING, {"source": source_id, "place": place})
        if row is None or row[0] == place:
            return []
        pack = Pack(*row)
        head = self.unpacked(source_id, pack)[: place - pack.start]
        return [pack_of(head, pack.start, compressor())]

    def _merge_small(self, source_id: int) -> None:
        last = self._db.all(_LAST_SIZES, {"source": source_id, "count": SMALL_PACKS})
        if len(last) < SMALL_PACKS or any(length > SMALL_PACK for _, length in last):
            return
        start = last[-1][0]
        merged = b"".join(self.pieces(source_id, start))
        # The torn tail, if there is one, must stay apart: it will be replaced.
        whole = merged.rfind(b"\n") + 1
        parts = [part for part in (merged[:whole], merged[whole:]) if part]
        self._db.execute(_DROP_FROM, {"source": source_id, "start": start})
        rows = []
        for part in parts:
            rows.append((source_id, *pack_of(part, start, compressor())))
            start += len(part)
        self._db.insert("packs", _COLUMNS, rows)

    def pieces(self, source_id: int, first: int = 0, end: int = END_OF_TIME) -> Iterator[bytes]:
        """The bytes of ``first`` to ``end``, pack by pack, each checked against its hash."""
        window = {"source": source_id, "first": first, "end": end}
        for start, length, digest, dictionary, body in self._db.execute(_ALL, window):
            data = self.unpacked(source_id, Pack(start, length, digest, dictionary, body))
            yield data[max(first - start, 0) : end - start]

    def packs(self, source_id: int) -> Iterator[Pack]:
        """Every pack of a source, in order, as stored."""
        window = {"source": source_id, "first": 0, "end": END_OF_TIME}
        for row in self._db.execute(_ALL, window):
            yield Pack(*row)

    def unpacked(self, source_id: int, pack: Pack) -> bytes:
        dictionary = None if pack.dictionary_id is None else self.dictionary(pack.dictionary_id)
        if sha256(pack.body).digest() != pack.hash:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", "its hash does not match")
        try:
            data = bytes(zstd.decompress(pack.body, zstd_dict=dictionary))
        except zstd.ZstdError as error:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", str(error)) from error
        if len(data) != pack.length:
            raise StoreDamaged(f"pack {source_id}@{pack.start}", "its length does not match")
        return data

    def from_place(self, source_id: int, place: int) -> bytes:
        """The rest of the pack that holds ``place``; nothing past the end."""
        row = self._db.one(_CONTAINING, {"source": source_id, "place": place})
        if row is None:
            return b""
        pack = Pack(*row)
        return self.unpacked(source_id, pack)[place - pack.start :]

    def record(self, source_id: int, place: int, length: int) -> bytes:
        return b"".join(self.pieces(source_id, place, place + length))

    def open(self, source_id: int, offset: int = 0) -> BinaryIO:
        """The source as a binary stream from ``offset`` on, without holding it in memory."""
        return io.BufferedReader(_PackStream(self, source_id, offset), PACK_BYTES)

    def stored_bytes(self) -> tuple[int, int]:
        """``(raw, compressed)`` bytes of all packs."""
        row = self._db.one(_STORED)
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def _load_dictionary(self, dictionary_id: int) -> Any:
        body = self._db.value(_DICTIONARY, {"id": dictionary_id})
        return zstd.ZstdDict(zstd.decompress(body), is_raw=True)

    def newest_dictionary(self, flavor: str) -> tuple[int, int] | None:
        row = self._db.one(_NEWEST_DICTIONARY, {"flavor": flavor})
        return (int(row[0]), int(row[1])) if row else None

    def add_dictionary(self, flavor: str, head: bytes, raw_before: int) -> int:
        values = {"flavor": flavor, "raw_before": raw_before, "body": zstd.compress(head, 9)}
        with self._db.transaction():
            return int(self._db.value(_ADD_DICTIONARY, values))

    def bytes_of(self, flavor: str) -> int:
        return int(self._db.value(_RAW_BYTES, {"flavor": flavor}))


class Packer:
    """Compresses segments of the sources of one flavor; keeps the dictionary fresh."""

    def __init__(self, raw: Raw, flavor: str) -> None:
        self._raw = raw
        self._flavor = flavor
        self._total = raw.bytes_of(flavor)
        newest = raw.newest_dictionary(flavor)
        self._id: int | None = newest[0] if newest else None
        self._since = newest[1] if newest else -DICTIONARY_EVERY
        self._plain = compressor()
        self._sharing = self._with_dictionary()
        self._pays = False
        self._heads = 0

    def _with_dictionary(self) -> zstd.ZstdCompressor:
        return compressor(None if self._id is None else self._raw.dictionary(self._id))

    def packs(self, data: bytes, start: int) -> list[Pack]:
        """``data`` in packs cut at record ends; the head of a log may become the dictionary."""
        if start == 0 and data:
            self._try_out(data)
        self._total += len(data)
        packs = []
        for piece in cut(data):
            shared = self._id is not None and (self._pays or len(piece) <= DICTIONARY_SERVES)
            compressor = self._sharing if shared else self._plain
            packs.append(pack_of(piece, start, compressor, self._id if shared else None))
            start += len(piece)
        return packs

    def _try_out(self, data: bytes) -> None:
        """Now and then see, on the head of a log, whether the dictionary is worth its time."""
        if self._id is not None and self._heads % DICTIONARY_TRIED_EVERY == 0:
            head = data[:DICTIONARY_BYTES]
            with_it, without = (len(_frame(each, head)) for each in (self._sharing, self._plain))
            self._pays = with_it < without * (1 - DICTIONARY_SAVES)
        self._heads += 1
        if len(data) >= DICTIONARY_BYTES // 2 and self._total - self._since >= DICTIONARY_EVERY:
            self._renew(data)

    def _renew(self, data: bytes) -> None:
        self._id = self._raw.add_dictionary(self._flavor, data[:DICTIONARY_BYTES], self._total)
        self._since = self._total
        self._sharing = self._with_dictionary()
        self._heads = 0


def compressor(dictionary: zstd.ZstdDict | None = None) -> zstd.ZstdCompressor:
    """One that is used again and again: making its tables anew for each pack costs a fifth."""
    digested = None if dictionary is None else dictionary.as_digested_dict
    return zstd.ZstdCompressor(options=_OPTIONS, zstd_dict=digested)


def pack_of(
    data: bytes, start: int, using: zstd.ZstdCompressor, dictionary_id: int | None = None
) -> Pack:
    body = _frame(using, data)
    return Pack(start, len(data), sha256(body).digest(), dictionary_id, body)


def _frame(using: zstd.ZstdCompressor, data: bytes) -> bytes:
    # Knowing the size in advance, zstd picks a smaller window and the frame says how much to
    # unpack; a reader can then refuse what is larger than it should be.
    using.set_pledged_input_size(len(data))
    return using.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)


def cut(data: bytes) -> Iterator[bytes]:
    """``data`` in pieces of about ``PACK_BYTES``, cut after a newline unless none is near."""
    start, size = 0, len(data)
    while start < size:
        end = start + PACK_BYTES
        if end < size:
            newline = data.find(b"\n", end, start + LONGEST_PACK)
            end = newline + 1 if newline >= 0 else start + LONGEST_PACK
        yield data[start:end]
        start = end


class _PackStream(io.RawIOBase):
    def __init__(self, raw: Raw, source_id: int, offset: int) -> None:
        self._pieces = _lazily(raw, source_id, offset)
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


def _lazily(raw: Raw, source_id: int, offset: int) -> Iterator[bytes]:
    """Pack by pack, so that a large source is never held whole."""
    while piece := raw.from_place(source_id, offset):
        yield piece
        offset += len(piece)
