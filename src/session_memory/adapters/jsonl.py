"""The shared reader of append-only JSON lines.

A line is whole when it ends in a newline. One without is still being written and is left out.
Blank lines are skipped.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

MAX_LINE = 64 * 1024 * 1024
_PIECE = 1024 * 1024


def lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield ``(offset, length, line)`` for every whole line from ``offset`` on.

    A line over ``MAX_LINE`` comes as None with its length: it is never held in memory as a whole.
    """
    while True:
        line = stream.readline(MAX_LINE)
        if not line:
            return
        length = len(line)
        if line[-1] == 10:
            yield offset, length, line
        elif length < MAX_LINE:
            return
        else:
            length += _skip_to_newline(stream)
            if length < 0:
                return
            yield offset, length, None
        offset += length


def _skip_to_newline(stream: BinaryIO) -> int:
    """The number of bytes up to the end of the line; hugely negative when the file ends first."""
    skipped = 0
    while piece := stream.readline(_PIECE):
        skipped += len(piece)
        if piece[-1] == 10:
            return skipped
    return -(1 << 62)


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


def objects(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object. Other lines are skipped."""
    with stream:
        for _, _, line in lines(stream, 0):
            if line is None or line.isspace():
                continue
            try:
                value = decode_anything(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value
