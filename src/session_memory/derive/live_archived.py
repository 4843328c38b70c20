"""Convert the rows of a live session to packs of lines for the archive, and back."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from session_memory.core.roles import TABLE
from session_memory.derive.live_sources import is_table
from session_memory.store.live_bundle import dump, load
from session_memory.store.raw import Pack, compressor, cut, packed
from session_memory.store.retention_archive import unpacked
from session_memory.store.sources import SourceRow
from session_memory.store.store import Store

_ARCHIVE = Path("the archive")


def stored_packs(store: Store, row: SourceRow) -> Iterator[Pack]:
    """The packs of a source. Those of a live session are made of its rows."""
    if not is_table(row):
        yield from store.raw.packs(row.id)
    elif row.role == TABLE:
        place, using = 0, compressor()
        for piece in cut(b"".join(dump(store.db, row.session))):
            made = packed(piece, place, using)
            yield Pack(made.start, made.length, made.hash, None, made.body)
            place += len(piece)


def load_rows(store: Store, packs: Iterable[tuple[Pack, bytes]]) -> None:
    """Store the rows of a live session from its archived packs, each with its dictionary.

    The caller opens the transaction.
    """
    whole = b"".join(unpacked(_ARCHIVE, pack, dictionary) for pack, dictionary in packs)
    if whole:
        load(store.db, whole.splitlines())
