"""Disks that break: ``disk.c`` records what a program does to its files, and makes calls fail.

`Disk` builds from such a record what a power cut leaves: of what was not synced any part may be
there or not, in any mixture, down to the sector; names of files and directories count as synced
when the directory that holds them was.
"""

import ctypes
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

SOURCE = Path(__file__).with_name("disk.c")
SECTOR = 512

_HEAD = struct.Struct("=cIQI")

ONCE, FROM_THEN_ON, KILL, HALF_A_WRITE = range(4)


class NoCompiler(Exception):
    """Nothing here can make the disk."""


def compiled(directory: Path) -> Path:
    """``disk.c`` as a library to load before all others."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        raise NoCompiler("that takes Linux and a C compiler")
    library = directory / "disk.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@contextmanager
def in_memory() -> Iterator[Path]:
    """A directory without a disk where there is one: nothing here depends on what a real disk does,
    and it would be busy with nothing but syncing."""
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast, prefix="session-memory-disk-") as directory:
        yield Path(directory)


def under(library: Path, root: Path, journal: Path | None = None) -> dict[str, str]:
    """The environment of a program whose files below ``root`` lie on the disk."""
    fields = {"LD_PRELOAD": str(library), "DISK_ROOT": str(root.resolve())}
    return fields if journal is None else {**fields, "DISK_JOURNAL": str(journal)}


class Control:
    """The disk as a program sees it that runs with it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self._library.disk_disarm.restype = ctypes.c_long
        for name in ("disk_failed_call", "disk_failed_path"):
            getattr(self._library, name).restype = ctypes.c_char_p

    def arm(self, call: int, error: int, manner: int) -> None:
        """The call with this number, counted from now, fails."""
        self._library.disk_arm(ctypes.c_long(call), error, manner)

    def disarm(self) -> int:
        """Everything works again; how many calls there were."""
        return int(self._library.disk_disarm())

    @property
    def failed(self) -> str:
        """The call that was made to fail, empty when it did not come to that."""
        call = self._library.disk_failed_call().decode()
        return f"{call} {Path(self._library.disk_failed_path().decode()).name}" if call else ""

    def mark(self, number: int) -> None:
        """A line in the record: so much was acknowledged by now."""
        self._library.disk_mark(ctypes.c_uint64(number))


# ---------------------------------------------------------------- what a power cut leaves


@dataclass(frozen=True)
class Change:
    kind: Literal["A", "C", "M", "S", "T", "U", "W"]
    path: str
    place: int
    data: bytes


def changes(journal: Path) -> Iterator[Change]:
    record = memoryview(journal.read_bytes())
    at = 0
    while at < len(record):
        kind, name, place, length = _HEAD.unpack_from(record, at)
        at += _HEAD.size
        path = bytes(record[at : at + name]).decode()
        at += name
        yield Change(kind.decode(), path, place, bytes(record[at : at + length]))
        at += length


@dataclass
class _File:
    """What is safe of a file, and what was done to it since."""

    synced: bytearray = field(default_factory=bytearray)
    since: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        for change in self.since:
            _apply(self.synced, change)
        self.since.clear()

    def after_a_cut(self, chance: random.Random, kept: float) -> bytearray:
        content = bytearray(self.synced)
        for change in self.since:
            for part in _sectors(change):
                if chance.random() < kept:
                    _apply(content, part)
        return content


def _apply(content: bytearray, change: Change) -> None:
    if change.kind == "T":
        del content[change.place :]
        content.extend(bytes(change.place - len(content)))
        return
    content.extend(bytes(max(0, change.place - len(content))))
    content[change.place : change.place + len(change.data)] = change.data


def _sectors(change: Change) -> Iterator[Change]:
    if change.kind != "W":
        yield change
    for start in range(0, len(change.data), SECTOR):
        part = change.data[start : start + SECTOR]
        yield Change("W", change.path, change.place + start, part)


class Disk:
    """Everything below ``root``, which was there and empty before the record began."""

    def __init__(self, root: Path) -> None:
        self._root = PurePosixPath(root.resolve())
        self._files: dict[str, _File | None] = {}
        self._synced_names: dict[str, _File | None] = {}
        self.acknowledged = 0

    def take(self, change: Change) -> None:
        match change.kind:
            case "A":
                self.acknowledged = change.place
            case "C":
                self._files[change.path] = _File()
            case "M":
                self._files[change.path] = None
            case "U":
                del self._files[change.path]
            case "S":
                self._sync(change.path)
            case _:
                file = self._files[change.path]
                assert file is not None
                file.since.append(change)

    def _sync(self, path: str) -> None:
        file = self._files.get(path)
        if file is not None:
            file.sync()
            return
        for name in {*self._files, *self._synced_names}:
            if str(PurePosixPath(name).parent) == path:
                if name in self._files:
                    self._synced_names[name] = self._files[name]
                else:
                    self._synced_names.pop(name, None)

    def cut(self, target: Path, chance: random.Random, kept: float = 0.0) -> None:
        """Write what is left to ``target``: all that was synced, of the rest the share ``kept``."""
        names = dict(self._synced_names)
        for name in {*self._files, *names}:
            if chance.random() < kept:
                if name in self._files:
                    names[name] = self._files[name]
                else:
                    names.pop(name, None)
        target.mkdir(parents=True)
        for name in sorted(names):
            place = target / PurePosixPath(name).relative_to(self._root)
            # Without the directory that holds it, a file is lost whatever was synced of it.
            if place.parent.is_dir():
                file = names[name]
                if file is None:
                    place.mkdir()
                else:
                    place.write_bytes(file.after_a_cut(chance, kept))
