"""Real logs of any size: the development set, a part of it, or copies of it under new names.

A copy has other ids everywhere, in the texts and in the names of its files, so that it is new to a
store: nothing of it is a fork or a repetition of the first.
"""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

from corpus import shared
from processes import Failed

_UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = rb"\b(?:msg|req|toolu|call|resp|rs|fc)_[0-9A-Za-z]{16,64}\b"
_IDS = re.compile(rb"(?P<uuid>" + _UUID + rb")|" + _NAMED)


class RealLogs:
    """Homes below ``place``, each made once and used by whatever is measured next."""

    def __init__(self, place: Path) -> None:
        self._place = place
        unpacked = place / "unpacked"
        packed = shared() / "samples" / "real.tar.xz"
        if not packed.is_file():
            raise Failed(f"no real logs at {packed}\nhint: they lie beside the generator")
        if not unpacked.is_dir():
            with tarfile.open(packed) as archive:
                archive.extractall(unpacked, filter="data")
        self._whole = unpacked / "home"
        self.files = sorted(path for path in self._whole.rglob("*") if path.is_file())
        self.bytes = sum(path.stat().st_size for path in self.files)

    def home(self, size: int) -> tuple[Path, int]:
        """A home with about ``size`` bytes of logs, and how many they are."""
        home = self._place / f"home-{size}"
        written = number = 0
        while written < size - self.bytes // 2 or not written:
            files = self.files if size >= self.bytes else self._some(size)
            written += _copy(files, self._whole, home, number)
            number += 1
        return home, written

    def _some(self, size: int) -> Iterable[Path]:
        """Every n-th file, so that all agents are among them."""
        step = max(1, self.bytes // size)
        taken = 0
        for start in range(step):
            for path in self.files[start::step]:
                if taken >= size:
                    return
                taken += path.stat().st_size
                yield path


def _copy(files: Iterable[Path], whole: Path, home: Path, number: int) -> int:
    """The first copy is the logs themselves; later ones have ids of their own."""
    renamed = _renaming(number) if number else bytes
    written = 0
    for path in files:
        name = renamed(str(path.relative_to(whole)).encode()).decode()
        target = home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        written += target.write_bytes(renamed(path.read_bytes()))
    return written


def _renaming(number: int) -> Callable[[bytes], bytes]:
    """Replaces each id by another of the same form. Equal ids stay equal."""
    known: dict[bytes, bytes] = {}

    def other(found: re.Match[bytes]) -> bytes:
        old = found[0]
        if (new := known.get(old)) is None:
            digest = hashlib.sha256(b"%d %s" % (number, old)).hexdigest().encode()
            new = known[old] = _as_uuid(old, digest) if found["uuid"] else _as_name(old, digest)
        return new

    return lambda text: _IDS.sub(other, text)


def _as_uuid(old: bytes, digest: bytes) -> bytes:
    """The first twelve digits stay: in newer ids they are a time, and agents sort by it."""
    start = old[:14] if old[14:15] == b"7" else digest[:8] + b"-" + digest[8:12] + b"-"
    return start + old[14:15] + digest[13:16] + b"-" + digest[16:20] + b"-" + digest[20:32]


def _as_name(old: bytes, digest: bytes) -> bytes:
    kind, _, rest = old.partition(b"_")
    return kind + b"_" + (digest * 2)[: len(rest)]
