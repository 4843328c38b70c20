"""Hash the content of a record: what every copy of it repeats, and nothing that a copy may change.

A copy has other times, another session and another working directory, and an agent may see it as
another kind of event. The texts, the calls and the results are the same.
"""

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from session_memory.adapters.base import NativeEvent, Record
from session_memory.adapters.event_text import strings_in

_encode = msgspec.json.Encoder(order="sorted").encode


def content_of(events: Iterable[NativeEvent]) -> int:
    """A 64-bit hash of what the events of a record say. The events must not be settled yet."""
    content = blake2b(digest_size=8)
    for event in events:
        for part in _parts(event):
            content.update(b"%d:" % len(part))
            content.update(part)
    return int.from_bytes(content.digest())


def have_same_contents(records: list[Record]) -> bool:
    """Whether all records with the same id have the same content. The records must have keys."""
    contents: dict[bytes, int] = {}
    for record in records:
        if record.native_id and record.events:
            content = content_of(record.events)
            if contents.setdefault(record.key, content) != content:
                return False
    return True


def _parts(event: NativeEvent) -> Iterable[bytes]:
    text = event.body or event.text
    yield _bytes(event.call_id or "")
    if not text and event.arguments is None:
        yield _bytes(event.native_kind)
        yield _bytes(event.summary)
        return
    # The same event may be a decision of a person in one session, and a remark of the system in
    # another.
    yield _bytes("system" if event.kind == "decision" else event.role)
    yield b"error" if event.is_error else b""
    # The tool of a result comes from its call. A copy of a part of the log may lack the call.
    yield _bytes("" if event.role == "tool" else event.tool or "")
    yield _without(event.session_ids, _bytes(text))
    if event.arguments is not None:
        yield _without(event.session_ids, _arguments(event.arguments))


def _without(ids: Iterable[str], content: bytes) -> bytes:
    for one in ids:
        content = content.replace(_bytes(one), b"")
    return content


def _arguments(arguments: object) -> bytes:
    try:
        return _encode(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # A plugin may give values that are no JSON, and a hostile log half a surrogate pair.
        return _bytes("\n".join(strings_in(arguments)))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
