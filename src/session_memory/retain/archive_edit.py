"""Delete sources from the archive: write a new file without them, then delete the old file.

The new file is complete and known to the store before the old one is deleted. Dictionaries made
from forgotten logs are deleted too, and the packs that used them are compressed without one.
"""

from collections.abc import Callable, Collection, Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from session_memory.store.raw import Pack, compressor, packed
from session_memory.store.retention_archive import (
    Archive,
    ArchiveContents,
    ArchivedPack,
    ArchivedSource,
    unpacked,
)
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

Tainted = Callable[[bytes], bool]
"""A function that says whether a dictionary was, or may be, made from a forgotten log."""

_MOVE = "update evicted_sources set file = :new where file = :old and source_id = :source"


def files_to_change(
    archive: Archive, uids: Collection[str], sessions: Collection[str], is_tainted: Tainted
) -> list[Path]:
    """Return the archive files that have to change.

    Such a file has a source to delete (see `is_gone`), or a compression dictionary that was, or may
    be, made from a forgotten log.
    """
    return [
        file
        for file in archive.files()
        if any(is_gone(held, uids, sessions) for held in archive.manifest(file).sources)
        or tainted_in(archive, file, is_tainted)
    ]


def is_gone(held: ArchivedSource, uids: Collection[str], sessions: Collection[str]) -> bool:
    """Whether an archived source is to be deleted: it is in ``uids``, or all its sessions are
    gone."""
    return held.source.uid in uids or (
        bool(held.sessions) and all(session in sessions for session in held.sessions)
    )


def tainted_in(archive: Archive, file: Path, is_tainted: Tainted) -> set[str]:
    """The hashes of the file's dictionaries that were, or may be, made from a forgotten log."""
    return {
        digest
        for digest, (_, body) in archive.dictionaries(file).items()
        if is_tainted(zstd.decompress(body))
    }


def rewrite(
    store: Store,
    archive: Archive,
    file: Path,
    uids: Collection[str],
    sessions: Collection[str],
    is_tainted: Tainted,
    now: int,
) -> Path | None:
    """Replace an archive file by a new one without the forgotten sources, and return its path.

    If no source is left, the file is only deleted, and the result is None.
    """
    tainted = tainted_in(archive, file, is_tainted)
    rest = [held for held in archive.manifest(file).sources if not is_gone(held, uids, sessions)]
    new = archive.write(_contents(archive, file, rest, tainted), now) if rest else None
    if new is not None:
        with store.transaction():
            for held in rest:
                row = store.sources.by_uid(held.source.uid)
                if row is not None:
                    params = {"new": new.name, "old": file.name, "source": row.id}
                    store.db.execute(_MOVE, params)
    file.unlink()
    return new


def _contents(
    archive: Archive, file: Path, rest: list[ArchivedSource], tainted: set[str]
) -> ArchiveContents:
    uids = {held.source.uid for held in rest}
    named = {(held.source.uid, pack.start): pack.dictionary for held in rest for pack in held.packs}

    def packs() -> Iterator[tuple[str, Pack, bytes]]:
        for uid, pack, dictionary in archive.read(file, uids):
            yield (
                uid,
                pack,
                _clean_body(file, pack, dictionary, named[uid, pack.start], tainted),
            )

    anew: dict[str, list[ArchivedPack]] = {held.source.uid: [] for held in rest}
    for uid, pack, body in packs():
        name = named[uid, pack.start]
        kept = None if name in tainted else name
        digest = sha256(body).hexdigest()
        anew[uid].append(ArchivedPack(pack.start, pack.length, digest, len(body), kept))
    sources = [msgspec.structs.replace(held, packs=anew[held.source.uid]) for held in rest]
    used = {pack.dictionary for held in sources for pack in held.packs}
    dictionaries = {
        name: entry for name, entry in archive.dictionaries(file).items() if name in used
    }
    return ArchiveContents(sources, dictionaries, lambda: (body for _, _, body in packs()))


def _clean_body(
    file: Path, pack: Pack, dictionary: bytes, name: str | None, tainted: set[str]
) -> bytes:
    if name not in tainted:
        return pack.body
    return packed(unpacked(file, pack, dictionary), pack.start, compressor()).body
