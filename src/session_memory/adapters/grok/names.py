"""Names, times and limits that every file of a session shares."""

import re
from functools import lru_cache

from session_memory.adapters.grok.lines import GrokLine, LineMeta
from session_memory.core.ids import fit_native_id
from session_memory.core.text import escaped

# What no turn and no call can come to: sums over such figures would fit no column.
MOST_MS = 1e12
LAST_MS = 253_402_300_799_999


@lru_cache(maxsize=4096)
def fit(native_id: str) -> str:
    # Escaped, as the store keeps the names of files: read again from there, it is the same id.
    return fit_native_id(escaped(native_id))[0]


def record_id(meta: LineMeta) -> str | None:
    """A fork copies lines with their ``eventId`` and the agent's time; only the session's name
    and the time of writing are new. The time is needed too: versions that began to count anew
    with every process gave an id twice."""
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
    """The directory a session worked in is the name of the directory that holds it, encoded."""
    parts = home_path.split("/")
    encoded = parts[-3] if len(parts) > 2 else ""
    if not encoded.startswith("%2F") and not re.match(r"[A-Za-z]%3A", encoded):
        return None
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda m: bytes.fromhex(m[1].decode()), encoded.encode())
    try:
        return escaped(raw.decode())
    except UnicodeDecodeError:
        return None
