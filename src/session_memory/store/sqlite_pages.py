"""Overwrite what deleted rows left in the pages of a SQLite file: https://sqlite.org/fileformat2.html

Deleted rows stay in free pages, in the unused parts of pages with rows, and behind the end of long
values. No statement of SQLite reaches these bytes, so they are overwritten in the file itself.
Nobody else may write the file meanwhile; `sqlite_clearing` sees to that. Others may read it,
because SQLite does not look at bytes that are not in use. A killed process leaves a sound file.

Up to three unused bytes between two rows are left as they are.
"""

import os
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from session_memory.core.errors import StoreDamaged

HEADER = 100
# The kinds of pages in the map that a file with `auto_vacuum` has.
_ROOT, _FREE, _FIRST_OVERFLOW, _OVERFLOW, _TREE = 1, 2, 3, 4, 5
# The types of pages with rows, by their first byte: inner and leaf pages of indexes and of tables.
_INDEX, _TABLE, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_LEAVES = (_INDEX_LEAF, _TABLE_LEAF)
_LOCK_BYTE = 0x40000000
_WAL_HEADER, _WAL_SALT, _FRAME_HEADER = 32, 16, 24


class WalPlace(NamedTuple):
    """A place in a WAL file: how many frames are before it, and the salt they have."""

    salt: bytes = b""
    frames: int = 0


def wal_salt(file: Path) -> bytes:
    """The salt of a WAL file. SQLite changes it when it starts to overwrite the file from its
    beginning. An empty file has an empty salt."""
    with file.open("rb") as opened:
        return os.pread(opened.fileno(), 8, _WAL_SALT)


def wal_pages(file: Path, page_bytes: int, since: WalPlace) -> set[int]:
    """The numbers of the pages that were written to a WAL file after the place ``since``."""
    numbers: set[int] = set()
    with file.open("rb") as opened:
        salt = os.pread(opened.fileno(), 8, _WAL_SALT)
        frame = since.frames if salt == since.salt else 0
        while True:
            place = _WAL_HEADER + frame * (_FRAME_HEADER + page_bytes)
            head = os.pread(opened.fileno(), 16, place)
            if len(head) < 16 or head[8:] != salt:
                return numbers
            numbers.add(int.from_bytes(head[:4]))
            frame += 1


