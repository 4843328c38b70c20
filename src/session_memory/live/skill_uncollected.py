"""Read entries of the skill log that no sync has collected yet, so that pass rates count them.

A log is read from where the last sync stopped, and as a whole if its session was evicted. Reading
it changes neither the log nor the store.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from session_memory.config import Config, home, load_config, this_host
from session_memory.core.errors import StoreError, UnsafePath
from session_memory.core.ids import fit_native_id, make_uid, split_uid
from session_memory.core.schema import Entry
from session_memory.core.skills import FLAVOR, FOLDER, OURS
from session_memory.core.text import escaped
from session_memory.live.skill_log import LogFile, SkillLog
from session_memory.store.retention import SESSION, session_key
from session_memory.store.sources import SourcePlace
from session_memory.store.store import Store


def usual_logs(config: Config | None = None) -> list[SkillLog]:
    """The logs that a sync collects: in the configured directories, else in the usual one."""
    source = (config or load_config()).source(FLAVOR)
    if not source.enabled:
        return []
    return [SkillLog(_logs_below(Path(root).expanduser())) for root in source.roots or (home(),)]


def _logs_below(root: Path) -> Path:
    """Return the directory of the skill logs: the usual one below a home, or the root itself."""
    inside = root / FOLDER if root.name == OURS else root / OURS / FOLDER
    return inside if inside.is_dir() or root == home() else root


def uncollected(store: Store, logs: Sequence[SkillLog]) -> Iterator[Entry]:
    """The entries in ``logs`` that are not in the store yet, or that were evicted from it.

    Entries of forgotten sessions are left out.
    """
    present = _present(logs)
    if not present:
        return
    collected = _Collected(store)
    for log in present:
        for file in log.files():
            offset = collected.read_to(file)
            if file.size <= offset or collected.is_forgotten(file.session_id):
                continue
            try:
                yield from log.read(file.session_id, offset=offset)
            except (StoreError, UnsafePath):
                # A log that cannot be read is left out. The next sync reports it.
                continue


def count_without_log(store: Store, logs: Sequence[SkillLog]) -> int:
    """Count the evicted sessions of the skill log that have no log on this machine.

    Their entries are only in the archive, so pass rates do not count them.
    """
    gone = {uid for uid in store.retention.evicted_uids() if split_uid(uid)[0] == FLAVOR}
    if not gone:
        return 0
    return len(gone - {_uid(file.session_id) for log in _present(logs) for file in log.files()})


def _present(logs: Sequence[SkillLog]) -> list[SkillLog]:
    """The logs whose directory exists, each directory once."""
    distinct = {log.directory.resolve(): log for log in reversed(logs)}
    return [log for place, log in distinct.items() if place.is_dir()]


def _uid(session: str) -> str:
    return make_uid(FLAVOR, fit_native_id(escaped(session))[0])


class _Collected:
    """How far the skill logs of this machine were read, and which sessions were forgotten."""

    def __init__(self, store: Store) -> None:
        self._host = escaped(this_host(load_config()))
        self._places: dict[str, int] = {}
        self._named: dict[str, list[SourcePlace]] = {}
        for place in store.sources.places(FLAVOR):
            if place.host == self._host:
                self._places[place.path] = place.read_to
            self._named.setdefault(place.session, []).append(place)
        self._forgotten = store.retention.tombstones().get(SESSION, set())

    def read_to(self, file: LogFile) -> int:
        known = self._places.get(escaped(file.path))
        if known is not None:
            return known
        # The log may have been read under another path, or on another machine if it was copied.
        same = self._named.get(escaped(file.session_id), ())
        return max((p.read_to for p in same if self._is_here(p, file)), default=0)

    def _is_here(self, place: SourcePlace, file: LogFile) -> bool:
        return place.host == self._host or place.inode == file.inode

    def is_forgotten(self, session: str) -> bool:
        if not self._forgotten:
            return False
        return session_key(_uid(session)) in self._forgotten
