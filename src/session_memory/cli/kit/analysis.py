"""Runs an analysis with a progress bar, for the commands that can start one."""

import sys
import time
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from session_memory.collect.watch_events import WatchEvent
    from session_memory.memory import Memory
    from session_memory.memory.results import AnalysisResult

WORTH_A_BAR = 20_000
EVERY_S = 60.0


class _AnalysisBar:
    """A progress bar that counts events, shown on a terminal if there are many."""

    def __init__(self, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._bar: Any = None
        self._task: Any = None

    def begin(self, sessions: int, events: int) -> None:
        if not self._is_wanted or events < WORTH_A_BAR:
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

        columns = ("{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(f"Analyzing {sessions:,} sessions", total=events)

    def advance(self, events: int) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, events)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def run_analysis(
    settings: Settings, memory: "Memory", sessions: tuple[str, ...] = ()
) -> "AnalysisResult":
    """Analyze what changed, or the sessions that are named."""
    bar = _AnalysisBar(settings.chatty and sys.stderr.isatty())
    try:
        return memory.analyze(sessions or None, on_begin=bar.begin, on_session=bar.advance)
    finally:
        bar.end()


class AnalysisFollower:
    """Analyzes collected sessions while a watch runs.

    It waits for an idle moment and runs at most once a minute, because a session that grew is read
    as a whole.
    """

    def __init__(self, opened: "Callable[[], AbstractContextManager[Memory]]") -> None:
        self._opened = opened
        self._is_due = False
        self._next = 0.0

    def hears(self, happening: "WatchEvent") -> "WatchEvent | None":
        """Analyze if it is time; an error is returned as an event, and the analysis is tried again
        later."""
        from session_memory.collect.watch_events import Idle, Stopped, Synced, WatchError
        from session_memory.core.errors import StoreError

        self._is_due |= isinstance(happening, Synced) and happening.sessions > 0
        is_time = isinstance(happening, Idle) and time.monotonic() >= self._next
        if not self._is_due or not (is_time or isinstance(happening, Stopped)):
            return None
        self._next = time.monotonic() + EVERY_S
        try:
            with self._opened() as memory:
                memory.analyze()
        except StoreError as error:
            return WatchError(
                at=happening.at,
                kind=error.kind,
                message=str(error),
                hint=error.hint,
                retry_in=EVERY_S,
            )
        self._is_due = False
        return None


def analysis_summary(done: "AnalysisResult") -> str:
    """What the analysis did, in one or two sentences."""
    if not done.analyzed:
        return f"Nothing to analyze; {plural(done.unchanged, 'session')} known."
    ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(done.outcomes.items()))
    known = f"; {done.unchanged:,} were known" if done.unchanged else ""
    found = f"{plural(done.signals, 'signal')} and {plural(done.errors, 'error')}"
    read = f"Analyzed {plural(done.analyzed, 'session')} ({plural(done.events, 'event')}){known}."
    return f"{read} Outcomes: {ends}. Found {found}."
