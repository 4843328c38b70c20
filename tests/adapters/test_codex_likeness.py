"""The sketch of a message, by which its second copy is recognized. It is part of stored cursors."""

from zlib import crc32

import pytest

from session_memory.adapters.codex.likeness import sketch_of


@pytest.mark.parametrize(
    "text",
    [
        "one two two three",
        "  tabs\tand\nlines\x0b and \x0c more ",
        "separated\x1cby\x1dcontrol\x1echaracters\x1fhere",
        "außen\u2003und\xa0innen",
        "half a pair \ud83d here",
        "",
    ],
)
def test_the_sketch_has_the_smallest_hashes_of_the_words_of_the_text(text: str) -> None:
    hashes = {crc32(word.encode("utf-8", "surrogatepass")) % 0xFFFFFF for word in text.split()}
    assert sketch_of(text) == ",".join(map(str, sorted(hashes)[:16]))
