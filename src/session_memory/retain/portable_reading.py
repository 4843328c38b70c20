"""Read a portable file. Everything in it is hostile: it may come from anybody.

The size of the file limits how much it may unpack to, so a small file cannot keep a store busy for
minutes. Values that this machine can find out itself (cursors, counts, file times) are not used.
"""

import io
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from session_memory.core.errors import SessionMemoryError
from session_memory.core.ids import FLAVOR
from session_memory.core.installation import upgrade_hint
from session_memory.core.roles import FILE_ROLES
from session_memory.core.text import short_repr
from session_memory.derive.live_sources import LIVE
from session_memory.retain.live_files import is_live_rows
from session_memory.retain.portable_file import FORMAT, FORMAT_VERSION, ExportManifest
from session_memory.store.sources import SourceRow, source_uid
from session_memory.store.zstandard import zstd

LARGEST_DOCUMENT = 1024 * 1024
# The manifest has the names of all sessions.
LARGEST_MANIFEST = 16 * LARGEST_DOCUMENT
PIECE = 1024 * 1024
UNPACKING: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
LONGEST_HOST = 255
LONGEST_PATH = 4096
LONGEST_ID = 1024
LONGEST_FLAVOR = 64
MOST_GENERATIONS = 1_000_000


class ImportLimits(msgspec.Struct, frozen=True):
    """How much a portable file may unpack to."""

    bytes: int
    lines: int
    sources: int

    @classmethod
    def of(cls, size: int) -> "ImportLimits":
        """The limits for a file of ``size`` bytes. They are far above what real exports need.

        A real log is 5 to 50 times as large unpacked. A compressed line takes 20 bytes or more,
        because it has an id and a time. A source takes more, because it has a path and two hashes.
        """
        return cls(
            bytes=16 * 1024**2 + 200 * size, lines=10_000 + size // 8, sources=200 + size // 60
        )


class ImportedSource(msgspec.Struct):
    """A source of a portable file. ``refusal`` says why it must not be imported. ``is_known``: the
    store has its session from elsewhere."""

    row: SourceRow
    body: IO[bytes]
    refusal: str = ""
    is_known: bool = False


class PortableFile:
    """A portable file. Every source is checked once, before the first one is used."""

    def __init__(self, path: Path, *, is_limited: bool = True) -> None:
        self._path = path
        self._limits = ImportLimits.of(path.stat().st_size) if is_limited else None
        self.count = self.bytes = 0
        self.names: dict[str, str] = {}
        # Reading a body goes on in the archive, so a file that is cut off is noticed here.
        with _unreadable_is_no_export(path):
            for source in self.sources():
                self.count += 1
                self.bytes += source.row.kept
                while source.body.read(PIECE):
                    pass

    def sources(self) -> Iterator[ImportedSource]:
        """Each source with its bytes. Raises if the file is not a valid export."""
        with (
            _unreadable_is_no_export(self._path),
            zstd.open(self._path, "rb", options=UNPACKING) as packed,
            tarfile.open(
                fileobj=_Limited(packed, self._path, self._limits),
                mode="r|",
                tarinfo=_PlainEntry,
            ) as archive,
        ):
            yield from self._entries(archive)

    def _entries(self, archive: tarfile.TarFile) -> Iterator[ImportedSource]:
        manifest, row, seen = None, None, 0
        for entry in archive:
            # Otherwise tarfile would keep every entry in memory.
            archive.members.clear()  # type: ignore[attr-defined]
            body = archive.extractfile(entry) if entry.isreg() else None
            if body is None:
                raise _not_an_export(self._path, f"{short_repr(entry.name)} is not a plain file")
            if manifest is None:
                manifest = _manifest(self._document(body, entry, LARGEST_MANIFEST), self._path)
                self.names = manifest.names
            elif entry.name.startswith("sources/"):
                row = _source_row(self._document(body, entry), self._path)
            elif row is not None and entry.name == f"raw/{row.uid}" and entry.size == row.kept:
                seen += 1
                if self._limits is not None and seen > self._limits.sources:
                    raise _too_large(self._path, f"has more than {self._limits.sources:,} sources")
                yield ImportedSource(row, body, refusal_of(row))
                row = None
            else:
                raise _not_an_export(self._path, f"{short_repr(entry.name)} does not belong here")
        if manifest is None or seen != manifest.sources:
            raise _not_an_export(self._path, "it ends too early")

    def _document(
        self, body: IO[bytes], entry: tarfile.TarInfo, largest: int = LARGEST_DOCUMENT
    ) -> bytes:
        if entry.size > largest:
            raise _not_an_export(self._path, f"{short_repr(entry.name)} is too large")
        return body.read(largest)


