"""The work of a watch besides collecting: analyze, run retention, write weekly retrospectives.

Collecting comes first. The work happens in idle moments, and a backlog of sessions is analyzed a
little at a time, so that a new line is still collected within a second. Work that fails is reported
and tried again later; a failure never ends the watch. What is done already is known from the store
and the files of retrospectives, so a watch that was killed continues where it stopped.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from session_memory.collect.watch_events import (
    Idle,
    RetentionRan,
    RetroWritten,
    SessionsAnalyzed,
    Stopped,
    Synced,
    WatchError,
    WatchEvent,
)
from session_memory.core.errors import AnalysisFailed, SessionMemoryError
from session_memory.core.text import exception_text
from session_memory.core.time import format_time, now_ms

if TYPE_CHECKING:
    from session_memory.memory.memory import Memory

EVERY_S = 60.0
# In seconds: how often the watch looks whether another program collected something, and if
# retention is due.
CHECK_S = 600.0
# After each failure in a row the pause is twice as long, up to this.
LONGEST_PAUSE_S = 3600.0
# The watch analyzes for this long before it looks at the logs again.
SLICE_S = 0.5


class Upkeep:
    """Does the work of a watch besides collecting. Call `after` with each event of the watch.

    ``opened`` opens a memory with the current configuration. Sessions that grow are analyzed at
    most every ``every_s`` seconds, because a session that grew is read as a whole.
    """

    def __init__(
        self,
        opened: "Callable[[], AbstractContextManager[Memory]]",
        *,
        analyze: bool = False,
        retros: Path | None = None,
        every_s: float = EVERY_S,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._opened = opened
        self._analyzes = analyze or retros is not None
        self._retros = retros
        self._every_s = every_s
        self._is_stopping = is_stopping
        # Sessions may have waited for analysis since before the watch started.
        self._has_work = True
        self._has_backlog = False
        self._store_is_lost = False
        self._unreadable: set[str] = set()
        self._failures = self._earlier_failures = 0
        self._next_s = self._check_s = 0.0

    def after(self, event: WatchEvent) -> Iterator[WatchEvent]:
        """Do the work that is due after this event of the watch, and yield the events of the work.

        Work is done only in idle moments, and once more when the watch stops.
        """
        if isinstance(event, Synced):
            self._has_work |= event.whole or event.sessions > 0
        elif isinstance(event, WatchError):
            self._store_is_lost |= event.retry_in is not None
        elif isinstance(event, Stopped):
            if self._analyzes and (self._has_work or self._has_backlog):
                yield from self._work(is_last=True)
        elif isinstance(event, Idle):
            is_lost, self._store_is_lost = self._store_is_lost, False
            if not is_lost and self._is_time():
                yield from self._work()

    def _is_time(self) -> bool:
        now = time.monotonic()
        if self._is_stopping():
            return False
        return self._has_backlog or now >= self._check_s or (self._has_work and now >= self._next_s)

    def _work(self, *, is_last: bool = False) -> Iterator[WatchEvent]:
        self._has_work = self._has_backlog = False
        self._earlier_failures, self._failures = self._failures, 0
        yield from self._guarded(self._steps(is_last))
        now, pause = time.monotonic(), self._pause_s
        self._next_s, self._check_s = now + pause, now + max(CHECK_S, pause)

    def _steps(self, is_last: bool) -> Iterator[WatchEvent]:
        with self._opened() as memory:
            if self._analyzes:
                yield from self._guarded(self._analyze(memory, is_last=is_last))
            if not (self._has_backlog or is_last):
                yield from self._guarded(self._retain(memory))
                yield from self._guarded(self._write_retro(memory))

    def _guarded(self, work: Iterator[WatchEvent]) -> Iterator[WatchEvent]:
        """Run one step. A failure is reported; the other steps and the watch go on."""
        try:
            yield from work
        except Exception as error:
            self._has_work, self._failures = True, self._earlier_failures + 1
            yield self._failure(error)

    @property
    def _pause_s(self) -> float:
        """The time until the next work; longer after failures, so that no log fills with them."""
        longest = max(LONGEST_PAUSE_S, self._every_s)
        return min(self._every_s * 2.0 ** min(self._failures, 20), longest)

    def _analyze(self, memory: "Memory", *, is_last: bool) -> Iterator[WatchEvent]:
        from session_memory.learn.analyze import analyze

        begun, due = time.monotonic(), 0

        def begin(sessions: int, events: int) -> None:
            nonlocal due
            due = sessions

        def has_time() -> bool:
            is_asked_to_stop = self._is_stopping() and not is_last
            return time.monotonic() - begun < SLICE_S and not is_asked_to_stop

        done = 0

        def count(events: int) -> None:
            nonlocal done
            done += 1

        try:
            analyze(memory.store, on_begin=begin, on_session=count, keep_going=has_time)
        except AnalysisFailed as error:
            # Sessions that cannot be analyzed are reported once. The others are analyzed as usual.
            if error.failed.keys() - self._unreadable:
                yield self._failure(error)
            self._unreadable |= error.failed.keys()
        # Sessions may be left because the time was over. They are analyzed in the next idle moment.
        # If no session could be analyzed, trying again at once would not help.
        self._has_backlog = 0 < done < due
        if done:
            seconds = round(time.monotonic() - begun, 3)
            yield SessionsAnalyzed(at=now_ms(), sessions=done, waiting=due - done, seconds=seconds)

    def _retain(self, memory: "Memory") -> Iterator[WatchEvent]:
        from session_memory.memory.retention import run_due_retention

        due = run_due_retention(memory.store, memory.config)
        if due.error is not None:
            raise SessionMemoryError(f"retention did not run: {due.error}")
        if due.outcome is not None:
            report = msgspec.to_builtins(due.outcome.report)
            yield RetentionRan(at=now_ms(), report=report, archive=due.outcome.archive)

    def _write_retro(self, memory: "Memory") -> Iterator[WatchEvent]:
        from session_memory.memory.weekly_retro import write_weekly_retro

        if self._retros is None:
            return
        if written := write_weekly_retro(memory, self._retros):
            since, until = (
                format_time(int(moment.timestamp() * 1000)) for moment in written.week[1:]
            )
            yield RetroWritten(at=now_ms(), path=str(written.path), since=since, until=until)

    def _failure(self, error: Exception) -> WatchError:
        kind, message, hint = "upkeep_failed", exception_text(error), None
        if isinstance(error, SessionMemoryError):
            kind, message, hint = error.kind, str(error), error.hint
        return WatchError(
            at=now_ms(), kind=kind, message=message, hint=hint, retry_in=self._pause_s
        )
