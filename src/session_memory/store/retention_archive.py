"""The archive: tar files with the packs of evicted sources.

A file has ``manifest.json`` first (every source with the place and hash of its packs), then
``dictionaries/<hash>`` and ``packs/<source>/<start>``. It is written under a temporary name,
synced, read back and compared, and only then renamed. After that it never changes. So a file
with a final name is always complete, even if the writer was killed.
"""

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import IO

import msgspec

from session_memory.core.errors import ArchiveError
from session_memory.core.time import format_time
from session_memory.store.operation_lock import lock_within_a_minute
from session_memory.store.private_files import UNFINISHED, make_private, sync_directory
from session_memory.store.raw import LONGEST_PACK, Pack
from session_memory.store.sources import SourceRow
from session_memory.store.zstandard import zstd

FORMAT = "session-memory-archive"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 256 * 1024 * 1024
# zstd adds little to data that does not compress. A larger member cannot be one of our packs.
LARGEST_BODY = 2 * LONGEST_PACK


class ArchivedPack(msgspec.Struct, frozen=True):
    """A pack and its place in the source. ``hash`` is the hash of its stored bytes, in hex."""

    start: int
    length: int
    hash: str
    bytes: int
    dictionary: str | None = None


class ArchivedSource(msgspec.Struct, frozen=True):
    """A source at the time of archiving. ``digest`` is the hash of its bytes."""

    source: SourceRow
    digest: str
    packs: list[ArchivedPack]
    sessions: list[str] = []

    @property
    def places(self) -> list[tuple[int, bytes]]:
        return [(pack.start, bytes.fromhex(pack.hash)) for pack in self.packs]

    @property
    def bytes(self) -> int:
        return sum(pack.bytes for pack in self.packs)


class ArchiveManifest(msgspec.Struct):
    format: str
    version: int
    archived_at: str
    dictionaries: dict[str, str]
    """Hash of the stored body → flavor."""
    sources: list[ArchivedSource]


class ArchiveContents(msgspec.Struct):
    """The content of an archive file that `Archive.write` is to write."""

    sources: list[ArchivedSource]
    dictionaries: dict[str, tuple[str, bytes]]
    """Hash → ``(flavor, body)``."""
    bodies: Callable[[], Iterator[bytes]]
    """The packs of all sources, in the order of the manifest."""


class Archive:
    """One directory of archive files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def files(self) -> list[Path]:
        return sorted(self.directory.glob("*.tar")) if self.directory.is_dir() else []

    def path(self, name: str) -> Path:
        if "/" in name or name in ("", ".", ".."):
            raise ArchiveError(f"{name!r} is not the name of an archive file")
        path = self.directory / name
        if not path.is_file():
            raise ArchiveError(f"the archive {path} does not exist")
        return path

    # ------------------------------------------------------------ reading

    def manifest(self, file: Path) -> ArchiveManifest:
        with _opened(file) as archive:
            return _manifest(archive, file)

    def holding(self) -> dict[str, list[tuple[Path, ArchivedSource]]]:
        """Source uid → the files that hold it, with its entry in each."""
        sources: dict[str, list[tuple[Path, ArchivedSource]]] = {}
        for file in self.files():
            for held in self.manifest(file).sources:
                sources.setdefault(held.source.uid, []).append((file, held))
        return sources

    def read(self, file: Path, uids: set[str] | None = None) -> Iterator[tuple[str, Pack, bytes]]:
        """``(source uid, pack, dictionary as stored)`` of some sources. Hashes are checked.

        The dictionary is empty for a pack without one. Ignore the pack's ``dictionary_id``.
        """
        with _opened(file) as archive:
            manifest = _manifest(archive, file)
            known = {
                f"packs/{held.source.uid}/{pack.start}": (held.source.uid, pack)
                for held in manifest.sources
                if uids is None or held.source.uid in uids
                for pack in held.packs
            }
            dictionaries: dict[str, bytes] = {}
            for entry in archive:
                if entry.name.startswith("dictionaries/"):
                    digest = entry.name.partition("/")[2]
                    dictionaries[digest] = _body(archive, entry, file, digest)
                if entry.name in known:
                    uid, pack = known.pop(entry.name)
                    body = _body(archive, entry, file, pack.hash)
                    whole = Pack(pack.start, pack.length, bytes.fromhex(pack.hash), None, body)
                    yield uid, whole, dictionaries[pack.dictionary] if pack.dictionary else b""
            if known:
                raise ArchiveError(f"{file}: {min(known)} is missing")

    def dictionaries(self, file: Path) -> dict[str, tuple[str, bytes]]:
        """The dictionaries in an archive file: hash → ``(flavor, body as stored)``."""
        with _opened(file) as archive:
            flavors = _manifest(archive, file).dictionaries
            found = {}
            for entry in archive:
                if entry.name.startswith("dictionaries/"):
                    digest = entry.name.partition("/")[2]
                    found[digest] = (flavors[digest], _body(archive, entry, file, digest))
            return found

    def check(self, file: Path) -> list[str]:
        """Return the faults of an archive file. Everything in it is read, hashed and unpacked."""
        try:
            manifest = self.manifest(file)
            raw = {held.source.uid: (sha256(), held.digest) for held in manifest.sources}
            for uid, pack, dictionary in self.read(file):
                raw[uid][0].update(unpacked(file, pack, dictionary))
            wrong = [uid for uid, (seen, digest) in raw.items() if seen.hexdigest() != digest]
            return [f"{file.name}: the bytes of {uid} differ from their hash" for uid in wrong]
        except ArchiveError as error:
            return [str(error)]

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the archive for writing, and delete unfinished files of killed writers."""
        lock = self._lock()
        try:
            lock_within_a_minute(lock, str(self.directory))
            for left in self.directory.glob(".*.part"):
                left.unlink()
            yield
        finally:
            os.close(lock)

    def _lock(self) -> int:
        try:
            make_private(self.directory)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            return os.open(self.directory / ".lock", flags, 0o600)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: OSError) -> ArchiveError:
        hint = "Check the free space and the permissions, or set archive_dir to another directory."
        reason = error.strerror or str(error)
        return ArchiveError(f"cannot write to {self.directory}: {reason}", hint)

    def write(self, contents: ArchiveContents, now: int) -> Path:
        """Write and verify a new file. Call it inside `writing`."""
        day = format_time(now)[:10]
        partial = self.directory / f".{day}.{os.getpid()}{UNFINISHED}"
        try:
            with os.fdopen(os.open(partial, _NEW, 0o600), "wb") as file:
                _write(file, contents, now)
                file.flush()
                os.fsync(file.fileno())
            if faults := self.check(partial) or _differences(self.manifest(partial), contents):
                raise ArchiveError(f"the file written to {self.directory} is wrong: {faults[0]}")
            return self._named(partial, day)
        except OSError as error:
            raise self._cannot_write(error) from error
        finally:
            partial.unlink(missing_ok=True)

    def _named(self, partial: Path, day: str) -> Path:
        number = 1
        while True:
            target = self.directory / f"{day}-{number:04d}.tar"
            try:
                os.link(partial, target)
            except FileExistsError:
                number += 1
                continue
            sync_directory(self.directory)
            return target


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def unpacked(file: Path, pack: Pack, dictionary: bytes) -> bytes:
    """The uncompressed bytes of an archived pack."""
    try:
        using = _dictionary(dictionary) if dictionary else None
        # Limited to the expected length, even if the frame claims more.
        data = bytes(zstd.ZstdDecompressor(using).decompress(pack.body, pack.length + 1))
    except (zstd.ZstdError, EOFError) as error:
        raise ArchiveError(
            f"{file}: the pack at {pack.start} cannot be unpacked: {error}"
        ) from error
    if len(data) != pack.length:
        raise ArchiveError(f"{file}: the length of the pack at {pack.start} does not match")
    return data


