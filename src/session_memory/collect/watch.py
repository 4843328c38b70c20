"""Watch: follow every source, and keep the store up to date while the agents write.

Events of the file system only say where to look; what is new is found as `sync` finds it, by
cursor and by stat. Nothing is remembered here that another writer could make wrong, so a sync or
a second watch may run beside this one, and one that was killed has missed nothing.
"""

import errno
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import msgspec

from session_memory.collect.changes import POLL_S, Changes, identity
from session_memory.collect.discover import Root
from session_memory.collect.live_sessions import has_news
from session_memory.collect.stop import Stop
from session_memory.collect.sync import sync, sync_paths
from session_memory.collect.sync_report import ReadProgress, SyncOutcome
from session_memory.collect.unknown_paths import Strangers
from session_memory.collect.watch_events import (
    Happening,
    Idle,
    ProblemNoted,
    SessionChanged,
    Started,
    Stopped,
    Synced,
    Trouble,
)
from session_memory.config import Config, this_host
from session_memory.core.errors import (
    NetworkFilesystem,
    NewerSchema,
    NotAStore,
    StoreDamaged,
    StoreError,
)
from session_memory.core.time import now_ms
from session_memory.derive.live_sources import LIVE
from session_memory.store.filesystems import filesystem_of
from session_memory.store.store import Store

WHOLE_LOOK_S = 600.0
# How often live sessions are asked for what is new.
LIVE_S = 0.5
# Of a batch that touched more sessions than anybody reads about, so many are told.
MOST_TOLD = 500
FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 60.0
# A look at everything is followed by a rest of so many times as long.
REST_POLLING, REST_STRANGERS = 10, 3
MOUNTS = Path("/proc/self/mounts")
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "ceph"})
HOPELESS = (NewerSchema, NotAStore, StoreDamaged, NetworkFilesystem)


class Watch:
    """Follows the sources below ``where`` until ``stop`` is set.

    ``opening`` opens the store; it is called again when a connection was lost.
    """

    def __init__(
        self,
        opening: Callable[[], Store],
        config: Config,
        where: list[Root],
        stop: Stop,
        *,
        poll: bool = False,
        interval: float = WHOLE_LOOK_S,
        host: str | None = None,
        progress: ReadProgress | None = None,
    ) -> None:
        self._config = config
        self._where = where
        self._stop = stop
        self._interval = interval
        self._host = host or this_host(config)
        self._progress = _Stoppable(progress or ReadProgress(), stop)
        self._store = _KeptOpen(opening)
        places = [root.path for root in where]
        self._changes = Changes(places, stop, polling="as asked" if poll else eventless(places))
        self._strangers = Strangers()
        self._whole_look_at = self._live_due = 0.0
        self._retry_s = FIRST_RETRY_S
        self._totals = Stopped(at=0)
        self._touched: set[str] = set()

    def run(self) -> Generator[Happening, None, None]:
        """What happens, as it happens; an `Idle` now and then when nothing does.

        A store that cannot be opened at all is an error here and now; one that is lost later is
        trouble that is told and tried again.
        """
        with self._store, self._changes:
            yield Started(
                at=now_ms(),
                store=self._store.get().db.name,
                host=self._host,
                roots=_as_they_are(self._where),
                polling=self._changes.polling,
            )
            while not self._stop.is_set():
                yield from self._turn()
        self._totals.at, self._totals.sessions = now_ms(), len(self._touched)
        yield self._totals

    def _turn(self) -> Iterator[Happening]:
        was_polling = self._changes.polling
        batch = self._changes.wait()
        if self._changes.polling != was_polling:
            yield _no_events(self._changes.polling)
        try:
            yield from self._follow(batch.paths, batch.unsure)
            self._retry_s = FIRST_RETRY_S
        except HOPELESS:
            raise
        except StoreError as error:
            yield from self._try_again_later(error)
        except _Stopped:
            self._progress.end()
        yield Idle(at=now_ms())

    def _follow(self, paths: set[Path], unsure: bool) -> Iterator[Happening]:
        now = time.monotonic()
        if self._store.is_another() or unsure or now >= self._whole_look_at:
            yield from self._look_at_everything()
            return
        own = self._store.own_files
        mine = [path for path in paths if not str(path).startswith(own)]
        if mine or self._has_live_news(now):
            store = self._store.get()
            outcome, strange = sync_paths(store, self._config, self._where, mine, host=self._host)
            yield from self._told(store, outcome)
            self._strangers.met(strange, now)
        if ready := self._strangers.ready(now):
            yield from self._look_at_strangers(ready)

    def _has_live_news(self, now: float) -> bool:
        """Nothing tells of rows in a database: they have to be asked for."""
        if now < self._live_due or not self._config.source(LIVE).enabled:
            return False
        self._live_due = now + LIVE_S
        return has_news(self._store.get())

    def _look_at_everything(self) -> Iterator[Happening]:
        # Due again at once, should this one fail.
        self._whole_look_at = 0.0
        begun = time.monotonic()
        yield from self._look(self._where, is_whole=True)
        now = time.monotonic()
        self._strangers.all_seen()
        self._changes.poll_s = max(POLL_S, (now - begun) * REST_POLLING)
        self._whole_look_at = now + self._interval

    def _look_at_strangers(self, paths: list[Path]) -> Iterator[Happening]:
        """Nobody knows what these are: the adapters whose roots they lie below find out."""
        roots = [root for root in self._where if any(_is_below(path, root.path) for path in paths)]
        begun, before = time.monotonic(), (self._totals.batches, self._totals.sources)
        yield from self._look(roots, is_whole=False)
        now, found = time.monotonic(), (self._totals.batches, self._totals.sources) > before
        self._strangers.looked(paths, found=found, now=now, rest=(now - begun) * REST_STRANGERS)

    def _look(self, roots: list[Root], *, is_whole: bool) -> Iterator[Happening]:
        store, present = self._store.get(), _as_they_are(roots)
        outcome = sync(store, self._config, present, host=self._host, progress=self._progress)
        yield from self._told(store, outcome, is_whole=is_whole)

    def _told(
        self, store: Store, outcome: SyncOutcome, *, is_whole: bool = False
    ) -> Iterator[Happening]:
        report, at = outcome.report, now_ms()
        changed = list(_changed(store, outcome, at))
        synced = Synced(
            at=at,
            whole=is_whole,
            sources=report.ingested,
            sessions=len(outcome.touched),
            # Only a whole look has counted them all; the rest touches few.
            events=report.events or sum(session.new_events for session in changed),
            bytes=report.bytes,
            problems=outcome.new_problems,
            vanished=outcome.vanished,
            seconds=report.seconds,
        )
        self._totals.add(synced)
        self._touched.update(outcome.touched)
        if synced.is_news or (is_whole and not self._changes.polling):
            yield synced
        yield from changed
        for noted in outcome.problems_found:
            yield ProblemNoted(at=at, **msgspec.structs.asdict(noted))

    def _try_again_later(self, error: StoreError) -> Iterator[Happening]:
        self._store.close()
        self._whole_look_at = 0.0
        self._progress.end()
        yield Trouble(
            at=now_ms(),
            kind=error.kind,
            message=str(error),
            hint=error.hint,
            retry_in=self._retry_s,
        )
        self._stop.wait(self._retry_s)
        self._retry_s = min(self._retry_s * 2, LONGEST_RETRY_S)


