"""Read log files in a worker process.

A worker has no store. A source that needs one goes back to the parent process.
"""

import os
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from session_memory.adapters.base import Cursor, Record
from session_memory.collect.batches import Chunk, ReadTask
from session_memory.collect.file_pieces import SEGMENT
from session_memory.collect.file_reading import FileReading
from session_memory.collect.native import Stat, grew_in_place, opened, unpacked
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.core.roles import LOG
from session_memory.derive.forgotten import Mask
from session_memory.derive.settled_ahead import SettledSource, settled_source
from session_memory.store.raw import Dictionary, Packed, Packer
from session_memory.store.sources import SourceRow
from session_memory.store.word_query import entries_of
from session_memory.workers.pool import NeedsParent

TARGET = f"{__name__}:worker"
# Up to this many records of a new log are held in memory until its end, to make events of them
# here. Longer logs are sent in pieces, and the parent makes the events.
MOST_SETTLED = 6000
# The id of a dictionary that the parent stores with the first pack that uses it.
_SENT = 0


class ReadSetting(msgspec.Struct):
    """What a worker must know about the sync.

    ``dictionaries``: flavor → id and bytes of its newest stored compression dictionary.
    """

    config: Config
    is_first_load: bool
    dictionaries: dict[str, tuple[int, bytes]]
    word_engine: str


class SentPack(msgspec.Struct, array_like=True):
    """A pack that is sent to the parent.

    ``dictionary`` is the id of a stored dictionary, or the hash of one that is sent, too.
    """

    start: int
    length: int
    hash: bytes
    dictionary: int | bytes | None
    body: bytes


class SentChunk(msgspec.Struct):
    """A chunk that is sent to the parent, without its task.

    ``dictionaries``: new compression dictionaries, by their hashes.

    ``left_out``: the configuration excludes the source, and there are no chunks.
    """

    stat: Stat
    redacted_from: int | None = None
    read: int = 0
    start: int = 0
    packs: list[SentPack] = []
    dictionaries: dict[bytes, bytes] = {}
    records: list[Record] = []
    cursor: Cursor = Cursor()
    kept: int = 0
    tail_hash: str = ""
    is_last: bool = True
    left_out: bool = False
    settled: SettledSource | None = None


class _Counting(ReadProgress):
    """Counts the bytes that were read since the last chunk."""

    def __init__(self) -> None:
        self.read = 0

    def advance(self, size: int) -> None:
        self.read += size

    def take(self) -> int:
        read, self.read = self.read, 0
        return read


class WorkerRules:
    """The `ReadingRules` in a worker, which gets no sources with forgotten or evicted parts."""

    def __init__(self, setting: ReadSetting) -> None:
        self.config = setting.config
        self.is_first_load = setting.is_first_load
        self.counting = _Counting()
        self.progress: ReadProgress = self.counting
        self._dictionaries = setting.dictionaries

    def packer(self, flavor: str) -> Packer:
        known = self._dictionaries.get(flavor)
        return Packer(None if known is None else Dictionary(known[1], known[0]))

    def forgotten_masks(self, flavor: str, records: list[Record]) -> list[Mask]:
        return []

    def evicted_up_to(self, row: SourceRow, kept: int) -> int:
        return 0


class ReadWorker(FileReading):
    """Reads the sources that its parent names."""

    def __init__(self, setting: ReadSetting) -> None:
        rules = WorkerRules(setting)
        super().__init__(rules)
        self._counting = rules.counting
        self._entries_of = entries_of(setting.word_engine)
        self._sent: dict[int, tuple[Dictionary, bytes]] = {}

    def __call__(self, task: ReadTask) -> Iterator[SentChunk]:
        place = task.ref.place
        with opened(place) as native, unpacked(native, place) as file:
            task.stat = Stat.of(os.fstat(native.fileno()))
            size = os.fstat(file.fileno()).st_size
            content = msgspec.structs.replace(task.stat, size=size)
            if not task.is_new and not grew_in_place(task.row, file, content):
                # Only the parent can compare the source with the store.
                raise NeedsParent
            if task.is_new and self.is_left_out(task, file):
                yield SentChunk(task.stat, left_out=True)
                return
            for chunk in self._settled_ahead(task, self.new_chunks(task, file, size)):
                yield self._sent_chunk(chunk)

    def _settled_ahead(self, task: ReadTask, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Join the chunks of a small new log to one, and settle its records (make events of them).

        Chunks of other sources stay as they are.
        """
        held: list[Chunk] = []
        if task.is_new and task.ref.role == LOG:
            records = 0
            for chunk in chunks:
                held.append(chunk)
                records += len(chunk.records)
                if records > MOST_SETTLED or chunk.kept > SEGMENT:
                    break
            else:
                whole = _joined(held)
                whole.settled = settled_source(task.row, whole.records, self._entries_of)
                if whole.settled is not None:
                    whole.records = []
                held = [whole]
        yield from held
        yield from chunks

    def _sent_chunk(self, chunk: Chunk) -> SentChunk:
        new: dict[bytes, bytes] = {}
        return SentChunk(
            stat=chunk.task.stat,
            redacted_from=chunk.task.row.redacted_from,
            read=self._counting.take(),
            start=chunk.start,
            packs=[self._sent_pack(one, new) for one in chunk.packs],
            dictionaries=new,
            records=chunk.records,
            cursor=chunk.cursor,
            kept=chunk.kept,
            tail_hash=chunk.tail_hash,
            is_last=chunk.is_last,
            settled=chunk.settled,
        )

    def _sent_pack(self, pack: Packed, new: dict[bytes, bytes]) -> SentPack:
        dictionary = pack.dictionary
        if dictionary is None:
            name: int | bytes | None = None
        elif dictionary.id:
            name = dictionary.id
        else:
            if dictionary.id is None:
                # Mark the dictionary as stored, as the parent will do. From now on, short packs use
                # it too.
                dictionary.id = _SENT
                digest = sha256(dictionary.body).digest()
                self._sent[id(dictionary)] = dictionary, digest
                new[digest] = dictionary.body
            name = self._sent[id(dictionary)][1]
        return SentPack(pack.start, pack.length, pack.hash, name, pack.body)


def _joined(chunks: list[Chunk]) -> Chunk:
    """Join all chunks of a source to one."""
    last = chunks[-1]
    return Chunk(
        last.task,
        chunks[0].start,
        [pack for chunk in chunks for pack in chunk.packs],
        [record for chunk in chunks for record in chunk.records],
        last.cursor,
        last.kept,
        last.tail_hash,
        last.is_last,
    )


def worker(setting: ReadSetting) -> ReadWorker:
    return ReadWorker(setting)


def continued(task: ReadTask, last: SentChunk) -> ReadTask | None:
    """Return the task that reads on after the last chunk that arrived; None if that chunk was the
    end."""
    if last.is_last:
        return None
    row = msgspec.structs.replace(
        task.row,
        read_to=last.cursor.offset,
        cursor_state=last.cursor.state,
        kept=last.kept,
        tail_hash=last.tail_hash,
        redacted_from=last.redacted_from,
        inode=last.stat.inode,
    )
    return msgspec.structs.replace(task, row=row, is_new=False)
