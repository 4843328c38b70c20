"""The shared reader of append-only JSON lines.

A line that ends in a newline is whole, for better or worse; one without is still being written
and waits. Blank lines are nothing at all.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

MAX_LINE = 64 * 1024 * 1024
_PIECE = 1024 * 1024


def lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield ``(offset, length, line)`` for every whole line from ``offset`` on.

    A line over ``MAX_LINE`` comes as ``None``: its length is known and its bytes were never held
    in memory together.
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
    """Bytes up to and with the next newline; hugely negative when the file ends first."""
    skipped = 0
    while piece := stream.readline(_PIECE):
        skipped += len(piece)
        if piece[-1] == 10:
            return skipped
    return -(1 << 62)


def decode_anything(line: bytes) -> Any:
    """Decode what a strict decoder refuses: lone surrogates, NaN, huge integers.

    Raises ``ValueError`` for what is no JSON at all, hostile nesting included.
    """
    try:
        # A power cut may leave zeros where a line should be; the next line then follows them.
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