class SqlitePages:
    """The pages of a file that is open for reading and writing."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._file = descriptor
        head = os.pread(descriptor, HEADER, 0)
        size, reserved = struct.unpack_from(">H", head, 16)[0], head[20]
        self.page_bytes = 65536 if size == 1 else size
        self._usable = self.page_bytes - reserved
        self.count = os.fstat(descriptor).st_size // self.page_bytes
        self._zeros = bytes(self.page_bytes)
        self._map_page = lru_cache(maxsize=64)(self._page)
        self._trunks = dict(self._free_lists(*struct.unpack_from(">I", head, 32)))

    def clear(self, numbers: Iterable[int] | None = None) -> None:
        """Overwrite deleted data in the pages with these numbers, or in all pages."""
        for number in range(1, self.count + 1) if numbers is None else self._with_owners(numbers):
            self._clear_page(number)
        os.fsync(self._file)

    def _with_owners(self, numbers: Iterable[int]) -> list[int]:
        """These pages. For a page with the rest of a long value, also the page with its row."""
        all_of_them: set[int] = set()
        for number in numbers:
            while 0 < number <= self.count and number not in all_of_them:
                all_of_them.add(number)
                kind, parent = self._kind(number)
                number = parent if kind in (_FIRST_OVERFLOW, _OVERFLOW) else 0
        return sorted(all_of_them)

    def _clear_page(self, number: int) -> None:
        kind, _ = self._kind(number)
        if kind in (_ROOT, _TREE):
            page = self._page(number)
            self._overwrite(number, page, self._unused(number, page))
            for first, length in self._long_values(number, page):
                self._clear_end(first, length)
        elif kind == _FREE:
            leaves = self._trunks.get(number)
            used = 0 if leaves is None else 8 + 4 * leaves
            self._overwrite(number, self._page(number), [(used, self.page_bytes)])

    def _clear_end(self, first: int, length: int) -> None:
        """Overwrite what is behind the end of a value in its last page."""
        each, number = self._usable - 4, first
        for _ in range((length - 1) // each):
            number = int.from_bytes(os.pread(self._file, 4, self._place(number)))
        page = self._page(number)
        if page[:4] != self._zeros[:4]:
            raise self._damaged(number, "the last page of a value has a next one")
        used = 4 + (length - 1) % each + 1
        self._overwrite(number, page, [(used, self._usable)])

    def _overwrite(self, number: int, page: bytes, ranges: list[tuple[int, int]]) -> None:
        if all(page[start:end] == self._zeros[: end - start] for start, end in ranges):
            return
        anew = bytearray(page)
        for start, end in ranges:
            anew[start:end] = self._zeros[: end - start]
        os.pwrite(self._file, anew, self._place(number))

    def _unused(self, number: int, page: bytes) -> list[tuple[int, int]]:
        """The parts of a page with rows that no row uses: before the rows, and between them."""
        head = HEADER if number == 1 else 0
        kind, free, cells, content = struct.unpack_from(">BHHH", page, head)
        if kind not in (_INDEX, _TABLE, *_LEAVES):
            raise self._damaged(number, f"it has the unknown type {kind}")
        first, content = self._pointers(page, head) + 2 * cells, content or 65536
        ranges = [(first, content)]
        place = content
        while free:
            if not place <= free <= self._usable - 4:
                raise self._damaged(number, "the list of its unused parts is wrong")
            following, length = struct.unpack_from(">HH", page, free)
            ranges.append((free + 4, free + length))
            place, free = free + length, following
        if not (first <= content <= self._usable and place <= self._usable):
            raise self._damaged(number, "its header is wrong")
        return ranges

    def _pointers(self, page: bytes, head: int) -> int:
        """Where the list of the places of rows begins in a page."""
        return head + (8 if page[head] in _LEAVES else 12)

    def _long_values(self, number: int, page: bytes) -> Iterator[tuple[int, int]]:
        """``(first page, bytes)`` of the rests of rows that are too long for their page."""
        head = HEADER if number == 1 else 0
        kind, _, cells = struct.unpack_from(">BHH", page, head)
        if kind == _TABLE:
            return
        most = self._usable - 35 if kind == _TABLE_LEAF else (self._usable - 12) * 64 // 255 - 23
        least = (self._usable - 12) * 32 // 255 - 23
        for place in struct.unpack_from(f">{cells}H", page, self._pointers(page, head)):
            at = place + 4 if kind == _INDEX else place
            length, at = _varint(page, at)
            if length <= most:
                continue
            if kind == _TABLE_LEAF:
                _, at = _varint(page, at)
            local = least + (length - least) % (self._usable - 4)
            local = local if local <= most else least
            yield int.from_bytes(page[at + local : at + local + 4]), length - local

    def _free_lists(self, number: int) -> Iterator[tuple[int, int]]:
        """``(page, number of free pages that it lists)``."""
        seen: set[int] = set()
        while number:
            if number in seen:
                raise self._damaged(number, "the list of free pages has a loop")
            seen.add(number)
            following, leaves = struct.unpack(">II", os.pread(self._file, 8, self._place(number)))
            yield number, min(leaves, self._usable // 4 - 2)
            number = following

    def _kind(self, number: int) -> tuple[int, int]:
        """The kind of a page, and the page that refers to it. ``(0, 0)`` for a page of the map."""
        if number == 1:
            return _ROOT, 0
        lock_page = _LOCK_BYTE // self.page_bytes + 1
        each = self._usable // 5 + 1
        map_page = (number - 2) // each * each + 2
        map_page += map_page == lock_page
        if number <= map_page or number == lock_page:
            return 0, 0
        kind, parent = struct.unpack_from(
            ">BI", self._map_page(map_page), 5 * (number - map_page - 1)
        )
        return kind, parent

    def _place(self, number: int) -> int:
        if not 0 < number <= self.count:
            raise self._damaged(number, "there is no such page")
        return (number - 1) * self.page_bytes

    def _page(self, number: int) -> bytes:
        return os.pread(self._file, self.page_bytes, self._place(number))

    def _damaged(self, number: int, reason: str) -> StoreDamaged:
        error = StoreDamaged(str(self._path), f"page {number}: {reason}")
        error.in_database = True
        return error


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """The number at a place of a page, and the place behind it."""
    value = 0
    for count in range(9):
        byte = page[at + count]
        if count == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    raise AssertionError
