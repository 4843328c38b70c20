"""Decide whether a text with the shape of a secret is one: randomness, checksum, placeholders."""

import re
from math import log2
from zlib import crc32

from session_memory.core.lazy_patterns import lazy_pattern

# Texts that manuals, templates and masks use in place of a secret. Searching for each of them is
# many times faster than one pattern for all.
_PLACEHOLDERS = (
    *("example", "placeholder", "redacted", "changeme", "change-me", "change_me", "dummy"),
    *("your-", "your_", "insert-", "insert_", "foobar", "foo-bar", "xxxxx", "***", "..."),
    *("0000000000", "0123456789", "1234567890", "abcdefgh"),
)
_RARE_PLACEHOLDER = lazy_pattern(r"[-_]here\b|not[-_]?a[-_]?real|\{[^{}\s]*\}", re.ASCII)
# References to a variable: $TOKEN, ${TOKEN}, {{ token }}, %TOKEN%, <token>, #{token}.
_REFERENCE = lazy_pattern(r"[$%#@]?[{<\[(]|\$|%\w+%|&lt;", re.ASCII)
_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


# Only this many characters of a value are examined: some rules match thousands.
_EXAMINED = 256


_COUNTS_TIMES_BITS = (0.0, *(count * log2(count) for count in range(1, _EXAMINED + 1)))


def entropy(text: str) -> float:
    """Bits per character: at most 4 for hexadecimal digits, about 4.5 for a random key."""
    text = text[:_EXAMINED]
    size, signs = len(text), set(text)
    if len(signs) == size:
        return log2(size) if size else 0.0
    counts = map(text.count, signs)
    return log2(size) - sum(map(_COUNTS_TIMES_BITS.__getitem__, counts)) / size


def is_placeholder(value: str) -> bool:
    lowered = value[:_EXAMINED].lower()
    for word in _PLACEHOLDERS:
        if word in lowered:
            return True
    if _REFERENCE.match(value):
        return True
    is_possible = "{" in lowered or "here" in lowered or "real" in lowered
    return is_possible and _RARE_PLACEHOLDER.search(lowered) is not None


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def ends_in_checksum(token: str) -> bool:
    """Whether the last six base-62 digits are the CRC-32 of the random part (GitHub, npm)."""
    random, checksum = token[-36:-6], token[-6:]
    return checksum == _base62(crc32(random.encode("latin-1"))).rjust(6, "0")


def _base62(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits
