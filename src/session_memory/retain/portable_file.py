"""Export a store, or some of its sessions, to one portable file, and import such a file.

The file is a zstd-compressed tar archive: ``manifest.json`` first (format, version, counts), then
``sources/<uid>.json`` and ``raw/<uid>`` for each source. It holds only what cannot be derived;
an import derives events, usage and the rest again.
"""

import tarfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from session_memory.collect.masking import masked_copy, masked_row
from session_memory.config import Config
from session_memory.core.errors import (
    AdapterFailed,
    AdapterUnusable,
    SessionEvicted,
    SessionMemoryError,
    StoreDamaged,
)
from session_memory.core.installation import upgrade_hint
from session_memory.core.time import now_ms
from session_memory.derive.derivation import derive_stale
from session_memory.derive.evicted import archive_of, bring_back, family
from session_memory.derive.forgotten import Forgotten, mask_stored
from session_memory.derive.ingest import Ingest
from session_memory.derive.live_sources import is_table
from session_memory.derive.readers import note_substitute, reader_of
from session_memory.derive.rebuilding import read_again
from session_memory.retain.native_files import sources_of
from session_memory.store.private_files import refuse_existing, sweep_unfinished, whole_file
from session_memory.store.raw import Raw
from session_memory.store.retention_archive import add_member
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.store import Store
from session_memory.store.zstandard import zstd

FORMAT = "session-memory-export"
FORMAT_VERSION = 1
LARGEST_DOCUMENT = 1024 * 1024
PIECE = 1024 * 1024
LEVEL = 9


class StoreExport(msgspec.Struct, frozen=True):
    sources: int
    bytes: int


class StoreImport(msgspec.Struct, kw_only=True):
    sources: int = 0
    known: int = 0
    bytes: int = 0
    sessions: int = 0


class ExportManifest(msgspec.Struct):
    format: str
    version: int
    sources: int
    bytes: int
    exported_at: int


def export_store(
    store: Store, target: Path, uids: list[str] | None = None, *, redacted: bool = False
) -> StoreExport:
    """Write a portable file that must not exist yet. It appears complete or not at all.

    With ``redacted`` the stored logs have their secrets masked, and their sources say so.
    """
    refuse_existing(target)
    rows = _rows(store, uids)
    total = sum(row.kept for row in rows)
    sweep_unfinished(target.parent)
    with (
        whole_file(target) as file,
        zstd.open(file, "wb", level=LEVEL) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
        store.db.snapshot(),
    ):
        manifest = ExportManifest(FORMAT, FORMAT_VERSION, len(rows), total, now_ms())
        add_member(archive, "manifest.json", msgspec.json.encode(manifest))
        for row in map(masked_row, rows) if redacted else rows:
            add_member(archive, f"sources/{row.uid}.json", msgspec.json.encode(row))
            _add_raw(archive, store.raw, row, redacted)
    return StoreExport(len(rows), total)


def _rows(store: Store, uids: list[str] | None) -> list[SourceRow]:
    if uids is None:
        rows = store.sources.every()
    else:
        rows = list({row.id: row for uid in uids for row in sources_of(store, uid)}.values())
    evicted = store.retention.evicted()
    evictions = [evicted[row.id] for row in rows if row.id in evicted]
    if evictions and uids is not None:
        raise SessionEvicted(uids[0], evictions[0].file)
    # Live sessions are rows of this store. `store copy` copies them, an export does not.
    here = [row for row in rows if row.id not in evicted]
    return [row for row in here if row.ingested_at is not None and not is_table(row)]


def _add_raw(archive: tarfile.TarFile, raw: Raw, row: SourceRow, redacted: bool) -> None:
    entry = tarfile.TarInfo(f"raw/{row.uid}")
    entry.size, entry.mode = row.kept, 0o600
    with (
        raw.open(row.id) as kept,
        masked_copy(row, kept) if redacted else nullcontext(kept) as body,
    ):
        archive.addfile(entry, body)


