"""The full body of an event: its native record, decoded, out of the raw.

Events come in the order of their records, so the pack that held one usually holds the next.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.ids import split_uid
from session_memory.core.roles import SPILL
from session_memory.core.schema import SessionEvent
from session_memory.derive.tables import is_table
from session_memory.store import Store
from session_memory.store.live_rows import LiveRows
from session_memory.store.sources import SourceRow


class Payload(msgspec.Struct, frozen=True):
    """``spilled`` is the body the agent moved out of its log, where the record names one."""

    record: Any
    spilled: str | None = None


class Image(msgspec.Struct, frozen=True):
    """A picture in a record: named, never shown."""

    media_type: str
    bytes: int


class Payloads:
    """Reads the payloads of one session."""

    def __init__(self, store: Store, uid: str) -> None:
        self._store = store
        self._sources: dict[str, SourceRow | None] = {}
        self._window: tuple[str, int, bytes] = ("", 0, b"")
        flavor, native = split_uid(uid)
        named = store.sources.named_for(flavor, native.partition(":")[0])
        self._spills = {_tail(row.path): row for row in named if row.role == SPILL}

    def of(self, event: SessionEvent) -> Payload:
        """The native record of ``event``; ``None`` in it once the raw was evicted."""
        source, place, length = parse_ref(event.payload_ref or "@0+0#0")
        body = self._record(source, place, length)
        spilled = self._spilled(body) if event.is_a("tool_result") else None
        return Payload(decoded(body) if body else None, spilled)

    def spilled(self, event: SessionEvent) -> str | None:
        """The whole of an output that the agent moved out of its log."""
        if not self._spills or not event.is_a("tool_result"):
            return None
        source, place, length = parse_ref(event.payload_ref or "@0+0#0")
        return self._spilled(self._record(source, place, length))

    def images(self, event: SessionEvent) -> tuple[Image, ...]:
        """The pictures of an event's record; most have none and are not even decoded."""
        source, place, length = parse_ref(event.payload_ref or "@0+0#0")
        body = self._record(source, place, length)
        if b'image"' not in body:
            return ()
        return tuple(_images(decoded(body)))

    def _record(self, source: str, place: int, length: int) -> bytes:
        known, start, data = self._window
        if known != source or not start <= place <= place + length <= start + len(data):
            row = self._source(source)
            if row is None:
                return b""
            if is_table(row):
                return LiveRows(self._store.db).line_at(row.session, place)
            start, data = place, self._store.raw.from_place(row.id, place)
            if len(data) < length:
                return self._store.raw.record(row.id, place, length)
            self._window = (source, start, data)
        return data[place - start : place - start + length]

    def _source(self, uid: str) -> SourceRow | None:
        if uid not in self._sources:
            self._sources[uid] = self._store.sources.by_uid(uid)
        return self._sources[uid]

    def _spilled(self, body: bytes) -> str | None:
        for tail, row in self._spills.items():
            if tail.encode() in body:
                whole = b"".join(self._store.raw.pieces(row.id))
                return whole.decode("utf-8", "backslashreplace")
        return None


MOST_IMAGES = 1000
# The agent's second copies of what a record says.
_COPIES = frozenset({"toolUseResult", "rawOutput"})


def _images(record: Any) -> Iterator[Image]:
    waiting, found = [record], 0
    while waiting and found < MOST_IMAGES:
        value = waiting.pop()
        if (image := _image(value)) is not None:
            found += 1
            yield image
        elif isinstance(value, dict):
            waiting += [item for name, item in reversed(value.items()) if name not in _COPIES]
        elif isinstance(value, list):
            waiting += reversed(value)


def _image(value: Any) -> Image | None:
    match value:
        case {"type": "image", "source": dict(source)}:
            data = str(source.get("data") or source.get("url") or "")
            return Image(str(source.get("media_type") or "image"), len(data) * 3 // 4)
        case {"type": "image", "data": str(data)}:
            return Image(str(value.get("mimeType") or "image"), len(data) * 3 // 4)
        case {"type": "input_image", "image_url": str(url)}:
            kind = url[5:].partition(";")[0] if url.startswith("data:") else "image"
            return Image(kind, len(url.partition(",")[2]) * 3 // 4)
        case {"type": "input_image" | "image"}:
            return Image("image", 0)
    return None


def parse_ref(ref: str) -> tuple[str, int, int]:
    """``<source uid>@<offset>+<length>#<block>`` without its block."""
    source, _, rest = ref.partition("@")
    place, _, rest = rest.partition("+")
    return source, int(place), int(rest.partition("#")[0])


def decoded(body: bytes) -> Any:
    """The record as JSON values; as text where it is no JSON, or none that can be written again.

    A message that the agent wrote in chunks is the list of them.
    """
    lines = [line for line in body.split(b"\n") if line.strip()]
    try:
        values = [json.loads(line, parse_constant=str) for line in lines or [body]]
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")
    return values[0] if len(values) == 1 else values


def _tail(path: str) -> str:
    """``tool-results/x.txt``: as much of a path as is the same on every machine."""
    return "/".join(path.rsplit("/", 2)[-2:])
