"""Split a JSON document into what is before its list of messages, the messages, and the rest.

The list is the document itself, or its member ``messages``. Nothing is decoded, so every byte keeps
its place. A document that is cut off has the same parts as the whole one, up to the cut.
"""

import json
import re
from typing import NamedTuple

MESSAGES = b'"messages"'

_blank = re.compile(rb"[ \t\r\n]*+").match
_comma = re.compile(rb"[ \t\r\n]*+,[ \t\r\n]*+").match
_colon = re.compile(rb"[ \t\r\n]*+:[ \t\r\n]*+").match
_text = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL).match
_plain = re.compile(rb"[^\s,\]}\[{:\"]++(?=[\s,\]}])").match
_tokens = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[][{}]', re.DOTALL).finditer
_OPENING = frozenset(b"[{")
_MARK = b"\xef\xbb\xbf"


class Parts(NamedTuple):
    """The places of the parts of a document.

    - ``head``: where the head ends, after the bracket that begins the list; 0 if it is not complete
    - ``messages``: the begin and end of each message
    - ``tail``: where the tail begins, at the bracket that ends the list. In a document that is cut
      off: the end of its last whole message
    - ``is_whole``: whether the document is not cut off, and its head and tail are valid JSON
    """

    head: int
    messages: list[tuple[int, int]]
    tail: int
    is_whole: bool


def parts_of(document: bytes, known: tuple[bytes, ...] = ()) -> Parts:
    """Find the parts of a document. ``known``: the messages that the document probably begins with.
    Comparing these messages is faster than scanning them."""
    head, has_list = _head_end(document)
    if not head:
        return Parts(0, [], 0, is_whole=False)
    if not has_list:
        return Parts(head, [], head, is_whole=_is_json(document))
    messages, end = _messages(document, head, known)
    is_whole = document[end : end + 1] == b"]" and _is_json(document[:head] + document[end:])
    return Parts(head, messages, end, is_whole)


def _head_end(document: bytes) -> tuple[int, bool]:
    """Return the position after the opening bracket of the list of messages, and True.

    For a whole document without such a list: its end, and False. For a document that is cut off
    before the list, or is not JSON: ``(0, False)``.
    """
    place = _after(document, len(_MARK) if document.startswith(_MARK) else 0)
    if document[place : place + 1] == b"[":
        return place + 1, True
    if document[place : place + 1] != b"{":
        return 0, False
    place = _after(document, place + 1)
    while name := _text(document, place):
        colon = _colon(document, name.end())
        if colon is None:
            return 0, False
        if name[0] == MESSAGES and document[colon.end() : colon.end() + 1] == b"[":
            return colon.end() + 1, True
        end = value_end(document, colon.end())
        comma = _comma(document, end) if end else None
        if comma is None:
            is_over = bool(end) and document[_after(document, end) :].rstrip() == b"}"
            return (len(document), False) if is_over else (0, False)
        place = comma.end()
    return (len(document), False) if document[place:].rstrip() == b"}" else (0, False)


def _messages(
    document: bytes, place: int, known: tuple[bytes, ...]
) -> tuple[list[tuple[int, int]], int]:
    """Return the places of the whole messages from ``place`` on, and where the list ends.

    A list that is cut off or broken ends after its last whole message.
    """
    found: list[tuple[int, int]] = []
    waiting = iter(known)
    expected = next(waiting, None)
    while True:
        end = found[-1][1] if found else place
        if found:
            comma = _comma(document, end)
            begin = comma.end() if comma else 0
        else:
            begin = _after(document, place)
        if begin and expected is not None and document.startswith(expected, begin):
            last = begin + len(expected)
            expected = next(waiting, None)
        else:
            # No known message is left, or the message differs from the known one. From here on,
            # messages are scanned.
            expected = None
            last = value_end(document, begin) if begin else 0
        if not last:
            after = _after(document, end)
            return found, after if document[after : after + 1] == b"]" else end
        found.append((begin, last))


def value_end(document: bytes, begin: int) -> int:
    """Return where the JSON value at ``begin`` ends; 0 if no whole value is there."""
    first = document[begin : begin + 1]
    if first == b'"':
        text = _text(document, begin)
        return text.end() if text else 0
    if not first or first[0] not in _OPENING:
        plain = _plain(document, begin)
        return plain.end() if plain else 0
    depth = 0
    for token in _tokens(document, begin):
        # A token is one bracket or a whole text. A text begins with a quote and does not count.
        byte = document[token.start()]
        if byte in b"[{":
            depth += 1
        elif byte in b"]}":
            depth -= 1
            if not depth:
                return token.end()
    return 0


def _after(document: bytes, place: int) -> int:
    """Return the first position from ``place`` on that is not white space."""
    blank = _blank(document, place)
    return blank.end() if blank else place


def _is_json(document: bytes) -> bool:
    try:
        json.loads(document)
    except (ValueError, RecursionError):
        return False
    return True