def import_store(store: Store, source: Path, config: Config) -> StoreImport:
    """Import every source of a portable file that is not in the store yet."""
    with store.db.operation_lock(shared=True):
        return _import(store, source, config)


def _import(store: Store, source: Path, config: Config) -> StoreImport:
    for _ in _sources(source):
        # The whole file is read and checked before anything is imported.
        pass
    done = StoreImport()
    sessions_before = store.sessions.count()
    now = now_ms()
    forgotten = Forgotten(store)
    for row, body in _sources(source):
        done.sources += 1
        known = store.sources.by_uid(row.uid)
        if forgotten.holds_source(row.host, row.path) or (
            known is None and forgotten.holds_session(row.flavor, row.session)
        ):
            done.known += 1
            continue
        if known is not None and known.kept >= row.kept:
            done.known += 1
            continue
        # A new source may be read by any version, a known source not by an older version.
        row.adapter_version = 0
        reader = reader_of(known or row)
        if reader.problem and (known is not None or forgotten):
            # Without the adapter, the records to mask or to continue cannot be found.
            note_substitute(store, row.flavor, reader.problem)
            continue
        with store.transaction():
            if known is None:
                _import_source(store, row, body, now, config)
                done.bytes += row.kept
            else:
                if store.retention.evicted_source(known.id) is not None:
                    sessions = store.sessions.of_source(known.id)
                    related = {other for one in sessions for other in family(store, one)}
                    bring_back(store, archive_of(store, config), sorted(related))
                done.bytes += _import_more(store, known, row, body, now, config)
    derive_stale(store, now, config.domain_of)
    done.sessions = store.sessions.count() - sessions_before
    return done


def _import_source(store: Store, row: SourceRow, body: IO[bytes], now: int, config: Config) -> None:
    kept, row.id, row.kept, row.lines, row.lenient, row.bookkeeping = row.kept, 0, 0, 0, 0, "{}"
    store.sources.save(row)
    packer = store.raw.packer(row.flavor)
    while piece := body.read(PIECE):
        store.raw.replace_from(row.id, row.kept, packer.packs(piece, row.kept), False)
        row.kept += len(piece)
    if row.kept != kept:
        raise StoreDamaged(f"the export of {row.path}", f"{row.kept} of {kept} bytes are there")
    row.ingested_at = now
    forgotten = Forgotten(store)
    if forgotten:
        mask_stored(store, row, lambda native: forgotten.holds_session(row.flavor, native))
    _derive(store, row, now, config)


def _derive(store: Store, row: SourceRow, now: int, config: Config) -> None:
    """Derive events from a new source. Without a working adapter only its bytes are kept: version
    0 makes ``doctor`` ask for a rebuild once there is one."""
    try:
        read_again(store, Ingest(store, now, config.domain_of), row, now)
    except (AdapterUnusable, AdapterFailed) as failure:
        note_substitute(store, row.flavor, str(failure))
        row.adapter_version = 0
        store.sources.save(row)


def _import_more(
    store: Store, known: SourceRow, row: SourceRow, body: IO[bytes], now: int, config: Config
) -> int:
    """Import the additional bytes of a known source. Raises if its start differs from ours."""
    for stored in store.raw.pieces(known.id):
        if body.read(len(stored)) != stored:
            raise SessionMemoryError(
                f"{row.path} was rewritten since it was collected here",
                "Import into a store of its own: session-memory import FILE --store NEW",
            )
    rest = store.raw.record(known.id, known.read_to, known.kept - known.read_to)
    place, packer = known.read_to, store.raw.packer(known.flavor)
    before = known.kept
    while piece := body.read(PIECE):
        rest += piece
        store.raw.replace_from(known.id, place, packer.packs(rest, place))
        place, rest = place + len(rest), b""
    for name in ("kept", "tail_hash", "size", "mtime_ns", "ctime_ns", "inode", "vanished"):
        setattr(known, name, getattr(row, name))
    known.read_to, known.cursor_state = row.read_to, row.cursor_state
    known.starts_at, known.ingested_at = row.starts_at, now
    store.sources.save(known)
    # The sessions were derived from less raw, so they must be derived again.
    for session_id in store.sessions.of_source(known.id):
        store.sessions.mark_stale(session_id)
    read_again(store, Ingest(store, now, config.domain_of), known, now)
    return known.kept - before


