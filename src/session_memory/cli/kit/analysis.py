"""Run an analysis with a progress bar, for the commands that can start one."""

import sys
from typing import TYPE_CHECKING, Any

from session_memory.cli.kit.settings import Settings
from session_memory.views.figures import plural

if TYPE_CHECKING:
    from session_memory.memory import Memory
    from session_memory.memory.results import AnalysisResult

WORTH_A_BAR = 20_000


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
    settings: Settings,
    memory: "Memory",
    sessions: tuple[str, ...] = (),
    jobs: int | None = None,
) -> "AnalysisResult":
    """Analyze the named ``sessions``, or all that changed since their last analysis."""
    bar = _AnalysisBar(settings.chatty and sys.stderr.isatty())
    try:
        return memory.analyze(
            sessions or None, jobs=jobs, on_begin=bar.begin, on_session=bar.advance
        )
    finally:
        bar.end()


def analysis_summary(done: "AnalysisResult") -> str:
    """Return what the analysis did, in one or two sentences."""
    if not done.analyzed:
        return f"Nothing to analyze; {plural(done.unchanged, 'session')} known."
    ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(done.outcomes.items()))
    known = f"; {done.unchanged:,} were known" if done.unchanged else ""
    found = f"{plural(done.signals, 'signal')} and {plural(done.errors, 'error')}"
    read = f"Analyzed {plural(done.analyzed, 'session')} ({plural(done.events, 'event')}){known}."
    return f"{read} Outcomes: {ends}. Found {found}."
