"""Read logs of JSON lines that only grow. All adapters of such logs use this reader.

A record is one JSON object, and nearly always one line. There are three exceptions in real logs:

- The last line has no newline. If it is a whole object, it is a record: a third of the published
  logs end so. Otherwise the agent is still writing it, and it is left out.
- Several objects are on one line, because two processes wrote at once. Each is a record.
- A line begins with objects and continues with something else. The objects are records, and the
  rest is a problem.

An object ends at its last brace, whatever follows. So a record that was read at the end of a
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
# A line with more objects is an attack: each takes a hundred times its size in memory.
_MOST_ON_A_LINE = 1000
# A longer object without a newline counts as whole only if it is strict JSON.
_LONGEST_LENIENT = 2 * 1024 * 1024
_BLANK = b" \t\r\n"
_texts_and_braces = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}]', re.DOTALL).finditer
_refuse_invalid = msgspec.json.Decoder(msgspec.Raw).decode

Line = tuple[int, int, bytes | None]
"""The offset of a line, its length without its end, and its bytes with a newline."""

SHARED_LINE = "several records on one line"

Translate = Callable[[int, int, bytes | None], Record]


def records(stream: BinaryIO, offset: int, translate: Translate) -> Iterator[tuple[int, Record]]:
    """Translate every record from ``offset`` on. Yield for each the offset of its end, and the
    record.

    ``translate`` gets the offset, the length and the bytes of a line; None in place of the bytes if
    the line is too long to hold in memory. If ``translate`` returns a problem, the line is split
    into the objects it begins with, and each object is translated.
    """
    end = -1
    for start, length, line in lines(stream, offset):
        record = translate(start, length, line)
        parts = [] if record.problem is None or line is None else _parts(start, line)
        if len(parts) < 2:
            # `lines` yields the objects of a last line without a newline one by one. An object that
            # begins where the object before it ended is on the same line.
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
    """Yield every line from ``offset`` on that is not blank. Of a last line without a newline,
    yield the whole objects that it begins with.

    A line over ``MAX_LINE`` is yielded as None with its length: it is never held in memory.
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
    """Yield what `lines` yields, but split a line that is no JSON into the objects it begins with
    and the rest."""
    for start, length, line in lines(stream, offset):
        if line is None or _is_valid(line):
            yield start, length, line
        else:
            yield from _parts(start, line)


def _skip_to_newline(stream: BinaryIO) -> int:
    """Skip the rest of a line and return its size; a huge negative number if the file ends
    without a newline."""
    skipped = 0
    while piece := stream.readline(_PIECE):
        skipped += len(piece)
        if piece[-1] == 10:
            return skipped
    return -(1 << 62)


def _parts(offset: int, line: bytes) -> list[Line]:
    """Return the objects that a line begins with, then its rest unless that is blank."""
    parts, end = list(_whole_objects(offset, line)), end_of_objects(line)
    rest = line[end:].rstrip(_BLANK)
    if rest:
        parts.append((offset + end, len(rest), rest + b"\n"))
    return parts


def _whole_objects(offset: int, line: bytes) -> Iterator[Line]:
    """Yield the JSON objects that a line begins with; stop at anything else."""
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
    """Return where the last of the objects ends that ``line`` begins with; 0 if it begins with
    none."""
    objects_of_line = list(_whole_objects(0, line))
    return objects_of_line[-1][0] + objects_of_line[-1][1] if objects_of_line else 0


def _is_valid(text: bytes) -> bool:
    """Whether a text is strict JSON. The check builds no values, so the text may be long."""
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
    """Decode JSON, even with what a strict decoder refuses: lone surrogates, NaN, huge integers.

    Raises ``ValueError`` for text that is no JSON, and for JSON that is nested too deeply.
    """
    try:
        # A power cut may leave zero bytes in front of the next line.
        return json.loads(line.lstrip(b"\0"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from None


class LineObject(dict[str, Any]):
    """A JSON object with the number of its line. Lines that are no objects count too, and each
    part that `split_lines` makes of a line counts as a line."""

    line = 0


def objects(stream: BinaryIO) -> Iterator[LineObject]:
    """Yield every JSON object of a log with the number of its line. Other lines are skipped."""
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