@lru_cache(maxsize=8)
def _dictionary(body: bytes) -> zstd.ZstdDict:
    return zstd.ZstdDict(zstd.decompress(body), is_raw=True)


def _write(file: IO[bytes], contents: ArchiveContents, now: int) -> None:
    flavors = {digest: flavor for digest, (flavor, _) in contents.dictionaries.items()}
    manifest = ArchiveManifest(FORMAT, FORMAT_VERSION, format_time(now), flavors, contents.sources)
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        add_member(archive, MANIFEST, msgspec.json.encode(manifest))
        for digest, (_, body) in sorted(contents.dictionaries.items()):
            add_member(archive, f"dictionaries/{digest}", body)
        names = (
            f"packs/{held.source.uid}/{pack.start}"
            for held in contents.sources
            for pack in held.packs
        )
        for name, body in zip(names, contents.bodies(), strict=True):
            add_member(archive, name, body)
        end = archive.offset
    # An archive ends with two empty blocks. tarfile adds up to 18 more, for tape drives.
    file.truncate(end + 2 * tarfile.BLOCKSIZE)


def add_member(archive: tarfile.TarFile, name: str, body: bytes) -> None:
    """Add a private file to a tar archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(body), 0o600
    archive.addfile(entry, io.BytesIO(body))


def _differences(manifest: ArchiveManifest, contents: ArchiveContents) -> list[str]:
    same = msgspec.json.encode(manifest.sources) == msgspec.json.encode(contents.sources)
    return [] if same else ["its manifest differs"]


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with file.open("rb") as plain, tarfile.open(fileobj=plain, mode="r:") as archive:
            yield archive
    except (tarfile.TarError, EOFError, msgspec.MsgspecError) as error:
        raise ArchiveError(f"{file} is damaged: {error}") from error
    except OSError as error:
        raise ArchiveError(f"{file} cannot be read: {error.strerror or error}") from error


def _manifest(archive: tarfile.TarFile, file: Path) -> ArchiveManifest:
    entry = archive.next()
    if entry is None or entry.name != MANIFEST or entry.size > LARGEST_MANIFEST:
        raise ArchiveError(f"{file} is not an archive of Session Memory")
    manifest = msgspec.json.decode(_bytes(archive, entry, file), type=ArchiveManifest)
    if manifest.format != FORMAT:
        raise ArchiveError(f"{file} is not an archive of Session Memory")
    if manifest.version > FORMAT_VERSION:
        from session_memory.core.installation import upgrade_hint  # noqa: PLC0415

        raise ArchiveError(f"{file} has format version {manifest.version}", upgrade_hint())
    return manifest


def _body(archive: tarfile.TarFile, entry: tarfile.TarInfo, file: Path, digest: str) -> bytes:
    if entry.size > LARGEST_BODY:
        raise ArchiveError(f"{file}: {entry.name} is too large")
    body = _bytes(archive, entry, file)
    if sha256(body).hexdigest() != digest:
        raise ArchiveError(f"{file}: the hash of {entry.name} does not match")
    return body


def _bytes(archive: tarfile.TarFile, entry: tarfile.TarInfo, file: Path) -> bytes:
    member = archive.extractfile(entry) if entry.isreg() else None
    if member is None:
        raise ArchiveError(f"{file}: {entry.name} is not a plain file")
    body = member.read()
    if len(body) != entry.size:
        raise ArchiveError(f"{file}: {entry.name} ends too early")
    return body