class _KeptOpen:
    """A store that stays open, and is opened again after it was lost or replaced by another."""

    def __init__(self, opening: Callable[[], Store]) -> None:
        self._opening = opening
        self._store: Store | None = None
        self._identity: tuple[int, int] | None = None
        self.own_files = os.devnull

    def get(self) -> Store:
        if self._store is None:
            self._store = self._opening()
            place = Path(self._store.db.name)
            self._identity = identity(place)
            # The address of a server is no path, and no path begins like it.
            self.own_files = str(place.absolute()) if self._identity else self._store.db.name
        return self._store

    def is_another(self) -> bool:
        """Whether its file was deleted or replaced: what we write there would be lost."""
        if self._store is not None and identity(Path(self.own_files)) != self._identity:
            self.close()
        return self._store is None

    def close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> "_KeptOpen":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class _Stopped(Exception):
    """The watch is to end in the middle of a long look. Never leaves this module."""


class _Stoppable(ReadProgress):
    """Passes on what it is told, and ends a look between two pieces when it is time to stop."""

    def __init__(self, inner: ReadProgress, stop: Stop) -> None:
        self._inner = inner
        self._stop = stop

    def begin(self, files: int, size: int) -> None:
        self._inner.begin(files, size)

    def advance(self, size: int) -> None:
        if self._stop.is_set():
            raise _Stopped
        self._inner.advance(size)

    def end(self) -> None:
        self._inner.end()


def eventless(places: Iterable[Path], mounts: Path = MOUNTS) -> str:
    """Why no events come from some of these places; empty when they do.

    Of what another machine writes, a network file system tells nothing.
    """
    kinds = {filesystem_of(place, mounts) for place in places} & NETWORK
    return f"{', '.join(sorted(kinds))} gives no events" if kinds else ""


def _changed(store: Store, outcome: SyncOutcome, at: int) -> Iterator[SessionChanged]:
    for uid, before in list(outcome.touched.items())[:MOST_TOLD]:
        row = store.sessions.row(uid)
        if row is not None:
            yield SessionChanged.of(row, before, at)


def _as_they_are(roots: list[Root]) -> list[Root]:
    return [msgspec.structs.replace(root, exists=root.path.exists()) for root in roots]


def _is_below(path: Path, root: Path) -> bool:
    return path == root or root in path.parents


def _no_events(reason: str) -> Trouble:
    """Everything still arrives, only later and at a higher cost."""
    limits = (os.strerror(errno.ENOSPC), os.strerror(errno.EMFILE), "limit")
    hint = None
    if any(word in reason for word in limits):
        hint = "Allow more: sudo sysctl fs.inotify.max_user_watches=524288, then start it again."
    message = f"no events from the file system, looking again and again instead: {reason}"
    return Trouble(at=now_ms(), kind="no_events", message=message, hint=hint, retry_in=None)
