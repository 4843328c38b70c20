"""The live screen of ``session-memory watch``: directories, sessions that grow, and totals.

Texts from logs are made safe and never read as markup. The screen is drawn again when something
happened, and otherwise every five seconds, so an idle watch uses hardly any CPU.
"""

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.settings import Settings
from session_memory.cli.lines.watch_output import (
    CLOCK,
    WatchOutput,
    analysis_line,
    retention_alarms,
    retention_line,
    summary,
)
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import count, local, plural, size

if TYPE_CHECKING:
    from session_memory.cli.kit.progress import Bar
    from session_memory.collect.watch_events import (
        ProblemFound,
        RetentionRan,
        RetroWritten,
        SessionChanged,
        SessionsAnalyzed,
        Started,
        Stopped,
        Synced,
        WatchError,
        WatchEvent,
    )

ACTIVE_S = 600.0
RATE_S = 60.0
MOST_SHOWN = 12
DRAWN_EVERY_S = 0.25
DRAWN_IDLE_S = 5.0


class ActiveSession:
    """A session that its agent wrote to recently, and how many events it gained each minute."""

    def __init__(self, session: "SessionChanged") -> None:
        self.session = session
        self.seen_at = 0.0
        self._grown: deque[tuple[float, int]] = deque()

    def grew(self, session: "SessionChanged", now: float) -> None:
        self.session, self.seen_at = session, now
        self._grown.append((now, max(session.new_events, 0)))
        self._forget(now)

    def per_minute(self, now: float) -> int:
        self._forget(now)
        return sum(events for _, events in self._grown)

    def _forget(self, now: float) -> None:
        while self._grown and self._grown[0][0] < now - RATE_S:
            self._grown.popleft()


class WatchScreen(WatchOutput):
    def __init__(self, settings: Settings, bar: "Bar") -> None:
        self._plain = settings.no_color
        self._bar = bar
        self._live: Any = None
        self._started: Started | None = None
        self._active: dict[str, ActiveSession] = {}
        self._events = self._bytes = self._problems = 0
        self._last_trouble = self._last_work = ""
        self._drawn_at = 0.0
        self._is_new = False
        self._is_caught_up = False

    def about(self, event: "WatchEvent") -> None:
        super().about(event)
        # During the first sync only its progress bar is shown; the screen begins after it.
        if self._is_caught_up:
            self._draw_if_due(time.monotonic())

    def started(self, started: "Started") -> None:
        self._started = started
        places = ", ".join(short_path(root.path) for root in started.roots if root.exists)
        click.echo(safe(f"Following {places or 'nothing yet'} …"))

    def synced(self, synced: "Synced") -> None:
        if self._is_caught_up:
            self._events += synced.events
            self._bytes += synced.bytes
            self._problems += synced.problems
            self._last_trouble = ""
        self._is_new = True

    def session(self, session: "SessionChanged") -> None:
        if self._is_caught_up:
            uid = session.session_uid
            active = self._active.pop(uid, None) or ActiveSession(session)
            active.grew(session, time.monotonic())
            self._active[uid] = active

    def problem(self, problem: "ProblemFound") -> None:
        if self._is_caught_up:
            self._last_trouble = f"{problem.reason} in {short_path(problem.path)}"

    def error(self, trouble: "WatchError") -> None:
        self._last_trouble, self._is_new = trouble.message, True
        if not self._is_caught_up:
            super().error(trouble)

    def idle(self, idle: object) -> None:
        if not self._is_caught_up:
            self._is_caught_up = True
            self._bar.is_enabled = False
            self._begin()

    def analyzed(self, analyzed: "SessionsAnalyzed") -> None:
        self._show_work(analysis_line(analyzed))

    def retained(self, ran: "RetentionRan") -> None:
        for line in retention_alarms(ran):
            self._last_trouble = line
        if line := retention_line(ran):
            self._show_work(line)

    def retro(self, written: "RetroWritten") -> None:
        self._show_work(f"wrote {short_path(written.path)}")

    def _show_work(self, text: str) -> None:
        self._last_work, self._is_new = text, True

    def stopped(self, stopped: "Stopped") -> None:
        self._end()
        click.echo(summary(stopped))

    def __exit__(self, *failure: object) -> None:
        self._end()

    # ------------------------------------------------------------ drawing

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(no_color=self._plain or None, highlight=False, markup=False)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._live.start()

    def _end(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw_if_due(self, now: float) -> None:
        waited = now - self._drawn_at
        if self._live is None or waited < (DRAWN_EVERY_S if self._is_new else DRAWN_IDLE_S):
            return
        self._forget_quiet_ones(now)
        self._live.update(self._view(now), refresh=True)
        self._drawn_at, self._is_new = now, False

    def _forget_quiet_ones(self, now: float) -> None:
        quiet = [uid for uid, one in self._active.items() if one.seen_at < now - ACTIVE_S]
        for uid in quiet:
            del self._active[uid]

    def _view(self, now: float) -> Any:
        from rich.console import Group

        return Group(*self._head(), self._table(now), *self._more(), *self._foot())

    def _head(self) -> Iterator[Any]:
        from rich.text import Text

        if self._started is None:
            return
        place = short_path(self._started.store)
        yield Text(safe(f"Session Memory collects into {place}, from:"), "bold")
        for root in self._started.roots:
            there = root.path.exists()
            line = f"  {root.flavor}: {short_path(root.path)}{'' if there else ' (not there yet)'}"
            yield Text(safe(line), "" if there else "dim")

    def _table(self, now: float) -> Any:
        from rich.table import Table
        from rich.text import Text

        if not self._active:
            return Text("\nNobody is writing. Ctrl-C ends the watch.\n", "dim")
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("last", "agent", "repo"):
            table.add_column(title, no_wrap=True)
        for title in ("events", "per min", "in", "out"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
        newest = list(reversed(self._active.values()))
        for active in newest[:MOST_SHOWN]:
            table.add_row(*(Text(safe(cell)) for cell in _cells(active, now)))
        return table

    def _more(self) -> Iterator[Any]:
        from rich.text import Text

        if len(self._active) > MOST_SHOWN:
            yield Text(f"… and {len(self._active) - MOST_SHOWN} more", "dim")

    def _foot(self) -> Iterator[Any]:
        from rich.text import Text

        counted = (
            f"{plural(self._events, 'event')}, {size(self._bytes)},"
            f" {plural(self._problems, 'problem')} since the start; Ctrl-C ends it"
        )
        yield Text(counted, "dim")
        if self._last_work:
            yield Text(safe(self._last_work), "dim")
        if self._last_trouble:
            yield Text(safe(self._last_trouble), "yellow")


def _cells(active: ActiveSession, now: float) -> tuple[str, ...]:
    session = active.session
    tokens = session.input_tokens
    return (
        local(session.to_dict()["at"], CLOCK),
        session.flavor,
        session.repo or "-",
        f"{session.events:,}",
        count(active.per_minute(now)),
        count(tokens),
        count(session.output_tokens),
        session.title or session.session_uid,
    )
