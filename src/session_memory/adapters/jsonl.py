"""The shared reader of append-only JSON lines.

A record is one JSON object. Nearly always it is a line. Three things are different in real logs:

- The last line has no newline. If it is a whole object, it is a record: a third of the published
  logs end so. Otherwise it is still being written, and is left out.
- Two objects are on one line, because two processes wrote at once. Each is a record.
- A line begins with objects and goes on with something else. The objects are records.

An object ends at its last brace, whatever follows. So a record that was taken at the end of a
file stays the same when the file grows.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import msgspec

from session_memory.adapters.base import Record

MAX_LINE = 64 * 1024 * 1024
_PIECE = 1024 * 1024
# More objects than this on one line are an attack: each takes a hundred times its size in memory.
_MOST_ON_A_LINE = 1000
# A longer object must be strict JSON to be taken before its line ends.
_LONGEST_LENIENT = 2 * 1024 * 1024
_BLANK = b" \t\r\n"
_texts_and_braces = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}]', re.DOTALL).finditer
_refuse_invalid = msgspec.json.Decoder(msgspec.Raw).decode

Line = tuple[int, int, bytes | None]
"""The offset of a line, its length without its end, and its bytes with a newline."""

SHARED_LINE = "several records on one line"

Translate = Callable[[int, int, bytes | None], Record]


def records(stream: BinaryIO, offset: int, translate: Translate) -> Iterator[tuple[int, Record]]:
    """Translate every record from ``offset`` on. Yields where it ends, and the record.

    ``translate`` gets the offset, the length and the bytes of a line, or None for a line that is
    too long to hold. A line that it makes a problem of is split into the objects it begins with.
    """
    end = -1
    for start, length, line in lines(stream, offset):
        record = translate(start, length, line)
        parts = [] if record.problem is None or line is None else _parts(start, line)
        if len(parts) < 2:
            # Objects of a torn last line come one by one, without a newline between them.
            if start == end:
                record.remark = SHARED_LINE
            end = start + length
            yield end, record
            continue
        for place, size, part in parts:
            record = translate(place, size, part)
            if place > start:
                record.remark = SHARED_LINE
            end = place + size
            yield end, record


def lines(stream: BinaryIO, offset: int) -> Iterator[Line]:
    """Every line from ``offset`` on that is not blank, and the objects of a torn last line.

    A line over ``MAX_LINE`` comes as None with its length: it is never held in memory.
    """
    while True:
        line = stream.readline(MAX_LINE)
        if not line:
            return
        length = len(line)
        if line[-1] == 10:
            if length > 1 and not line[-2:-1].isspace():
                yield offset, length - 1, line
            elif kept := line.rstrip(_BLANK):
                yield offset, len(kept), kept + b"\n"
        elif length < MAX_LINE:
            yield from _whole_objects(offset, line)
            return
        else:
            length += _skip_to_newline(stream)
            if length < 0:
                return
            yield offset, length - 1, None
        offset += length


def split_lines(stream: BinaryIO, offset: int) -> Iterator[Line]:
    """As `lines`, but a line that is no JSON is split into the objects it begins with."""
    for start, length, line in lines(stream, offset):
        if line is None or _is_valid(line):
            yield start, length, line
        else:
            yield from _parts(start, line)


def _skip_to_newline(stream: BinaryIO) -> int:
    """The number of bytes up to the end of the line; hugely negative when the file ends first."""
    skipped = 0
    while piece := stream.readline(_PIECE):
        skipped += len(piece)
        if piece[-1] == 10:
            return skipped
    return -(1 << 62)


def _parts(offset: int, line: bytes) -> list[Line]:
    """The objects that a line begins with, then its rest unless that is blank."""
    parts, end = list(_whole_objects(offset, line)), end_of_objects(line)
    rest = line[end:].rstrip(_BLANK)
    if rest:
        parts.append((offset + end, len(rest), rest + b"\n"))
    return parts


def _whole_objects(offset: int, line: bytes) -> Iterator[Line]:
    """The JSON objects that a line begins with, up to the first thing that is none."""
    start = depth = count = 0
    for token in _texts_and_braces(line):
        brace = token[0]
        if brace == b"{":
            depth += 1
        elif brace == b"}":
            depth -= 1
            if depth > 0:
                continue
            found, count = line[start : token.end()], count + 1
            if count > _MOST_ON_A_LINE or not is_object(found):
                return
            yield offset + start, len(found), found + b"\n"
            start, depth = token.end(), 0


def end_of_objects(line: bytes) -> int:
    """Where the objects end that a torn last line begins with; 0 if it begins with none."""
    objects_of_line = list(_whole_objects(0, line))
    return objects_of_line[-1][0] + objects_of_line[-1][1] if objects_of_line else 0


def _is_valid(text: bytes) -> bool:
    """Whether a text is strict JSON. Nothing is built from it, so it may be long."""
    try:
        _refuse_invalid(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def is_object(text: bytes) -> bool:
    """Whether a text is one whole JSON object."""
    if text.lstrip(b" \t\r\0")[:1] != b"{":
        return False
    if _is_valid(text):
        return True
    try:
        return len(text) <= _LONGEST_LENIENT and isinstance(decode_anything(text), dict)
    except ValueError:
        return False


def decode_anything(line: bytes) -> Any:
    """Decode what a strict decoder refuses: lone surrogates, NaN, huge integers.

    Raises ``ValueError`` for what is no JSON, and for JSON that is nested too deeply.
    """
    try:
        # A power cut may leave zero bytes in front of the next line.
        return json.loads(line.lstrip(b"\0"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from None


class LineObject(dict[str, Any]):
    """A JSON object with the number of its line. Lines that are no objects count too."""

    line = 0


def objects(stream: BinaryIO) -> Iterator[LineObject]:
    """Every line that is a JSON object. Other lines are skipped."""
    with stream:
        for number, (_, _, line) in enumerate(split_lines(stream, 0)):
            if line is None:
                continue
            try:
                value = decode_anything(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found = LineObject(value)
                found.line = number
                yield found
