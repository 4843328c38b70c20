"""Derive stale sessions again from the stored logs.

The logs of some sessions are read first, while other processes may write. Then these sessions are
written, in short transactions. A session whose data was changed in between stays stale and is read
again in the next round.
"""

from collections.abc import Collection, Iterator
from contextlib import nullcontext
from typing import NamedTuple

from session_memory.core.errors import AdapterFailed, AdapterUnusable
from session_memory.derive.connected import connected_sessions
from session_memory.derive.derivation import Derivation
from session_memory.derive.new_sessions import NewSession, new_session
from session_memory.derive.readers import note_substitute
from session_memory.derive.repository_names import DomainOf, RepositoryNames
from session_memory.store.pieces import run_in_pieces
from session_memory.store.store import Store

# Logs are read until they have this many bytes. Then their sessions are written together, because a
# commit takes as long for one small session as for ten.
READ_TOGETHER = 2 * 1024 * 1024
TRIES = 3


def derive_stale(
    store: Store,
    now: int,
    repositories: RepositoryNames | DomainOf,
    *,
    without: Collection[int] = (),
) -> int:
    """Derive every stale session, with those it shares records with. Returns their number.

    Sessions in ``without`` stay stale, and so do sessions that no adapter can read. Both keep their
    events. `readers.substituted` names the agents without a usable adapter.
    """
    if not isinstance(repositories, RepositoryNames):
        repositories = RepositoryNames(store, repositories)
    return _StaleSessions(store, now, repositories, without).derive()


class _Unreadable(NamedTuple):
    """Sessions that no adapter can read. They stay as they are, because all records are read before
    anything is dropped."""

    sessions: Collection[int]
    flavor: str
    reason: str


class _StaleSessions:
    def __init__(
        self, store: Store, now: int, repositories: RepositoryNames, without: Collection[int]
    ) -> None:
        self._store, self._now, self._repositories = store, now, repositories
        self._left = set(without)
        # New sessions that cannot be appended alone.
        self._shared: set[int] = set()
        self._derived = 0
        self._has_written = False

    def derive(self) -> int:
        store, tries = self._store, 0
        while stale := [one for one in store.sessions.stale() if one not in self._left]:
            # Logs are read before the transaction begins. If other processes wrote in between
            # `TRIES` times, the logs are read within the transaction.
            with store.transaction() if tries >= TRIES else nullcontext():
                mark = None if store.db.is_writing else store.db.write_mark()
                with store.db.snapshot():
                    read = list(self._read(stale))
                works = [one for one in read if not isinstance(one, _Unreadable)]
                for one in read:
                    if isinstance(one, _Unreadable):
                        note_substitute(store, one.flavor, one.reason)
                        self._left.update(one.sessions)
                self._has_written = not works
                run_in_pieces(store.transaction, self._written(works, mark))
            tries = 0 if self._has_written else tries + 1
        return self._derived

    def _read(self, stale: list[int]) -> Iterator["NewSession | Derivation | _Unreadable"]:
        """Read the logs of the next stale sessions. Within a transaction, read only the logs of the
        first session and of those that it shares records with."""
        seen: set[int] = set()
        size = 0
        for session_id in stale:
            if session_id in seen:
                continue
            is_shared = session_id in self._shared
            new = None if is_shared else new_session(self._store, session_id)
            work = new or self._surveyed(session_id)
            if seen.isdisjoint(work.sessions):
                yield work
            seen.update(work.sessions)
            size += 0 if isinstance(work, _Unreadable) else work.size
            if size >= READ_TOGETHER or self._store.db.is_writing:
                break

    def _surveyed(self, session_id: int) -> "Derivation | _Unreadable":
        """A session and all that it shares records with. All their records are read."""
        cluster = connected_sessions(self._store, session_id)
        try:
            while True:
                derivation = Derivation(self._store, cluster, self._now, self._repositories)
                derivation.survey()
                outsiders = derivation.outside_holders()
                if not outsiders:
                    derivation.settle()
                    return derivation
                more = (connected_sessions(self._store, other) for other in outsiders)
                cluster = sorted({*cluster, *(one for some in more for one in some)})
        except (AdapterUnusable, AdapterFailed) as failure:
            return _Unreadable(cluster, failure.flavor, str(failure))

    def _written(self, works: list["NewSession | Derivation"], mark: object) -> Iterator[None]:
        """Write the sessions. `run_in_pieces` takes each step of this generator in a transaction.

        A session is left out if another process changed what was read of it; it stays stale.
        ``mark`` is the write mark of the store before the logs were read; None if this process had
        a transaction open all the time.
        """
        for place, work in enumerate(works):
            # For the first work an unchanged mark is enough: this process has written nothing since
            # the logs were read.
            is_mark_enough = place == 0
            while True:
                is_same = mark is None or self._store.db.write_mark() == mark
                if not (is_mark_enough and is_same) and not work.is_current():
                    break
                self._has_written = is_mark_enough = True
                if not work.write(self._now, self._repositories):
                    # The new session is no plain fork. It is derived later, together with the
                    # sessions that it shares records with.
                    self._shared.update(work.sessions)
                    break
                if work.is_done:
                    self._derived += len(work.sessions)
                    break
                yield
            yield
