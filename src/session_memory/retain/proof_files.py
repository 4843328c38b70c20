"""Read the files of a store that the proof searches, unpacked if they are compressed."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from session_memory.derive.files_beside import beside
from session_memory.retain import lake_files
from session_memory.store.retention_archive import Archive
from session_memory.store.sqlite_clearing import left_open
from session_memory.store.store import Store

PIECE = 16 * 1024 * 1024
OVERLAP = 48


def files(
    store: Store, archive: Archive | None, lake: Path | None, lessons: Path | None
) -> Iterator[tuple[Path, Iterator[bytes]]]:
    """Yield all our files with their content: database, WAL, archive, lake, lessons, undo
    copies."""
    if store.db.file is not None:
        for suffix in ("", "-wal", "-shm", "-journal", ".lock"):
            file = Path(f"{store.db.file}{suffix}")
            if file.exists():
                yield file, _windows(left_open(file))
    place = beside(store)
    ours = [] if place is None else [place / "lessons", place / "applied"]
    directories = [archive.directory if archive else None, lake, lessons, *ours]
    seen: set[Path] = set()
    for directory in directories:
        if directory is not None and directory.is_dir():
            for file in sorted(file for file in directory.rglob("*") if file.is_file()):
                if file not in seen:
                    seen.add(file)
                    yield file, _content(file)


def files_of(lake: Path | None, uids: Collection[str]) -> Iterator[Path]:
    """The files of the lake with rows of these sessions."""
    for file in lake_files.parquet_files(lake) if lake is not None else ():
        pa = lake_files.arrow()
        try:
            if not lake_files.session_uids(pa, file).isdisjoint(uids):
                yield file
        except (pa.ArrowException, OSError):
            # `lake.forget`, which runs before, reports an unreadable file.
            continue


def _content(file: Path) -> Iterator[bytes]:
    if file.name == lake_files.FILE:
        pa = lake_files.arrow()
        try:
            yield from lake_files.texts(pa, file)
        except (pa.ArrowException, OSError):
            yield from _windows_of(file)
    else:
        yield from _windows_of(file)


def _windows_of(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from _windows(opened.fileno())


def _windows(descriptor: int) -> Iterator[bytes]:
    """Yield a file in overlapping windows, so that a sample at a border is found, too."""
    rest, place = b"", 0
    while data := os.pread(descriptor, PIECE, place):
        yield rest + data
        rest, place = data[-OVERLAP:], place + len(data)
