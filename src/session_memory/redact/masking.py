"""Texts with their secrets masked. A mask says what kind of secret it hides, and no more.

Masking a second time changes nothing, text without a secret is given back as it is, and a line of
JSON stays one: no quote and no escape is ever part of what is replaced.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import overload

from session_memory.redact.detection import MASK, Secret, find_secrets

# A mask may free what stood pressed against the secret; so few rounds always were enough.
_MOST_ROUNDS = 8
_MOST_NUMBERED = 100_000

Replacement = Callable[[str, str], str]
"""What stands in for a secret of some kind."""


def secrets(text: str | bytes) -> Iterator[Secret]:
    """Where the secrets of ``text`` are, in order: characters of a text, bytes of bytes."""
    if isinstance(text, bytes):
        yield from find_secrets(text.decode("latin-1"))
    elif text.isascii():
        yield from find_secrets(text)
    else:
        data = text.encode("utf-8", "surrogatepass")
        characters = bytes_seen = 0
        for secret in find_secrets(data.decode("latin-1")):
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
    """``text`` with ``[redacted:kind]`` for every secret in it."""
    return _replaced(text, _plain)


def hide(data: bytes) -> bytes:
    """``data`` with every secret masked by as many bytes as it had: all places stay as they are."""
    plain = data.decode("latin-1")
    masked = _until_none(plain, _as_long)
    return data if masked is plain else masked.encode("latin-1")


def hide_lines(data: bytes) -> bytes:
    """The same, line by line: what a line becomes does not depend on the lines around it."""
    hidden = hide(data)
    if hidden == data or hidden.count(b"\n") == data.count(b"\n"):
        return hidden
    return b"\n".join(hide(line) for line in data.split(b"\n"))


class Masker:
    """Masks the texts of one export; equal secrets get the same number, so that a reader can tell
    them apart. The numbers count first appearances: nothing of a secret is in them."""

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
        """How many secrets of each kind were masked, repeated ones included."""
        return dict(sorted(self._counts.items()))

    def _numbered(self, kind: str, secret: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        key = blake2b(secret.encode("latin-1"), digest_size=16).digest()
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
        masked = _until_none(plain, replacement)
        return text if masked is plain else masked.encode("latin-1")
    if text.isascii():
        return _until_none(text, replacement)
    plain = text.encode("utf-8", "surrogatepass").decode("latin-1")
    masked = _until_none(plain, replacement)
    if masked is plain:
        return text
    return masked.encode("latin-1").decode("utf-8", "surrogatepass")


def _until_none(text: str, replacement: Replacement) -> str:
    for _ in range(_MOST_ROUNDS):
        spans = find_secrets(text)
        if not spans:
            break
        parts: list[str] = []
        last = 0
        for span in spans:
            parts += (text[last : span.start], replacement(span.kind, text[span.start : span.end]))
            last = span.end
        text = "".join((*parts, text[last:]))
    return text
