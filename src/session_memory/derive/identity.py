"""What a record is known by for ever, wherever its copies stand."""

from session_memory.adapters.base import Record
from session_memory.store.record_keys import place_key, record_key
from session_memory.store.sources import SourceRow


def key_in(stem: str, record: Record) -> bytes:
    """A record's native id, else its file, place and content."""
    if record.native_id is not None:
        return record_key(record.native_id)
    # The file's own name where that names the session; some agents name all files alike.
    name = stem if stem.endswith(record.session) else f"{record.session}/{stem}"
    return place_key(f"{name}@{record.offset}-{record.check:08x}")


def stem_of(source: SourceRow) -> str:
    return source.home_path.rpartition("/")[2].partition(".jsonl")[0]
