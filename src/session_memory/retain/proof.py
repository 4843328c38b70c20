"""Prove that forgotten texts are gone: search all our files for samples, packed data included.

A sample that is also in the logs of a kept session (a fork's copy, or a common phrase) is not a
trace of the forgotten session, so it is not searched for.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from session_memory.core.index_words import vocabulary
from session_memory.retain import proof_files
from session_memory.store.retention_archive import Archive, unpacked
from session_memory.store.retention_forget import blobs, has_owner, has_stray_docs, rows_with
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

SHORTEST, LENGTH = 12, 48
MOST_TEXTS = MOST_RAW = 12
PACKED = b"\x28\xb5\x2f\xfd"


class Proof(msgspec.Struct, kw_only=True):
    """The result of searching for forgotten texts. ``found`` lists the files and tables that still
    contain a sample; it should be empty.

    ``held_by_others`` counts samples that kept sessions also contain. ``unswept`` says which files
    and tables may still hold deleted data that a search cannot see, and what to do about it.
    """

    samples: int = 0
    held_by_others: int = 0
    files: int = 0
    packs: int = 0
    found: list[str] = []
    unswept: list[str] = []


class Samples:
    """Short samples of a session's texts and raw bytes, spread over the whole session."""

    def __init__(self) -> None:
        self._texts = _Spread(MOST_TEXTS)
        self._raw = _Spread(MOST_RAW)
        self._words = _Spread(MOST_TEXTS)
        self.uids: set[str] = set()
        """The uids of the forgotten sessions. No file of the lake may have a row of them."""

    def add_text(self, text: str | None) -> None:
        sample = (text or "").encode("utf-8", "replace")[:LENGTH]
        if len(sample) >= SHORTEST:
            self._texts.add(sample.decode("utf-8", "ignore").encode())
            # The last word may be cut.
            words = list(vocabulary((text or "")[:LENGTH]))[:-1]
            self._words.add(max(words, key=len, default="").encode())

    @property
    def words(self) -> list[str]:
        """The longest word of each text sample, to be looked up in the word index."""
        return sorted({word.decode() for word in self._words.kept if word})

    def add_raw(self, piece: bytes) -> None:
        """Add samples from the middle of each line. The ends of lines are alike in all logs."""
        for line in piece.split(b"\n"):
            middle = len(line) // 2
            sample = line[middle : middle + LENGTH]
            if len(sample) >= SHORTEST and not sample.isspace():
                self._raw.add(sample)

    def all(self) -> list[bytes]:
        return list(dict.fromkeys([*self._texts.kept, *self._raw.kept]))


class _Spread:
    """Keeps at most ``most`` evenly spread samples: if there are more, every second is dropped."""

    def __init__(self, most: int) -> None:
        self._most, self._every, self._seen = most, 1, 0
        self.kept: list[bytes] = []

    def add(self, sample: bytes) -> None:
        if self._seen % self._every == 0:
            self.kept.append(sample)
            if len(self.kept) > self._most:
                self.kept, self._every = self.kept[::2], self._every * 2
        self._seen += 1


def prove(
    store: Store,
    archive: Archive | None,
    lake: Path | None,
    samples: Samples,
    lessons: Path | None = None,
) -> Proof:
    """Search all files and tables for the samples, except those that kept sessions contain."""
    proof = Proof()
    texts = samples.all()
    proof.samples = len(texts)
    rest = _not_in_kept_raw(store, archive, texts, proof)
    tables = _tables_with(store, rest)
    # A text may be escaped in the logs of kept sessions, so it was not found there. But if a row
    # of a kept session has it, it belongs to that session.
    rest = [one for one in rest if not any(has_owner(store.db, t) for t in tables[one])]
    proof.held_by_others = len(texts) - len(rest)
    found = {f"table {table}" for one in rest for table in tables[one]}
    for name, values in store.db.statistics() if rest else ():
        found |= {name} if _is_in(iter((values.encode(),)), rest) else set()
    found |= {"the word index"} if has_stray_docs(store, samples.words) else set()
    for file, windows in proof_files.files(store, archive, lake, lessons) if rest else ():
        proof.files += 1
        found |= {str(file)} if _is_in(windows, rest) else set()
    found |= {str(file) for file in proof_files.files_of(lake, samples.uids)}
    for file, data in _archived(store, archive, of_kept=False) if rest else ():
        proof.packs += 1
        found |= {str(file)} if _is_in(iter((data,)), rest) else set()
    proof.found = sorted(found)
    return proof


def _tables_with(store: Store, samples: list[bytes]) -> dict[bytes, set[str]]:
    """Sample → tables that contain it, as text or compressed."""
    found = {one: set(tables) for one, tables in rows_with(store.db, samples).items()}
    for one in samples:
        found.setdefault(one, set())
    for table, body in blobs(store.db):
        data = _unpacked(body)
        for one in samples:
            if one in data:
                found[one].add(table)
    return found


def _not_in_kept_raw(
    store: Store, archive: Archive | None, samples: list[bytes], proof: Proof
) -> list[bytes]:
    rest = list(samples)
    for data in _kept_raw(store, archive):
        proof.packs += 1
        rest = [sample for sample in rest if sample not in data]
    return rest


def _kept_raw(store: Store, archive: Archive | None) -> Iterator[bytes]:
    for row in store.sources.every():
        for pack in store.raw.packs(row.id):
            yield store.raw.unpacked(row.id, pack)
    for _, data in _archived(store, archive, of_kept=True):
        yield data


def _archived(
    store: Store, archive: Archive | None, *, of_kept: bool
) -> Iterator[tuple[Path, bytes]]:
    """Yield unpacked logs from the archive, each with its file.

    With ``of_kept`` these are the logs of sources that the store has. Without it, they are all
    other logs, and the dictionaries.
    """
    if archive is None:
        return
    for file in archive.files():
        uids = {held.source.uid for held in archive.manifest(file).sources}
        selected = {uid for uid in uids if (store.sources.by_uid(uid) is not None) == of_kept}
        if selected:
            for _, pack, dictionary in archive.read(file, selected):
                yield file, unpacked(file, pack, dictionary)
        for _, body in () if of_kept else archive.dictionaries(file).values():
            yield file, _unpacked(body)


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(PACKED):
        return body
    try:
        return bytes(zstd.decompress(body))
    except zstd.ZstdError:
        return body


def _is_in(windows: Iterator[bytes], samples: list[bytes]) -> bool:
    return any(sample in window for window in windows for sample in samples)
