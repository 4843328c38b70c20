"""The words of an FTS5 index, read from its pages.

SQLite's own list of words counts the texts of every word, which reads the whole index. The pages
have each word and then the numbers of its texts. Here only the words are read. Words whose texts
were all deleted may be among them.

A leaf page begins with two numbers of two bytes; the second is the place of the page's footer. The
footer has the distance of each word to the word before it. A word is stored as the number of its
first bytes that are those of the word before it, the number of the other bytes, and these bytes.
The first word of a page is stored whole. Numbers are varints: seven bits a byte, all bytes except
the last have the highest bit. Each word begins with the number of its index, which is ``0``.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate

# Rows up to 10 describe the index. A page that only lists places in a long list of texts has bit
# 36, and a list of deleted texts has a segment number from 65536 on.
LEAVES = "select block from {table}_data where id > 10 and (id >> 36) & 1 = 0 and id < 65536 << 37"
_SHORT = 0x80


def words_in_pages(pages: Iterable[bytes]) -> set[bytes]:
    """All words in these leaf pages, each with a ``0`` before it.

    Raises `IndexError` if a page is damaged.
    """
    found: set[bytes] = set()
    for page in pages:
        footer = page[page[2] << 8 | page[3] :]
        if not footer:
            continue
        first, *places = accumulate(footer if footer.isascii() else _varints(footer))
        size, start = _varint(page, first)
        word = page[start : start + size]
        found.add(word)
        for place in places:
            same, size, start = page[place], page[place + 1], place + 2
            if same >= _SHORT or size >= _SHORT:
                same, start = _varint(page, place)
                size, start = _varint(page, start)
            word = word[:same] + page[start : start + size]
            found.add(word)
    return found


def _varint(page: bytes, place: int) -> tuple[int, int]:
    """Return the varint at ``place`` of a page, and the place after it."""
    value = 0
    while True:
        byte = page[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < _SHORT:
            return value, place


def _varints(data: bytes) -> Iterator[int]:
    value = 0
    for byte in data:
        if byte < _SHORT:
            yield value << 7 | byte
            value = 0
        else:
            value = value << 7 | byte & 0x7F