def _sources(source: Path) -> Iterator[tuple[SourceRow, IO[bytes]]]:
    """Each source with its bytes. Raises if the file is not a valid export of a known version."""
    try:
        with zstd.open(source, "rb") as packed, _opened(packed) as archive:
            yield from _entries(archive, source)
    except (zstd.ZstdError, tarfile.TarError, EOFError, msgspec.MsgspecError) as error:
        raise _not_an_export(source, str(error)) from error


class _PlainEntry(tarfile.TarInfo):
    """Accepts only plain files, because an extended header could be of any size."""

    def _proc_member(self, tarfile_: tarfile.TarFile) -> "_PlainEntry":
        if self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise tarfile.ReadError(f"{self.name!r} is not a plain file")
        return super()._proc_member(tarfile_)  # type: ignore[misc,no-any-return]


def _opened(packed: zstd.ZstdFile) -> tarfile.TarFile:
    return tarfile.open(fileobj=packed, mode="r|", tarinfo=_PlainEntry)


def _document(body: IO[bytes], entry: tarfile.TarInfo, source: Path) -> bytes:
    if entry.size > LARGEST_DOCUMENT:
        raise _not_an_export(source, f"{entry.name!r} is too large")
    return body.read(LARGEST_DOCUMENT)


def _entries(archive: tarfile.TarFile, source: Path) -> Iterator[tuple[SourceRow, IO[bytes]]]:
    manifest, row, seen = None, None, 0
    for entry in archive:
        body = archive.extractfile(entry) if entry.isreg() else None
        if body is None:
            raise _not_an_export(source, f"{entry.name!r} is not a plain file")
        if manifest is None:
            manifest = _manifest(_document(body, entry, source), source)
        elif entry.name.startswith("sources/"):
            row = _source_row(_document(body, entry, source), source)
        elif row is not None and entry.name == f"raw/{row.uid}" and entry.size == row.kept:
            seen += 1
            yield row, body
            row = None
        else:
            raise _not_an_export(source, f"{entry.name!r} does not belong here")
    if manifest is None or seen != manifest.sources:
        raise _not_an_export(source, "it ends too early")


def _manifest(body: bytes, source: Path) -> ExportManifest:
    manifest = msgspec.json.decode(body, type=ExportManifest)
    if manifest.format != FORMAT:
        raise _not_an_export(source, f"its format is {manifest.format!r}")
    if manifest.version > FORMAT_VERSION:
        raise SessionMemoryError(
            f"{source} has format version {manifest.version}, this release knows {FORMAT_VERSION}",
            upgrade_hint(),
        )
    return manifest


def _source_row(body: bytes, source: Path) -> SourceRow:
    row = msgspec.json.decode(body, type=SourceRow)
    if row.uid != source_uid(row.host, row.path, row.generation):
        raise _not_an_export(source, f"the id of {row.path!r} does not match its path")
    numbers = [value for value in msgspec.structs.astuple(row) if isinstance(value, int)]
    if any(abs(number) >= 1 << 63 for number in numbers) or row.kept < row.read_to:
        raise _not_an_export(source, f"the figures of {row.path!r} are not valid")
    if ".." in PurePosixPath(row.home_path).parts or "\0" in row.path + row.home_path:
        raise _not_an_export(source, f"{row.home_path!r} is not below a home directory")
    return row


def _not_an_export(source: Path, reason: str) -> SessionMemoryError:
    return SessionMemoryError(
        f"{source} cannot be imported: {reason}",
        "Make one with: session-memory export FILE",
    )
