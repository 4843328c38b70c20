"""A document that an agent rewrites as a whole, stored as lines. New lines are only appended.

An agent may rewrite a document of some megabytes for each message. The store keeps one line for
each message, and one for each generation of the document, which names the lines it consists of. A
message that stays as it was gets no second line. Each generation can be written back byte for byte.

Lines are JSON objects, numbered from 0:

- ``{"head": text}``: what is before the messages, up to the bracket that begins their list
- ``{"message": …}``: one message, as it is in the document. Each newline in it is written as a
  carriage return: in JSON both are white space
- ``{"text": text}``: a message that is not valid JSON, or that is from a document with carriage
  returns
- ``{"tail": text}``: what follows the messages
- ``{"back": true, "message": …}``: the document lost all messages after this one. Without
  ``message``: it lost all earlier messages
- ``{"generation": [kept, [[first, last], …]], "head": line, "tail": line, "gaps": …}``: a document
  that begins with the first ``kept`` messages of the generation before, and goes on with the
  messages in the lines ``first`` to ``last``. ``gaps`` is the text between the messages

If a document is cut off, as when the agent is killed while it writes, only its whole messages
become such lines. One more line holds the rest of the document. That line is *torn*: its last brace
and its newline are missing, so no reader takes it for a record.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any
from zlib import crc32

import msgspec

from session_memory.core.document_parts import Parts, parts_of

LONGEST = 48 * 1024 * 1024
"""The longest document that is read, in bytes."""

Mask = Callable[[bytes], bytes]

_MESSAGE = b'{"message":'
_GENERATION = b'{"generation":'
_BACK = b'{"back":true'
_NEWLINES = bytes.maketrans(b"\n", b"\r")
_AGAIN = bytes.maketrans(b"\r", b"\n")
_IDS = ("id", "messageId", "uuid", "ts")
_refuse_invalid = msgspec.json.Decoder(msgspec.Raw).decode


class DamagedDocument(ValueError):
    """The document cannot be put together from its stored lines."""


class DocumentLines:
    """The stored lines of one document.

    ``add`` returns the lines that a new version of the document needs.
    """

    def __init__(self, stored: bytes = b"", mask: Mask = bytes) -> None:
        """Read the ``stored`` lines of earlier versions.

        ``mask`` hides secrets in each new line.
        """
        self._mask = mask
        # The hash of each line, and the numbers of the lines that have this hash.
        self._digests: list[bytes] = []
        self._numbers: dict[bytes, list[int]] = {}
        self._generation: list[int] = []
        self._added: list[bytes] = []
        places: list[tuple[int, int]] = []
        begin = 0
        while end := stored.find(b"\n", begin) + 1:
            line = stored[begin : end - 1]
            places.append((begin, end - 1))
            self._note(line)
            if line.startswith(_GENERATION):
                self._generation = _next_generation(self._generation, json.loads(line), len(places))
            begin = end
        self._messages = [stored[slice(*places[number])] for number in self._generation]

    def add(self, document: bytes) -> bytes:
        """Return the lines to append to the stored ones, so that `document_in` gives
        ``document``."""
        self._added = []
        if not document and not self._digests:
            return b""
        plain = b"\r" not in document
        text = document.translate(_NEWLINES) if plain else document
        known = tuple(_plain_message(line) for line in self._messages) if plain else ()
        parts = parts_of(text, known if all(known) else ())
        fields = self._fields(document, text, parts, plain=plain)
        if parts.is_whole:
            fields |= {"size": len(document), "crc32": crc32(document)}
            self._line(_encoded(fields))
            return b"".join(line + b"\n" for line in self._added)
        rest = parts.messages[-1][1] if parts.messages else parts.head
        fields["torn"] = _as_text(document[rest:])
        torn = self._mask(_encoded(fields))[:-1]
        return b"".join(line + b"\n" for line in self._added) + torn

    def _fields(self, document: bytes, text: bytes, parts: Parts, *, plain: bool) -> dict[str, Any]:
        head = self._text_line("head", document[: parts.head])
        lines = [
            self._mask(_message_line(text[begin:end], plain=plain)) for begin, end in parts.messages
        ]
        kept = sum(1 for _ in _common(self._messages, lines))
        if parts.is_whole:
            self._go_back(lines, kept)
        used = Counter(self._digests[number] for number in self._generation[:kept])
        numbers = [self._message_number(line, used) for line in lines[kept:]]
        fields: dict[str, Any] = {"generation": [kept, _runs(numbers)], "head": head}
        if parts.is_whole:
            fields["tail"] = self._text_line("tail", document[parts.tail :])
        return fields | {"gaps": _gaps(document, parts)}

    def _text_line(self, name: str, data: bytes) -> int | None:
        """Return the number of the line that holds a head or a tail; None if ``data`` is empty."""
        if not data:
            return None
        line = self._mask(_encoded({name: _as_text(data)}))
        known = self._numbers.get(_digest(line))
        return known[0] if known else self._line(line)

    def _message_number(self, line: bytes, used: Counter[bytes]) -> int:
        """Return the number of the line that holds a message. A new message gets a new line.

        Two equal messages of one document get two lines.
        """
        digest = _digest(line)
        known, position = self._numbers.get(digest, []), used[digest]
        used[digest] += 1
        return known[position] if position < len(known) else self._line(line)

    def _line(self, line: bytes) -> int:
        self._added.append(line)
        return self._note(line)

    def _note(self, line: bytes) -> int:
        number, digest = len(self._digests), _digest(line)
        self._digests.append(digest)
        self._numbers.setdefault(digest, []).append(number)
        return number

    def _go_back(self, lines: list[bytes], kept: int) -> None:
        """Add a ``back`` line if the document lost the last messages of its last generation.

        A changed message is not lost: it keeps its id. Earlier messages are not lost if a later
        one is still there: a summary replaced them.
        """
        lost, new = self._messages[kept:], lines[kept:]
        if not lost or {_id_in(line) for line in lost} <= {_id_in(line) for line in new}:
            return
        if not set(lost).isdisjoint(new):
            return
        self._line(_BACK + b"," + lines[kept - 1][1:] if kept else _BACK + b"}")


def document_in(lines: Iterable[bytes], *, masked: bool = False) -> bytes:
    """Put the newest version of a document together from its lines.

    Raises `DamagedDocument` if the lines do not fit together, or if the result has another size or
    checksum than the agent's document. ``masked``: secrets were masked in the stored lines, so size
    and checksum are not compared.
    """
    stored = list(lines)
    torn = stored[-1] if stored and not stored[-1].endswith(b"}") else b""
    numbers: list[int] = []
    fields: dict[str, Any] = {}
    try:
        for number, line in enumerate(stored):
            if line.startswith(_GENERATION):
                fields = json.loads(line if line is not torn else line + b"}")
                numbers = _next_generation(numbers, fields, number)
        document = _assembled(stored, numbers, fields) if fields else b""
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedDocument(f"its lines do not fit together: {error}") from error
    if stored and not fields:
        raise DamagedDocument("it has no generation")
    is_checked = "size" in fields and not masked
    if is_checked and (len(document), crc32(document)) != (fields["size"], fields["crc32"]):
        raise DamagedDocument("its lines give another document")
    return document


def _assembled(stored: list[bytes], numbers: list[int], fields: dict[str, Any]) -> bytes:
    first, most, last, odd = fields["gaps"]
    pieces = [_text_at(stored, fields["head"], "head")]
    for position, number in enumerate(numbers):
        gap = odd.get(str(position), most) if position else first
        pieces += (_as_bytes(gap), _message_bytes(stored[number]))
    if "torn" in fields:
        return b"".join((*pieces, _as_bytes(fields["torn"])))
    return b"".join((*pieces, _as_bytes(last), _text_at(stored, fields["tail"], "tail")))


def _next_generation(before: list[int], fields: dict[str, Any], end: int) -> list[int]:
    """Return the numbers of the lines that hold the messages of a generation, in order.

    ``before``: the numbers of the generation before. Every number must be below ``end``.
    """
    kept, runs = fields["generation"]
    numbers = before[:kept]
    for first, last in runs:
        if not 0 <= first <= last < end:
            raise DamagedDocument(f"it names line {last} of {end}")
        numbers += range(first, last + 1)
    return numbers


def _message_line(text: bytes, *, plain: bool) -> bytes:
    if plain:
        try:
            _refuse_invalid(text)
            return _MESSAGE + text + b"}"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = text.translate(_AGAIN)
    return _encoded({"text": _as_text(text)})


def _plain_message(line: bytes) -> bytes:
    """Return the message of a ``message`` line, with its carriage returns. Empty for other lines
    and for a message that is neither an object nor a list."""
    message = line[len(_MESSAGE) : -1] if line.startswith(_MESSAGE) else b""
    return message if message[:1] in (b"{", b"[") else b""


def _message_bytes(line: bytes) -> bytes:
    if line.startswith(_MESSAGE):
        return line[len(_MESSAGE) : -1].translate(_AGAIN)
    return _as_bytes(json.loads(line)["text"])


def _text_at(stored: list[bytes], number: int | None, name: str) -> bytes:
    return b"" if number is None else _as_bytes(json.loads(stored[number])[name])


def _gaps(document: bytes, parts: Parts) -> list[Any]:
    """Return the texts between the messages as four values: before the first message, before most
    other messages, after the last message, and the exceptions. An exception is a text before a
    message that differs from most; its key is the position of that message."""
    places = parts.messages
    if not places:
        return ["", "", _as_text(document[parts.head : parts.tail]) if parts.is_whole else "", {}]
    between = [_as_text(document[one[1] : other[0]]) for one, other in pairwise(places)]
    most = Counter(between).most_common(1)[0][0] if between else ""
    odd = {str(number): gap for number, gap in enumerate(between, start=1) if gap != most}
    last = _as_text(document[places[-1][1] : parts.tail]) if parts.is_whole else ""
    return [_as_text(document[parts.head : places[0][0]]), most, last, odd]


def _runs(numbers: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _common(one: list[bytes], other: list[bytes]) -> Iterator[bytes]:
    for first, second in zip(one, other, strict=False):
        if first != second:
            return
        yield first


def _id_in(line: bytes) -> str:
    try:
        fields = json.loads(line)
        message = fields["message"] if "message" in fields else json.loads(fields["text"])
        return json.dumps(next(message[name] for name in _IDS if name in message))
    except (ValueError, TypeError, StopIteration, KeyError, RecursionError):
        return line.decode(errors="replace")


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _as_text(data: bytes) -> str:
    """Bytes as a text that JSON can hold. A byte that is not UTF-8 becomes a lone surrogate."""
    return data.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
