"""Whether a request begins with an earlier one, byte for byte, so that the provider's cache holds.

The parts of a body that a provider caches are found without decoding them.
"""

import json
import re
from collections.abc import Iterator

from session_memory.conformance.sent import Sent

# Marks where the provider may cache. Agents move them along, and they are no part of the prompt. A
# plain text becomes a list with one part while it has a mark.
_CACHE_MARK = re.compile(rb',?"cache_control":\{[^{}]*\}')
_ONE_TEXT = re.compile(rb'"content":\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]')
_KEY = re.compile(r"[\s,]*(?=\")")


def broken_prefix(later: Sent, earlier: Sent) -> str | None:
    """Which part does not begin with that of the earlier request; None if all do."""
    now, before = dict(_spans(later.raw)), dict(_spans(earlier.raw))
    for part in later.wire.cached:
        if now.get(part) != before.get(part):
            return part
    conversation = later.wire.conversation
    if not now[conversation].startswith(before[conversation].removesuffix(b"]")):
        return conversation
    return None


def _spans(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The top-level keys of a JSON object, each with the bytes of its value."""
    text = _ONE_TEXT.sub(rb'"content":\1', _CACHE_MARK.sub(b"", raw)).decode()
    decoder, place = json.JSONDecoder(), text.index("{") + 1
    while (match := _KEY.match(text, place)) is not None:
        key, place = decoder.raw_decode(text, match.end())
        start = text.index(":", place) + 1
        start += len(text[start:]) - len(text[start:].lstrip())
        _, place = decoder.raw_decode(text, start)
        yield key, text[start:place].encode()
