"""Export a store, or some of its sessions, to one portable file.

The file is a zstd-compressed tar archive: ``manifest.json`` first (format, version, counts, the
names that people gave to sessions), then ``sources/<uid>.json`` and ``raw/<uid>`` for each source.
It holds only what cannot be derived. An import derives events, usage and the rest again
(`session_memory.retain.portable_import`).
"""

import tarfile
from contextlib import nullcontext
from pathlib import Path

import msgspec

from session_memory.collect.masking import masked_copy, masked_row
from session_memory.core.errors import SessionEvicted, StoreDamaged
from session_memory.core.time import now_ms
from session_memory.derive.live_sources import is_table
from session_memory.retain.live_files import live_rows
from session_memory.retain.native_files import (
    DamagedLog,
    damaged_log,
    sources_of,
    whole_log,
)
from session_memory.retain.portable_names import exported_names
from session_memory.store.private_files import refuse_existing, sweep_unfinished, whole_file
from session_memory.store.raw import stream_of
from session_memory.store.retention_archive import add_member
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

FORMAT = "session-memory-export"
FORMAT_VERSION = 1
LEVEL = 9


class StoreExport(msgspec.Struct, frozen=True):
    sources: int
    bytes: int


class ExportManifest(msgspec.Struct):
    format: str
    version: int
    sources: int
    bytes: int
    exported_at: int
    names: dict[str, str] = {}


def export_store(
    store: Store,
    target: Path,
    uids: list[str] | None = None,
    *,
    redacted: bool = False,
    damaged: list[DamagedLog] | None = None,
) -> StoreExport:
    """Write a portable file that must not exist yet. It appears complete or not at all.

    With ``redacted`` the stored logs have their secrets masked, and their sources say so. With a
    list ``damaged``, damaged logs are left out and added to the list. Without it, `StoreDamaged`
    is raised.
    """
    refuse_existing(target)
    sweep_unfinished(target.parent)
    with store.db.snapshot():
        rows = _rows(store, uids)
        names = exported_names(store, uids, redacted=redacted)
        try:
            return _write(store, target, rows, names, redacted)
        except StoreDamaged as error:
            if damaged is None or error.in_database:
                raise
        # The number of logs is at the start of the file. So the damaged ones are found first.
        whole = [row for row in rows if _is_whole(store, row, damaged)]
        return _write(store, target, whole, names, redacted)


def _is_whole(store: Store, row: SourceRow, damaged: list[DamagedLog]) -> bool:
    try:
        for _ in whole_log(store, row):
            pass
    except StoreDamaged as error:
        damaged.append(damaged_log(store, row, error))
        return False
    return True


def _write(
    store: Store, target: Path, rows: list[SourceRow], names: dict[str, str], redacted: bool
) -> StoreExport:
    total = sum(row.kept for row in rows)
    with (
        whole_file(target) as file,
        zstd.open(file, "wb", level=LEVEL) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
    ):
        manifest = ExportManifest(FORMAT, FORMAT_VERSION, len(rows), total, now_ms(), names)
        add_member(archive, "manifest.json", msgspec.json.encode(manifest))
        for row in map(masked_row, rows) if redacted else rows:
            add_member(archive, f"sources/{row.uid}.json", msgspec.json.encode(row))
            _add_raw(archive, store, row, redacted)
    return StoreExport(len(rows), total)


def _rows(store: Store, uids: list[str] | None) -> list[SourceRow]:
    if uids is None:
        rows = store.sources.every()
    else:
        rows = list({row.uid: row for uid in uids for row in sources_of(store, uid)}.values())
    evicted = store.retention.evicted()
    evictions = [evicted[row.id] for row in rows if row.id in evicted]
    if evictions and uids is not None:
        raise SessionEvicted(uids[0], evictions[0].file)
    here = [row for row in rows if row.id not in evicted]
    live = None if uids is None else sorted({row.session for row in here if is_table(row)})
    logs = [row for row in here if row.ingested_at is not None and not is_table(row)]
    # A live session is rows of this store, so its lines are made now.
    return [*logs, *live_rows(store, live)]


def _add_raw(archive: tarfile.TarFile, store: Store, row: SourceRow, redacted: bool) -> None:
    entry = tarfile.TarInfo(f"raw/{row.uid}")
    entry.size, entry.mode = row.kept, 0o600
    with (
        stream_of(whole_log(store, row)) as kept,
        masked_copy(row, kept) if redacted else nullcontext(kept) as body,
    ):
        archive.addfile(entry, body)
