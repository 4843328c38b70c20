"""Watch: follow every source, and keep the store up to date while the agents write.

Events of the file system only say where to look. What is new is found as `sync` finds it: by
cursor, size and times. The watch keeps no state that another writer could invalidate. So a sync or
a second watch may run at the same time, and a watch that was killed has missed nothing.
"""

import errno
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import msgspec

from session_memory.collect.directory_changes import POLL_S, DirectoryChanges
from session_memory.collect.discover import Root, outside_roots
from session_memory.collect.kept_store import KeptStore
from session_memory.collect.live_news import LiveNews
from session_memory.collect.stop_flag import StopFlag
from session_memory.collect.sync import sync, sync_paths
from session_memory.collect.sync_report import ReadProgress, SyncOutcome
from session_memory.collect.unknown_paths import UnknownPaths
from session_memory.collect.watch_events import (
    Idle,
    ProblemFound,
    SessionChanged,
    Started,
    Stopped,
    Synced,
    WatchError,
    WatchEvent,
)
from session_memory.config import Config, this_host
from session_memory.core.errors import (
    AdapterFailed,
    NetworkFilesystem,
    NewerSchema,
    NotAStore,
    StoreDamaged,
    StoreError,
)
from session_memory.core.freed_memory import give_back_memory
from session_memory.core.time import now_ms
from session_memory.derive.live_sources import LIVE
from session_memory.store.filesystems import NETWORK, filesystem_of
from session_memory.store.page_memory import release_pages
from session_memory.store.store import Store

WHOLE_LOOK_S = 600.0
# How often live sessions are looked at.
LIVE_S = 0.5
# A batch reports at most this many changed sessions.
SESSIONS_REPORTED = 500
FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 60.0
# After a look, the watch rests this many times as long as the look took.
REST_POLLING, REST_UNKNOWN = 10, 3
MOUNTS = Path("/proc/self/mounts")
FATAL = (NewerSchema, NotAStore, StoreDamaged, NetworkFilesystem)


