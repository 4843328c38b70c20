"""The block of lessons in a file of the user's: put in, replaced, taken out, to the byte.

Pure functions over bytes. Only what stands between the markers is ours; line ends are those of
the file, and a file without a line end at its end stays without.
"""

import re

import msgspec

from session_memory.core.lesson_errors import BrokenMarkers

BEGIN = b"<!-- BEGIN session-memory lessons (undo with: session-memory revert) -->"
END = b"<!-- END session-memory lessons -->"
_ENDS = (b"\n", b"\r")
_MARKER = re.compile(rb"^[ \t]*<!-- (BEGIN|END) session-memory lessons\b[^\r\n]*", re.MULTILINE)


class Span(msgspec.Struct, frozen=True):
    start: int
    end: int


class Put(msgspec.Struct, frozen=True):
    """A file with its block. ``lead`` and ``tail`` are the bytes that were added around it, to
    set it off from what was there."""

    content: bytes
    lead: bytes = b""
    tail: bytes = b""


def find(content: bytes, path: str) -> Span | None:
    """Where the block stands, from its first marker to the end of its last; None without one."""
    found = list(_MARKER.finditer(content))
    if not found:
        return None
    if [match[1] for match in found] != [b"BEGIN", b"END"]:
        words = ", ".join(match[1].decode() for match in found[:6])
        raise BrokenMarkers(path, f"its markers are {words}, not one BEGIN and one END")
    return Span(found[0].start(), found[1].end())


def block_of(content: bytes, path: str) -> bytes | None:
    span = find(content, path)
    return None if span is None else content[span.start : span.end]


def put(content: bytes, block: bytes, path: str) -> Put:
    """``content`` with ``block`` in the place of the one it has, else at its end."""
    span = find(content, path)
    if span is not None:
        # As the block before it had them: its file may have line ends of several kinds.
        end = line_end(content[span.start : span.end])
        return Put(content[: span.start] + block.replace(b"\n", end) + content[span.end :])
    end = line_end(content)
    block = block.replace(b"\n", end)
    if not content:
        return Put(block + end, b"", end)
    if not content.endswith((b"\n", b"\r")):
        return Put(content + end * 2 + block, end * 2, b"")
    # A block begins on a line of its own, and a lone CR ends none for the markers.
    lead = end if content.endswith(b"\n") else end * 2
    return Put(content + lead + block + end, lead, end)


def take_out(content: bytes, path: str, *, lead: bytes, tail: bytes, before: bytes | None) -> bytes:
    """``content`` with ``before`` in the place of its block, or without one; what was added
    around the block goes with it. Everything else stays."""
    span = find(content, path)
    if span is None:
        return content if before is None else put(content, before, path).content
    head, rest = content[: span.start], content[span.end :]
    if before is not None:
        return head + before + rest
    head, rest = head.removesuffix(lead), rest.removeprefix(tail)
    # Somebody may have taken the empty line away, or written on: their lines stay two.
    is_joined = head and rest and not head.endswith(_ENDS) and not rest.startswith(_ENDS)
    return head + (line_end(content) if is_joined else b"") + rest


def line_end(content: bytes) -> bytes:
    """The line end a file uses, by its first."""
    first = content.find(b"\n")
    return b"\r\n" if first > 0 and content[first - 1 : first] == b"\r" else b"\n"
