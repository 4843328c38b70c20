"""Find the traces of a session: samples of its texts, and dictionaries made from its logs.

The samples are taken before a session is forgotten and searched for afterwards. A dictionary that
may contain the start of a forgotten log must be replaced.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.ids import split_uid
from session_memory.derive.live_sources import LIVE
from session_memory.derive.raw_source import stored_records
from session_memory.retain.archive_edit import Tainted
from session_memory.retain.forget_plan import Selection, is_available
from session_memory.retain.proof import Samples
from session_memory.store.digests import Digests
from session_memory.store.raw import DICTIONARY_BYTES
from session_memory.store.retention_archive import Archive, unpacked
from session_memory.store.retention_forget import live_texts
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

# A dictionary is the start of a log. Two logs that are alike for so long are the same log, because
# a log begins with the id of its session. More is not compared: the end of a dictionary may be a
# torn line.
ALIKE_BYTES = 4096
MOST_RECORDS = 24
_TEXT_FIELDS = ("text", "sample", "title", "command")


def traces(store: Store, archive: Archive | None, selection: Selection) -> tuple[Samples, Tainted]:
    """Return samples to search for later, and a test for dictionaries that must be replaced."""
    samples, heads = Samples(), []
    samples.uids |= {*selection.sessions.values(), *(f"{LIVE}:{one}" for one in selection.live)}
    for session, uid in selection.sessions.items():
        row = store.sessions.row_by_id(session)
        samples.add_text(row.title)
        for event in store.events.each_of(session, uid):
            samples.add_text(event.summary)
        for text in _digest_texts(store, uid):
            samples.add_text(text)
    for native in selection.live:
        for text in live_texts(store.db, native):
            samples.add_text(text)
    for source in selection.whole:
        head = b""
        for piece in _raw_pieces(store, archive, source):
            head += piece[: ALIKE_BYTES - len(head)]
            samples.add_raw(piece)
        heads.append(head)
    natives = {split_uid(uid)[1] for uid in selection.sessions.values()}
    for source in selection.shared:
        heads.append(b"".join(store.raw.pieces(source.id, 0, ALIKE_BYTES)))
        for piece in _records(store, source, natives):
            samples.add_raw(piece)
    known = {head for head in heads if head}
    unknown = _unknown_dictionaries(store, archive, selection)

    def is_tainted(dictionary: bytes) -> bool:
        return dictionary in unknown or dictionary[:ALIKE_BYTES] in known

    return samples, is_tainted


def _records(store: Store, source: SourceRow, natives: set[str]) -> Iterator[bytes]:
    """Yield some records of these sessions, evenly spread, from a source shared with others."""
    places = [
        (record.offset, record.offset + record.length)
        for record in stored_records(store, source)
        if record.problem is None and record.session in natives
    ]
    for start, end in places[:: max(len(places) // MOST_RECORDS, 1)]:
        yield b"".join(store.raw.pieces(source.id, start, end))


def _unknown_dictionaries(
    store: Store, archive: Archive | None, selection: Selection
) -> set[bytes]:
    """Dictionaries that may come from a forgotten log whose bytes are not available.

    These are all dictionaries of the log's flavor that are not the start of a kept log.
    """
    lost = {row.flavor for row in selection.whole if _is_raw_lost(store, archive, row)}
    if not lost:
        return set()
    known = [(flavor, body) for _, flavor, body in store.retention.dictionaries()]
    if archive is not None:
        for file in archive.files():
            known += archive.dictionaries(file).values()
    unknown = {bytes(zstd.decompress(body)) for flavor, body in known if body and flavor in lost}
    for head in _starts_of_kept_logs(store, archive, lost, {row.uid for row in selection.whole}):
        unknown = {one for one in unknown if not head.startswith(one)}
        if not unknown:
            break
    return unknown


def _starts_of_kept_logs(
    store: Store, archive: Archive | None, flavors: set[str], gone: set[str]
) -> Iterator[bytes]:
    """The starts of all kept logs. Each archive file is read once."""
    for row in store.sources.every():
        if row.flavor in flavors and row.uid not in gone:
            yield b"".join(store.raw.pieces(row.id, 0, DICTIONARY_BYTES))
    if archive is None:
        return
    for file in archive.files():
        held = {one.source.uid: one.source.flavor for one in archive.manifest(file).sources}
        kept = {uid for uid, flavor in held.items() if flavor in flavors} - gone
        now, head = "", b""
        for uid, pack, dictionary in archive.read(file, kept) if kept else ():
            if uid != now:
                yield head
                now, head = uid, b""
            if pack.start < DICTIONARY_BYTES:
                head += unpacked(file, pack, dictionary)
        yield head


def _digest_texts(store: Store, uid: str) -> Iterator[str]:
    """Texts in the digest of a session. An evicted session has no other texts."""
    body = Digests(store.db).body(uid)
    queue: list[Any] = [] if body is None else [msgspec.json.decode(body)]
    while queue:
        value = queue.pop()
        if isinstance(value, dict):
            yield from (value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str))
        queue += value.values() if isinstance(value, dict) else value
        queue = [inner for inner in queue if isinstance(inner, dict | list)]


def _is_raw_lost(store: Store, archive: Archive | None, row: SourceRow) -> bool:
    """Whether the log of a source was evicted and its archive file is missing."""
    eviction = store.retention.evicted_source(row.id)
    if eviction is None:
        return False
    return not (eviction.file and is_available(archive, eviction.file))


def _raw_pieces(store: Store, archive: Archive | None, source: SourceRow) -> Iterator[bytes]:
    """Yield the available bytes of a source: from the archive, and collected after an eviction."""
    eviction = store.retention.evicted_source(source.id)
    if eviction is not None and archive is not None and not _is_raw_lost(store, archive, source):
        file = archive.path(eviction.file or "")
        for _, pack, dictionary in archive.read(file, {source.uid}):
            yield unpacked(file, pack, dictionary)
    yield from store.raw.pieces(source.id)
