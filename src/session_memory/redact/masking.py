"""Mask the secrets in texts. A mask names only the kind of the secret.

Masking twice gives the same result, and text without a secret is returned unchanged. A line of JSON
stays valid, because quotes and escapes are never replaced.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import groupby
from typing import overload

from session_memory.redact.decoding import plain_form
from session_memory.redact.detection import MASK, Secret
from session_memory.redact.dumps import MOST, SHORTEST, found_or_dump
from session_memory.redact.search import find_at_most, ranges_around

# Replacing a secret may uncover another one beside it. This many rounds were always enough.
_MOST_ROUNDS = 8
_MOST_NUMBERED = 100_000

Replacement = Callable[[str, str], str]
"""``(kind, secret)`` → the text that replaces the secret."""


def secrets(text: str | bytes) -> Iterator[Secret]:
    """Yield the secrets of ``text`` in order. Positions count the characters of a str, or bytes."""
    if isinstance(text, bytes):
        yield from found_or_dump(text.decode("latin-1"))
    elif text.isascii():
        yield from found_or_dump(text)
    else:
        data = text.encode("utf-8", "surrogatepass")
        characters = bytes_seen = 0
        for secret in found_or_dump(data.decode("latin-1")):
            characters += _characters(data[bytes_seen : secret.start])
            start = characters
            characters += _characters(data[secret.start : secret.end])
            bytes_seen = secret.end
            yield Secret(start, characters, secret.kind, secret.genuine)


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogatepass"))


@overload
def mask(text: str) -> str: ...
@overload
def mask(text: bytes) -> bytes: ...
def mask(text: str | bytes) -> str | bytes:
    """Return ``text`` with ``[redacted:kind]`` in place of every secret."""
    return _replaced(text, _plain)


def hide(data: bytes) -> bytes:
    """``data`` with every secret replaced by a mask of the same length, so offsets stay valid."""
    plain = data.decode("latin-1")
    masked = _mask_all(plain, _as_long)
    return data if masked is plain else masked.encode("latin-1")


def hide_lines(data: bytes) -> bytes:
    """Like `hide`, but the mask of a line never depends on the other lines."""
    plain = data.decode("latin-1")
    found = find_at_most(plain, MOST // 2, lines_apart=True)
    if found is None:
        groups = groupby(data.split(b"\n"), lambda line: len(line) >= SHORTEST)
        return b"\n".join(_hide_group(list(lines), may_be_dumps) for may_be_dumps, lines in groups)
    masked = _mask_all(plain, _as_long, found, lines_apart=True)
    if masked is plain:
        return data
    hidden = masked.encode("latin-1")
    if hidden.count(b"\n") == data.count(b"\n"):
        return hidden
    return b"\n".join(hide(line) for line in data.split(b"\n"))


def _hide_group(lines: list[bytes], may_be_dumps: bool) -> bytes:
    if may_be_dumps:
        return b"\n".join(map(hide, lines))
    together = b"\n".join(lines)
    plain = together.decode("latin-1")
    found = find_at_most(plain, None, lines_apart=True)
    hidden = _mask_all(plain, _as_long, found, lines_apart=True).encode("latin-1")
    if hidden.count(b"\n") == together.count(b"\n"):
        return hidden
    return b"\n".join(map(hide, lines))


class Masker:
    """Masks the texts of one export. Equal secrets get the same number.

    Numbers are given in order of first appearance, so they reveal nothing about a secret.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._counts: dict[str, int] = {}

    @overload
    def mask(self, text: str) -> str: ...
    @overload
    def mask(self, text: bytes) -> bytes: ...
    def mask(self, text: str | bytes) -> str | bytes:
        return _replaced(text, self._numbered)

    @property
    def counts(self) -> dict[str, int]:
        """Kind → how many secrets were masked, counting repeated ones."""
        return dict(sorted(self._counts.items()))

    def _numbered(self, kind: str, secret: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        key = blake2b(plain_form(secret).encode("latin-1"), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= _MOST_NUMBERED:
                return _plain(kind, secret)
            number = self._numbers[key] = len(self._numbers) + 1
        return f"{MASK}:{kind}#{number}]"


def _plain(kind: str, _secret: str) -> str:
    return f"{MASK}:{kind}]"


def _as_long(kind: str, secret: str) -> str:
    size = len(secret)
    fitting = next((text for text in (_plain(kind, ""), f"{MASK}]") if len(text) <= size), "")
    return fitting.ljust(size, "*")


def _replaced(text: str | bytes, replacement: Replacement) -> str | bytes:
    if isinstance(text, bytes):
        plain = text.decode("latin-1")
        masked = _mask_all(plain, replacement)
        return text if masked is plain else masked.encode("latin-1")
    if text.isascii():
        return _mask_all(text, replacement)
    plain = text.encode("utf-8", "surrogatepass").decode("latin-1")
    masked = _mask_all(plain, replacement)
    if masked is plain:
        return text
    return masked.encode("latin-1").decode("utf-8", "surrogatepass")


def _mask_all(
    text: str,
    replacement: Replacement,
    found: list[Secret] | None = None,
    *,
    lines_apart: bool = False,
) -> str:
    """Return the text with all secrets replaced. ``found`` are its secrets, if they are known.

    Replacing a secret may uncover another one near it, so the text around each mask is searched
    again.
    """
    spans = found_or_dump(text) if found is None else found
    for _ in range(_MOST_ROUNDS):
        if not spans:
            break
        parts: list[str] = []
        masks: list[int] = []
        last = size = 0
        for span in spans:
            instead = replacement(span.kind, text[span.start : span.end])
            parts += (text[last : span.start], instead)
            masks.append(size := size + span.start - last)
            size += len(instead)
            last = span.end
        text = "".join((*parts, text[last:]))
        spans = [
            span
            for window in ranges_around(text, masks)
            for span in _within(text, *window, lines_apart)
        ]
    return text


def _within(text: str, start: int, end: int, lines_apart: bool) -> list[Secret]:
    """The secrets of a part of a text. Those at its edges may be longer and are left out."""
    found = find_at_most(text[start:end], None, lines_apart=lines_apart) or []
    return [
        Secret(start + one.start, start + one.end, one.kind, one.genuine)
        for one in found
        if (one.start or not start) and (start + one.end < end or end == len(text))
    ]