class _Limited(io.BufferedIOBase):
    """The unpacked bytes of a portable file. Raises as soon as they are more than the limits."""

    def __init__(self, packed: zstd.ZstdFile, path: Path, limits: ImportLimits | None) -> None:
        self._packed = packed
        self._path = path
        self._limits = limits
        self._bytes = self._lines = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data: bytes = self._packed.read(-1 if size is None else size)
        if self._limits is not None:
            self._bytes += len(data)
            self._lines += data.count(b"\n")
            if self._bytes > self._limits.bytes:
                raise _too_large(self._path, f"unpacks to more than {self._limits.bytes:,} bytes")
            if self._lines > self._limits.lines:
                raise _too_large(self._path, f"has more than {self._limits.lines:,} lines")
        return data


class _PlainEntry(tarfile.TarInfo):
    """Accepts only plain files, because an extended header could be of any size."""

    def _proc_member(self, tarfile_: tarfile.TarFile) -> "_PlainEntry":
        if self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise tarfile.ReadError(f"{short_repr(self.name)} is not a plain file")
        return super()._proc_member(tarfile_)  # type: ignore[misc,no-any-return]


def _manifest(body: bytes, path: Path) -> ExportManifest:
    manifest = msgspec.json.decode(body, type=ExportManifest)
    if manifest.format != FORMAT:
        raise _not_an_export(path, f"its format is {short_repr(manifest.format)}")
    if manifest.version > FORMAT_VERSION:
        raise SessionMemoryError(
            f"{path} has format version {manifest.version}, this release knows {FORMAT_VERSION}",
            upgrade_hint(),
        )
    return manifest


def _source_row(body: bytes, path: Path) -> SourceRow:
    """Return the description of a source. Raises if its id or its figures cannot be right."""
    row = msgspec.json.decode(body, type=SourceRow)
    try:
        uid = source_uid(row.host, row.path, row.generation)
    except UnicodeEncodeError:
        uid = ""
    if row.uid != uid:
        raise _not_an_export(path, f"the id of {short_repr(row.path)} does not match its path")
    numbers = [value for value in msgspec.structs.astuple(row) if isinstance(value, int)]
    if any(abs(number) >= 1 << 63 for number in numbers) or not 0 <= row.read_to <= row.kept:
        raise _not_an_export(path, f"the figures of {short_repr(row.path)} are not valid")
    return row


_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def refusal_of(row: SourceRow) -> str:
    """Return why a source must not be imported; empty if nothing is wrong with it."""
    if is_live_rows(row):
        return ""
    if wrong := _wrong_text(row):
        return wrong
    if row.flavor == LIVE:
        return "live sessions have no log, and this is not the rows of one"
    if len(row.flavor) > LONGEST_FLAVOR or not FLAVOR.fullmatch(row.flavor):
        return f"its flavor {short_repr(row.flavor)} is not a name of an agent"
    if row.role not in FILE_ROLES:
        return f"its role {short_repr(row.role)} is not one of {', '.join(FILE_ROLES)}"
    if not _ABSOLUTE.match(row.path):
        return "its path is not absolute"
    if not 0 <= row.generation <= MOST_GENERATIONS:
        return f"its generation {row.generation} is out of range"
    if row.redacted_from is not None and not 0 <= row.redacted_from <= row.kept:
        return f"it is masked from byte {row.redacted_from}, which it does not have"
    return ""


def _wrong_text(row: SourceRow) -> str:
    texts = (
        ("host", row.host, 1, LONGEST_HOST),
        ("path", row.path, 1, LONGEST_PATH),
        ("home path", row.home_path, 0, LONGEST_PATH),
        ("session", row.session, 0, LONGEST_ID),
        ("agent", row.agent, 0, LONGEST_ID),
    )
    for name, text, least, most in texts:
        if not least <= len(text) <= most:
            return f"its {name} has {len(text):,} characters"
        if _CONTROL.search(text):
            return f"its {name} {short_repr(text)} has control characters"
    if ".." in PurePosixPath(row.home_path).parts or _ABSOLUTE.match(row.home_path):
        return f"{short_repr(row.home_path)} is not below a home directory"
    return ""


@contextmanager
def _unreadable_is_no_export(path: Path) -> Iterator[None]:
    """Turn what a damaged file makes the libraries raise into an error about the file."""
    try:
        yield
    except (
        zstd.ZstdError,
        tarfile.TarError,
        EOFError,
        msgspec.MsgspecError,
        RecursionError,
    ) as error:
        raise _not_an_export(path, f"it is no portable file, or it is damaged ({error})") from error


def _not_an_export(path: Path, reason: str) -> SessionMemoryError:
    return SessionMemoryError(
        f"{path} cannot be imported: {reason}",
        "Make one with: session-memory export FILE",
    )


def _too_large(path: Path, what: str) -> SessionMemoryError:
    return SessionMemoryError(
        f"{path} cannot be imported: it {what}, too many for its size",
        "If you know who made it, import it with --no-limits",
    )
