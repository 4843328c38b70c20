"""Import all sessions of other runtimes as live sessions: collect them, then copy their messages.

Each session is imported in one transaction. An import that was killed completes when it is run
again. Sessions that were imported before and have not changed since are left as they are.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.collect.discover import Root, roots
from session_memory.collect.live_histories import (
    collected_histories,
    importable_flavors,
    sources_of,
)
from session_memory.collect.sync import sync
from session_memory.collect.sync_report import ReadProgress
from session_memory.config import Config
from session_memory.core.errors import InvalidRecord, SourceUnreadable
from session_memory.core.history import History
from session_memory.core.live_errors import LiveError, SessionExists
from session_memory.core.text import escaped
from session_memory.live.import_history import ImportedSession, import_again
from session_memory.live.store import SessionStore
from session_memory.store.problems import UNREADABLE
from session_memory.store.retention import SESSION
from session_memory.store.store import Store

_COUNTED = ("messages", "folds", "rewinds", "plain_notes")


class LiveImportResult(msgspec.Struct, kw_only=True):
    """What an import of all sessions did. The first five fields count sessions.

    ``grown``: new messages of the origin were added. ``continued``: the origin has grown, but the
    live session was continued or closed, so nothing was added. ``changed``: earlier messages of the
    origin differ from those that were imported. ``folds`` counts compactions; ``plain_notes``
    counts summaries that were added as messages. ``failed`` has the reason for each session that
    could not be imported, by its uid, and for each place that could not be read, by its path.
    """

    new: int = 0
    grown: int = 0
    unchanged: int = 0
    continued: int = 0
    changed: int = 0
    messages: int = 0
    folds: int = 0
    rewinds: int = 0
    plain_notes: int = 0
    left_out: dict[str, int] = {}
    failed: dict[str, str] = {}

    def add(self, done: ImportedSession) -> None:
        setattr(self, done.state, getattr(self, done.state) + 1)
        for name in _COUNTED:
            setattr(self, name, getattr(self, name) + getattr(done, name))
        if done.state == "new":
            self.left_out = dict(Counter(self.left_out) + Counter(done.left_out))

    def to_dict(self) -> dict[str, Any]:
        failed = [{"session_uid": uid, "reason": why} for uid, why in self.failed.items()]
        return {**msgspec.structs.asdict(self), "failed": failed}


def import_all(
    store: Store,
    config: Config,
    given: tuple[Path, ...] = (),
    progress: ReadProgress | None = None,
) -> LiveImportResult:
    """Import every session in the ``given`` places, or in the agents' usual places.

    Without ``given``, this includes sessions that were collected before and whose logs are gone.
    """
    where = roots(config, given, tuple(importable_flavors()))
    sync(store, config, where, progress=progress)
    uids = _uids_below(store, where) if given else _uids(store)
    result = LiveImportResult(failed=_unreadable(store, where))
    nothing = f"no session of {' or '.join(importable_flavors())} was found there"
    if store.retention.tombstones().get(SESSION):
        nothing += ", or it was forgotten"
    result.failed |= {str(path): nothing for path in given if _is_empty(store, path, uids)}
    live = SessionStore(store.db)
    for history in collected_histories(store, uids):
        _import_one(live, history, result)
    # After this sync, the store knows that each live session and its origin are one session.
    sync(store, config, [])
    return result


def _import_one(
    live: SessionStore, history: History | SourceUnreadable, result: LiveImportResult
) -> None:
    if isinstance(history, SourceUnreadable):
        result.failed[history.path] = history.reason
        return
    try:
        result.add(import_again(live, history))
    except SessionExists as error:
        way = f"session-memory live import {history.origin} --id ID"
        result.failed[history.origin] = f"{error}; give it another id: {way}"
    except (LiveError, InvalidRecord) as error:
        result.failed[history.origin] = str(error)


def _unreadable(store: Store, where: list[Root]) -> dict[str, str]:
    """Return the files in some directories that a sync could not read, with the reasons."""
    places = [escaped(str(root.path)) for root in where]
    problems = [one for one in store.problems.every() if one.reason == UNREADABLE]
    return {one.path: one.detail or one.reason for one in problems if _is_below(one.path, places)}


def _is_empty(store: Store, path: Path, uids: list[str]) -> bool:
    """Whether none of the sessions ``uids`` was found in this place."""
    places = [escaped(str(path)), escaped(str(path.absolute()))]
    return not any(_is_below(one, places) for uid in uids for one in _paths(store, uid))


def _uids(store: Store) -> list[str]:
    flavors = set(importable_flavors())
    return [uid for uid in store.sessions.uids() if uid.partition(":")[0] in flavors]


def _uids_below(store: Store, where: list[Root]) -> list[str]:
    places = [escaped(str(root.path)) for root in where]

    def is_below(uid: str) -> bool:
        return any(_is_below(path, places) for path in _paths(store, uid))

    return list(filter(is_below, _uids(store)))


def _paths(store: Store, uid: str) -> Iterator[str]:
    row = store.sessions.row(uid)
    for source in sources_of(store, row.id) if row is not None else ():
        yield source.path


def _is_below(path: str, places: list[str]) -> bool:
    return any(path == place or path.startswith((f"{place}/", f"{place}#")) for place in places)
