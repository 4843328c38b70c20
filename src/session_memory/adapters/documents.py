"""Documents: small files beside a log that an agent rewrites as a whole. Each is one record."""

from collections.abc import Callable, Iterator
from typing import Any

from session_memory.adapters.base import Cursor, Readable, Record, SourceRef
from session_memory.adapters.jsonl import decode_anything

LONGEST_DOCUMENT = 1024 * 1024


def read_document(
    source: Readable, cursor: Cursor, from_body: Callable[[SourceRef, bytes], Record]
) -> Iterator[tuple[Cursor, Record]]:
    """The single record of a document; no record if the document was read before."""
    with source.open(cursor.offset) as stream:
        body = stream.read(LONGEST_DOCUMENT)
    # An empty document was created a moment ago and is not written yet.
    if body and not cursor.offset:
        yield Cursor(len(body)), from_body(source.ref, body)


def object_in(body: bytes, record: Record) -> dict[str, Any] | None:
    """The JSON object in a document; None for anything else, which is a problem of the record."""
    try:
        value = decode_anything(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    record.problem = "malformed document"
    return None
