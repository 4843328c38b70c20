"""Read the full payload of an event: its native record, from the stored logs, decoded."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.ids import split_uid
from session_memory.core.roles import SPILL
from session_memory.core.schema import SessionEvent
from session_memory.derive.raw_records import RawRecords, place_of
from session_memory.store import Store


class Payload(msgspec.Struct, frozen=True):
    """A native record. ``spilled`` is an output that the agent moved out of its log to a file."""

    record: Any
    spilled: str | None = None


class Image(msgspec.Struct, frozen=True):
    """The type and size of a picture in a record. `views.pictures` reads the picture itself."""

    media_type: str
    bytes: int


class Payloads:
    """Reads the payloads of one session."""

    def __init__(self, store: Store, uid: str) -> None:
        self._store = store
        self._records = RawRecords(store)
        flavor, native = split_uid(uid)
        named = store.sources.named_for(flavor, native.partition(":")[0])
        self._spills = {_tail(row.path): row for row in named if row.role == SPILL}

    def of(self, event: SessionEvent) -> Payload:
        """Return the payload of ``event``. Its ``record`` is None if the session was evicted."""
        body = self._records.at(place_of(event))
        spilled = self._spilled(body) if event.is_a("tool_result") else None
        return Payload(decoded(body) if body else None, spilled)

    def spilled(self, event: SessionEvent) -> str | None:
        """Return the whole output of a call if the agent moved it from its log to a file."""
        if not self._spills or not event.is_a("tool_result"):
            return None
        return self._spilled(self._records.at(place_of(event)))

    def images(self, event: SessionEvent) -> tuple[Image, ...]:
        """Return the pictures in an event's record. Most records have none and are not decoded."""
        return tuple(image for image, _ in self.encoded_images(event))

    def encoded_images(self, event: SessionEvent) -> Iterator[tuple[Image, str]]:
        """Yield the pictures in an event's record with their data: base 64 text, or a URL."""
        body = self._records.at(place_of(event))
        return _images(decoded(body)) if b'image"' in body else iter(())

    def _spilled(self, body: bytes) -> str | None:
        for tail, row in self._spills.items():
            if tail.encode() in body:
                whole = b"".join(self._store.raw.pieces(row.id))
                return whole.decode("utf-8", "backslashreplace")
        return None


MOST_IMAGES = 1000
# Fields in which an agent repeats what the record says elsewhere.
_COPIES = frozenset({"toolUseResult", "rawOutput"})


def _images(record: Any) -> Iterator[tuple[Image, str]]:
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


def _image(value: Any) -> tuple[Image, str] | None:
    match value:
        case {"type": "image", "source": dict(source)}:
            data = str(source.get("data") or source.get("url") or "")
            return Image(str(source.get("media_type") or "image"), len(data) * 3 // 4), data
        case {"type": "image", "data": str(data)}:
            return Image(str(value.get("mimeType") or "image"), len(data) * 3 // 4), data
        case {"type": "input_image", "image_url": str(url)}:
            kind = url[5:].partition(";")[0] if url.startswith("data:") else "image"
            data = url.partition(",")[2]
            return Image(kind, len(data) * 3 // 4), data
        case {"type": "input_image" | "image"}:
            return Image("image", 0), ""
    return None


def decoded(body: bytes) -> Any:
    """Decode a record to JSON values, or to text if it is no valid JSON.

    A message that the agent wrote as several lines (chunks) becomes a list of them.
    """
    lines = [line for line in body.split(b"\n") if line.strip()]
    try:
        values = [json.loads(line, parse_constant=str) for line in lines or [body]]
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")
    return values[0] if len(values) == 1 else values


def _tail(path: str) -> str:
    """Return the last two parts of a path, such as ``tool-results/x.txt``.

    Unlike the whole path, they are the same on every machine.
    """
    return "/".join(path.rsplit("/", 2)[-2:])