class Watch:
    """Follows the sources below ``where`` until ``stop`` is set.

    ``opening`` opens the store. It is called again when the store was lost.
    """

    def __init__(
        self,
        opening: Callable[[], Store],
        config: Config,
        where: list[Root],
        stop: StopFlag,
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
        self._progress = _StoppableProgress(progress or ReadProgress(), stop)
        self._store = KeptStore(opening)
        # Where agents have sources outside of their roots. Each whole look finds them again.
        self._outside: list[Root] = []
        places = [root.path for root in where]
        polling = "as asked" if poll else reason_without_events(places)
        self._changes = DirectoryChanges(places, stop, polling=polling)
        self._unknown_paths = UnknownPaths()
        self._live_news = LiveNews()
        self._whole_look_at = self._live_due = 0.0
        self._retry_s = FIRST_RETRY_S
        self._totals = Stopped(at=0)
        self._touched: set[str] = set()
        self._broken_adapters: dict[str, str] = {}

    def run(self) -> Generator[WatchEvent, None, None]:
        """Yield the events of the watch as they happen, and an `Idle` after each step.

        Raises if the store cannot be opened at first, or later with one of the errors in `FATAL`.
        On any other error of the store, the watch reports a `WatchError` and tries again.
        """
        with self._store, self._changes:
            yield Started(
                at=now_ms(),
                store=self._store.get().db.name,
                host=self._host,
                roots=_with_existence(self._where),
                polling=self._changes.polling,
            )
            while not self._stop.is_set():
                yield from self._step()
        self._totals.at, self._totals.sessions = now_ms(), len(self._touched)
        yield self._totals

    def _step(self) -> Iterator[WatchEvent]:
        """Wait for changes and read them."""
        was_polling = self._changes.polling
        changed = self._changes.wait()
        if self._changes.polling != was_polling:
            yield _no_events(self._changes.polling)
        try:
            yield from self._follow(changed.paths, changed.is_incomplete)
            self._retry_s = FIRST_RETRY_S
        except FATAL:
            raise
        except StoreError as error:
            yield from self._try_again_later(error)
        except _Stopped:
            self._progress.end()
        yield Idle(at=now_ms())

    def _follow(self, paths: set[Path], is_incomplete: bool) -> Iterator[WatchEvent]:
        """Read the sources at the changed paths, or look at everything when that is needed."""
        now = time.monotonic()
        if self._store.was_lost() or is_incomplete or now >= self._whole_look_at:
            yield from self._look_at_everything()
            return
        own_files = self._store.own_files
        logs = [path for path in paths if not str(path).startswith(own_files)]
        if logs or self._has_live_news(now):
            store = self._store.get()
            where = [*self._where, *self._outside]
            outcome, unknown = sync_paths(store, self._config, where, logs, host=self._host)
            yield from self._report(store, outcome)
            self._unknown_paths.add(unknown, now)
        if due := self._unknown_paths.due(now):
            yield from self._look_at_unknown(due)

    def _has_live_news(self, now: float) -> bool:
        """Whether live sessions have new rows. No event reports them, so they are looked up."""
        if now < self._live_due or not self._config.source(LIVE).enabled:
            return False
        self._live_due = now + LIVE_S
        return self._live_news.has_come(self._store.get())

    def _look_at_everything(self) -> Iterator[WatchEvent]:
        # If this look fails, the next one is due at once.
        self._whole_look_at = 0.0
        begun = time.monotonic()
        yield from self._look(self._where, is_whole=True)
        self._outside = outside_roots(self._where)
        self._changes.follow(root.path for root in (*self._where, *self._outside))
        now = time.monotonic()
        self._unknown_paths.clear()
        self._changes.poll_s = max(POLL_S, (now - begun) * REST_POLLING)
        self._whole_look_at = now + self._interval

    def _look_at_unknown(self, paths: list[Path]) -> Iterator[WatchEvent]:
        """Look at the whole roots of unknown paths: only an adapter can tell what they are."""
        where = [*self._where, *self._outside]
        roots = [root for root in where if any(_is_below(path, root.path) for path in paths)]
        begun, before = time.monotonic(), (self._totals.batches, self._totals.sources)
        yield from self._look(roots, is_whole=False)
        now, found = time.monotonic(), (self._totals.batches, self._totals.sources) > before
        rest = (now - begun) * REST_UNKNOWN
        self._unknown_paths.looked_at(paths, found=found, now=now, rest=rest)

    def _look(self, roots: list[Root], *, is_whole: bool) -> Iterator[WatchEvent]:
        store, where = self._store.get(), _with_existence(roots)
        outcome = sync(store, self._config, where, host=self._host, progress=self._progress)
        yield from self._report(store, outcome, is_whole=is_whole)
        yield from self._report_adapters(outcome.broken_adapters)
        # A look loads the rows of all sources. The next look may be ten minutes away, so give their
        # memory back.
        release_pages(store.db)
        give_back_memory()

    def _report_adapters(self, broken: dict[str, str]) -> Iterator[WatchEvent]:
        """Report each broken adapter once, and again when its reason changes."""
        new = [why for name, why in broken.items() if self._broken_adapters.get(name) != why]
        self._broken_adapters = broken
        for why in new:
            kind, hint = AdapterFailed.kind, AdapterFailed.hint
            yield WatchError(at=now_ms(), kind=kind, message=why, hint=hint, retry_in=None)

    def _report(
        self, store: Store, outcome: SyncOutcome, *, is_whole: bool = False
    ) -> Iterator[WatchEvent]:
        """Yield the events that report a sync, and add its figures to the sums of the watch."""
        report, at = outcome.report, now_ms()
        changed = list(_changed(store, outcome, at))
        synced = Synced(
            at=at,
            whole=is_whole,
            sources=report.ingested,
            sessions=len(outcome.touched),
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
        for problem in outcome.problems_found:
            yield ProblemFound(at=at, **msgspec.structs.asdict(problem))

    def _try_again_later(self, error: StoreError) -> Iterator[WatchEvent]:
        self._store.close()
        self._whole_look_at = 0.0
        self._progress.end()
        yield WatchError(
            at=now_ms(),
            kind=error.kind,
            message=str(error),
            hint=error.hint,
            retry_in=self._retry_s,
        )
        self._stop.wait(self._retry_s)
        self._retry_s = min(self._retry_s * 2, LONGEST_RETRY_S)


class _Stopped(Exception):
    """Raised to end a long look at the logs when the watch must stop. Never leaves this module."""


class _StoppableProgress(ReadProgress):
    """Passes progress on, and ends a look between two pieces when the watch must stop."""

    def __init__(self, inner: ReadProgress, stop: StopFlag) -> None:
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


def reason_without_events(places: Iterable[Path], mounts: Path = MOUNTS) -> str:
    """Return why some of these places give no file events; empty if all do.

    A network file system gives no events for what another machine writes.
    """
    kinds = {filesystem_of(place, mounts) for place in places} & NETWORK
    return f"{', '.join(sorted(kinds))} gives no events" if kinds else ""


def _changed(store: Store, outcome: SyncOutcome, at: int) -> Iterator[SessionChanged]:
    for uid, before in list(outcome.touched.items())[:SESSIONS_REPORTED]:
        row = store.sessions.row(uid)
        if row is not None:
            yield SessionChanged.of(row, before, at)


def _with_existence(roots: list[Root]) -> list[Root]:
    return [msgspec.structs.replace(root, exists=root.path.exists()) for root in roots]


def _is_below(path: Path, root: Path) -> bool:
    return path == root or root in path.parents


def _no_events(reason: str) -> WatchError:
    """Report that there are no events. Everything is still collected, but later."""
    limits = (os.strerror(errno.ENOSPC), os.strerror(errno.EMFILE), "limit")
    hint = None
    if any(word in reason for word in limits):
        hint = "Allow more: sudo sysctl fs.inotify.max_user_watches=524288, then start it again."
    message = f"no events from the file system, so everything is looked at regularly: {reason}"
    return WatchError(at=now_ms(), kind="no_events", message=message, hint=hint, retry_in=None)
