"""Turn what is new in a document that an agent rewrites as a whole into further lines.

See `session_memory.core.document_lines` for the lines. A hash of the whole document, kept as the
``tail_hash`` of its row, tells whether the document changed.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import BinaryIO

from session_memory.collect.native import TAIL
from session_memory.core.document_lines import LONGEST, DocumentLines
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store


def document_of(native: BinaryIO) -> bytes:
    """Read a whole document. Raises ``OSError`` if it is too long."""
    size = os.fstat(native.fileno()).st_size
    if size <= LONGEST:
        native.seek(0)
        document = native.read(LONGEST + 1)
        size = len(document)
    if size > LONGEST:
        raise OSError(f"a document of {size:,} bytes is too long; the limit is {LONGEST:,}")
    return document


def document_hash(document: bytes) -> str:
    return sha256(document).hexdigest()[:32]


@contextmanager
def grown_lines(
    store: Store, row: SourceRow, document: bytes, *, masked: bool
) -> Iterator[BinaryIO]:
    """Yield a temporary file with the new lines of a document, at their offsets.

    In place of the stored lines it has a hole, except for their last bytes, which are hashed.
    """
    stored = b"".join(store.raw.pieces(row.id, 0, row.read_to)) if row.id else b""
    added = _lines(stored, masked).add(document)
    with tempfile.TemporaryFile() as file:
        file.seek(max(len(stored) - TAIL, 0))
        file.write(stored[-TAIL:])
        file.write(added)
        file.flush()
        yield file


def _lines(stored: bytes, masked: bool) -> DocumentLines:
    if not masked:
        return DocumentLines(stored)
    # Loading the rules takes long, and most syncs mask nothing.
    from session_memory.redact import hide_lines  # noqa: PLC0415

    return DocumentLines(stored, hide_lines)
