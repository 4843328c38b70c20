"""Entries of the skill log that no sync has collected yet, so that rates know them at once.

A log is read from where the last sync stopped. Reading it changes neither the log nor the store.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from session_memory.config import Config, home, load_config, this_host
from session_memory.core.errors import StoreError, UnsafePath
from session_memory.core.ids import fit_native_id, make_uid
from session_memory.core.schema import Entry
from session_memory.core.skills import FLAVOR, FOLDER, OURS
from session_memory.core.text import escaped
from session_memory.live.skill_log import SkillLog
from session_memory.store.retention import SESSION, session_key
from session_memory.store.store import Store


def usual_logs(config: Config | None = None) -> list[SkillLog]:
    """The logs that a sync collects: in the configured directories, else in the usual one."""
    source = (config or load_config()).source(FLAVOR)
    if not source.enabled:
        return []
    return [SkillLog(_logs_below(Path(root).expanduser())) for root in source.roots or (home(),)]


def _logs_below(root: Path) -> Path:
    """The directory of the logs: the root itself, or below a home the usual one."""
    inside = root / FOLDER if root.name == OURS else root / OURS / FOLDER
    return inside if inside.is_dir() or root == home() else root


def uncollected(store: Store, logs: Sequence[SkillLog]) -> Iterator[Entry]:
    """The entries in ``logs`` that are not in the store yet. Forgotten sessions stay out."""
    seen: set[Path] = set()
    for log in logs:
        place = log.directory.resolve()
        if place not in seen and place.is_dir():
            seen.add(place)
            yield from _uncollected(store, log, escaped(this_host(load_config())))


def _uncollected(store: Store, log: SkillLog, host: str) -> Iterator[Entry]:
    sessions = {
        escaped(str(log.path_of(session).absolute())): session for session in log.sessions()
    }
    known = store.sources.known_at(host, sessions.keys())
    forgotten = store.retention.tombstones().get(SESSION, set())
    for path, session in sessions.items():
        native = fit_native_id(escaped(session))[0]
        if session_key(make_uid(FLAVOR, native)) in forgotten:
            continue
        try:
            status = log.path_of(session).stat()
            row = known.get(path)
            offset = (
                _read_elsewhere(store, session, host, status.st_ino) if row is None else row.read_to
            )
            if status.st_size > offset:
                yield from log.read(session, offset=offset)
        except (StoreError, UnsafePath, OSError):
            # A log that cannot be read, or was just deleted, costs itself alone. Sync reports it.
            continue


def _read_elsewhere(store: Store, session: str, host: str, inode: int) -> int:
    """How much was read of this log under another path, or of a copy of it on this machine."""
    rows = store.sources.named_for(FLAVOR, escaped(session))
    return max((row.read_to for row in rows if row.host == host or row.inode == inode), default=0)
