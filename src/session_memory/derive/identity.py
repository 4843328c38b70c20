"""The key of a record: its identity, which is the same for all its copies."""

from session_memory.adapters.base import Record
from session_memory.store.record_keys import place_key, record_key
from session_memory.store.sources import SourceRow


def key_in(stem: str, record: Record) -> bytes:
    """The key of a record in the file ``stem``: its native id, else its file, place and content."""
    if record.native_id is not None:
        return record_key(record.native_id)
    # Some agents give the logs of all sessions the same name, so the session is added to the name.
    name = stem if stem.endswith(record.session) else f"{record.session}/{stem}"
    return place_key(f"{name}@{record.offset}-{record.check:08x}")


def stem_of(source: SourceRow) -> str:
    """The name of a source's file without its suffix."""
    return source.home_path.rpartition("/")[2].partition(".jsonl")[0]
