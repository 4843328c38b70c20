"""What ``session-memory watch`` prints: JSON lines, plain lines, a live screen, or only errors."""

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.kit.settings import Settings
from session_memory.cli.lines.retention import STAYS
from session_memory.render.json_text import to_json
from session_memory.render.paths import short_path
from session_memory.render.text import safe
from session_memory.views.figures import duration, local, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator

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

CLOCK = "%H:%M:%S"


class WatchOutput(AbstractContextManager["WatchOutput"]):
    """Prints what ``--quiet`` prints: errors and warnings, on stderr. Subclasses print more."""

    def about(self, event: "WatchEvent") -> None:
        """Call the method that is named like the kind of ``event``, such as ``synced``, if any."""
        report = getattr(self, str(type(event).__struct_config__.tag), None)
        if report is not None:
            report(event)

    def error(self, trouble: "WatchError") -> None:
        retry = "" if trouble.retry_in is None else f"; again in {duration(trouble.retry_in)}"
        click.secho(f"error: {safe(trouble.message)}{retry}", fg="red", err=True)
        if trouble.hint:
            click.echo(f"hint: {safe(trouble.hint)}", err=True)

    def retained(self, ran: "RetentionRan") -> None:
        """Warn of data loss and of an exceeded hard cap."""
        for line in retention_alarms(ran):
            click.secho(f"warning: {line}", fg="yellow", err=True)

    def __exit__(self, *failure: object) -> None:
        """Nothing to clean up here."""


class WatchJsonLines(WatchOutput):
    """One JSON object per line, written at once."""

    def about(self, event: "WatchEvent") -> None:
        from session_memory.collect.watch_events import Idle

        if not isinstance(event, Idle):
            click.echo(to_json(event.to_dict()))


class WatchPlainLines(WatchOutput):
    """A line for each session that changed, for a log file."""

    def __init__(self) -> None:
        self._is_caught_up = False

    def started(self, started: "Started") -> None:
        click.echo(f"Collecting into {safe(short_path(started.store))}. Following:")
        for root in started.roots:
            there = "" if root.exists else " (not there yet)"
            click.echo(f"  {root.flavor}: {safe(short_path(root.path))}{there}")

    def synced(self, synced: "Synced") -> None:
        if not self._is_caught_up or synced.vanished:
            click.echo(f"{_clock(synced)}  {_batch(synced)}")

    def idle(self, idle: object) -> None:
        self._is_caught_up = True

    def session(self, session: "SessionChanged") -> None:
        # The first sync may bring hundreds of sessions, so one line counts them all.
        if self._is_caught_up:
            click.echo(f"{_clock(session)}  {session_line(session)}")

    def problem(self, problem: "ProblemFound") -> None:
        place = f"{short_path(problem.path)} at byte {problem.place:,}"
        click.echo(f"{_clock(problem)}  problem: {safe(problem.reason)} in {safe(place)}")

    def analyzed(self, analyzed: "SessionsAnalyzed") -> None:
        click.echo(f"{_clock(analyzed)}  {analysis_line(analyzed)}")

    def retained(self, ran: "RetentionRan") -> None:
        super().retained(ran)
        if line := retention_line(ran):
            click.echo(f"{_clock(ran)}  {safe(line)}")

    def retro(self, written: "RetroWritten") -> None:
        click.echo(f"{_clock(written)}  wrote {safe(short_path(written.path))}")

    def stopped(self, stopped: "Stopped") -> None:
        click.echo(summary(stopped))


def watch_output(settings: Settings, bar: "Bar") -> WatchOutput:
    """Return the output that fits its reader: a program, a person at a terminal, or a log file."""
    if settings.as_json:
        return WatchJsonLines()
    if settings.quiet:
        return WatchOutput()
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from session_memory.cli.lines.watch_screen import WatchScreen

        return WatchScreen(settings, bar)
    return WatchPlainLines()


def session_line(session: "SessionChanged") -> str:
    name = session.session_uid.partition(":")[2]
    grown = f"+{session.new_events:,}" if session.new_events >= 0 else f"{session.new_events:,}"
    parts = (
        session.flavor,
        session.repo or "-",
        f"{grown} of {plural(session.events, 'event')}",
        name,
        session.title or "",
    )
    return safe("  ".join(parts)).rstrip()


def analysis_line(analyzed: "SessionsAnalyzed") -> str:
    waiting = f", {analyzed.waiting:,} waiting" if analyzed.waiting else ""
    return f"analyzed {plural(analyzed.sessions, 'session')}{waiting}"


def retention_line(ran: "RetentionRan") -> str:
    """Return what was evicted and what waits for analysis; empty if nothing was over the limits."""
    report, parts = ran.report, []
    passes = ("backstop_evicted", "budget_evicted", "overflow_analyzed", "overflow_data_loss")
    if evicted := sum(report[name] for name in passes):
        place = f" into {short_path(ran.archive)}" if ran.archive else ""
        freed = size(report["bytes_freed"])
        parts.append(f"evicted {plural(evicted, 'session')} ({freed}){place}")
    if waiting := report["waiting_for_analysis"]:
        parts.append(f"{plural(waiting, 'session')} over the limits wait for analysis")
    return "; ".join(parts)


def retention_alarms(ran: "RetentionRan") -> "Iterator[str]":
    if lost := ran.report["overflow_data_loss"]:
        yield f"{plural(lost, 'session')} evicted without an analysis: DATA LOSS"
    if ran.report["over_hard_cap"]:
        yield f"the store is still over its hard cap: {STAYS}"


def summary(stopped: "Stopped") -> str:
    return (
        f"Stopped. Read {size(stopped.bytes)} into {plural(stopped.sessions, 'session')} with"
        f" {plural(stopped.events, 'new event')} and {plural(stopped.problems, 'new problem')}."
    )


def _batch(synced: "Synced") -> str:
    parts = [
        f"{size(synced.bytes)} into {plural(synced.sessions, 'session')}",
        plural(synced.events, "new event"),
    ]
    if synced.problems:
        parts.append(plural(synced.problems, "new problem"))
    if synced.vanished:
        parts.append(f"{plural(synced.vanished, 'log')} deleted by the agent and kept here")
    return f"read {', '.join(parts)} in {duration(synced.seconds)}"


def _clock(event: Any) -> str:
    return local(event.to_dict()["at"], CLOCK)
