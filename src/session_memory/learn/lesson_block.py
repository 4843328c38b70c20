"""Insert, replace and remove the block of lessons in the bytes of a user's file.

The block stands between two marker lines. Only the block, and blank lines added around it, are
changed. The block uses the file's own line ends, and a file without a final line end stays so.
"""

import re

import msgspec

from session_memory.core.lesson_errors import BrokenMarkers

BEGIN = b"<!-- BEGIN session-memory lessons (undo with: session-memory lessons revert) -->"
END = b"<!-- END session-memory lessons -->"
_ENDS = (b"\n", b"\r")
_MARKER = re.compile(rb"^[ \t]*<!-- (BEGIN|END) session-memory lessons\b[^\r\n]*", re.MULTILINE)


class Span(msgspec.Struct, frozen=True):
    start: int
    end: int


class FileWithBlock(msgspec.Struct, frozen=True):
    """A file's new content. ``lead`` and ``tail`` are the line ends added around the block."""

    content: bytes
    lead: bytes = b""
    tail: bytes = b""


def find_block(content: bytes, path: str) -> Span | None:
    """Return where the block with its markers is, or None without a block.

    Raises `BrokenMarkers` unless the markers are exactly one BEGIN and one END.
    """
    found = list(_MARKER.finditer(content))
    if not found:
        return None
    if [match[1] for match in found] != [b"BEGIN", b"END"]:
        words = ", ".join(match[1].decode() for match in found[:6])
        raise BrokenMarkers(path, f"its markers are {words}, not one BEGIN and one END")
    return Span(found[0].start(), found[1].end())


def block_in(content: bytes, path: str) -> bytes | None:
    span = find_block(content, path)
    return None if span is None else content[span.start : span.end]


def insert_block(content: bytes, block: bytes, path: str) -> FileWithBlock:
    """Return ``content`` with ``block`` instead of its old block, or at the end if it has none."""
    span = find_block(content, path)
    if span is not None:
        # Use the old block's line ends, because a file may mix several kinds.
        end = line_end(content[span.start : span.end])
        return FileWithBlock(
            content[: span.start] + block.replace(b"\n", end) + content[span.end :]
        )
    end = line_end(content)
    block = block.replace(b"\n", end)
    if not content:
        return FileWithBlock(block + end, b"", end)
    if not content.endswith((b"\n", b"\r")):
        return FileWithBlock(content + end * 2 + block, end * 2, b"")
    # The block must start on a new line, and a lone CR does not end a line for the markers.
    lead = end if content.endswith(b"\n") else end * 2
    return FileWithBlock(content + lead + block + end, lead, end)


def remove_block(
    content: bytes, path: str, *, lead: bytes, tail: bytes, before: bytes | None
) -> bytes:
    """Return ``content`` without its block and without ``lead`` and ``tail`` around it.

    With ``before`` (an earlier block), the block is replaced by that instead.
    """
    span = find_block(content, path)
    if span is None:
        return content if before is None else insert_block(content, before, path).content
    head, rest = content[: span.start], content[span.end :]
    if before is not None:
        return head + before + rest
    head, rest = head.removesuffix(lead), rest.removeprefix(tail)
    # The user may have deleted the blank line: then keep the lines before and after separate.
    is_joined = head and rest and not head.endswith(_ENDS) and not rest.startswith(_ENDS)
    return head + (line_end(content) if is_joined else b"") + rest


def line_end(content: bytes) -> bytes:
    """Return the line end of the file's first line: CRLF or LF."""
    first = content.find(b"\n")
    return b"\r\n" if first > 0 and content[first - 1 : first] == b"\r" else b"\n"
