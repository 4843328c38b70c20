"""Read the ids, times and directory of records; all files of a Grok session use the same forms."""

import re
from functools import lru_cache

from session_memory.adapters.grok.lines import GrokLine, LineMeta
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

# No turn or call takes longer than this. Sums of larger durations would not fit into a database
# column.
MOST_MS = 1e12
LAST_MS = 253_402_300_799_999


@lru_cache(maxsize=4096)
def fit(native_id: str) -> str:
    # An id may be part of a file's name, and the store escapes such names. The id is escaped here
    # too, so that it is the same when the name is read back from the store.
    return fit_native_id(escaped(native_id))[0]


def record_id(meta: LineMeta) -> str | None:
    """Return the id of a record, made of its ``eventId`` and the agent's time; None without an
    ``eventId``.

    A fork copies both, so its copies get the same id. The time is needed because some versions
    start to count ``eventId`` anew in every process.
    """
    if not meta.event_id:
        return None
    ms = int(meta.ms) if meta.ms is not None and 0 <= meta.ms <= LAST_MS else 0
    return fit(f"{meta.event_id}@{ms:x}")


def time_of(ms: float | None, native: GrokLine) -> int | None:
    if ms is None and native.timestamp is not None:
        ms = native.timestamp * 1000
    return int(ms) if ms is not None and 0 <= ms <= LAST_MS else None


@lru_cache(maxsize=4096)
def directory_of(home_path: str) -> str | None:
    """Return the directory that a session worked in, decoded from the name of its directory of
    logs; None if the name is no encoded path."""
    parts = home_path.split("/")
    encoded = parts[-3] if len(parts) > 2 else ""
    if not encoded.startswith("%2F") and not re.match(r"[A-Za-z]%3A", encoded):
        return None
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes.fromhex(m[1].decode()), encoded.encode())
    try:
        return escaped(raw.decode())
    except UnicodeDecodeError:
        return None
