"""One session as text: a header, then its events with subagents below their calls."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.outline import outline
from session_memory.cli.output import short_path
from session_memory.cli.text import cut, safe, safe_lines, width
from session_memory.views.figures import count, duration, local, size

if TYPE_CHECKING:
    from session_memory.core.schema import Session, SessionEvent
    from session_memory.views.session import SessionView, ShownEvent

Names = Callable[[str], str]
"""Gives the short name of a session."""

INDENT = "    "
KIND = len("human_intervention")
_STYLES: dict[str, dict[str, Any]] = {
    "user_msg": {"fg": "green"},
    "human_intervention": {"fg": "yellow"},
    "decision": {"fg": "yellow"},
    "error": {"fg": "red"},
    "retry": {"fg": "magenta"},
    "test_run": {"fg": "cyan"},
    "thinking": {"dim": True},
    "lifecycle": {"dim": True},
}
# Every call is a tool_call and every result a tool_result: not worth a word.
_IMPLIED = frozenset({"tool_call", "tool_result", "user_msg"})


def header(view: "SessionView", names: Names) -> Iterator[str]:
    session, cost = view.session, view.session.cost
    yield click.style(safe(session.title or "(no title)"), bold=True)
    place = " ".join(filter(None, (session.repo, _in_brackets(session.cwd))))
    cache = f"cache {count(cost.cache_read_tokens)} read, {count(cost.cache_write_tokens)} written"
    extra = f", {cost.web_searches} web searches" if cost.web_searches else ""
    told = {
        "session": session.session_uid,
        "repo": place,
        "branch": session.git_branch,
        "model": session.model,
        "agent": " ".join(filter(None, (session.flavor, session.agent_version))),
        "time": _times(session),
        "tokens": f"{count(cost.input_tokens)} in, {count(cost.output_tokens)} out, {cache}{extra}",
        "turns": f"{cost.turns}, retries {cost.retries}, outcome {session.outcome}",
        "source": f"{short_path(session.source_path or '-')} ({size(session.source_bytes)})",
        "parent": _parent(session, names),
    }
    for name, value in told.items():
        if value:
            yield f"  {name:<9}{safe(value)}"
    hint = "" if any(shown.owner for shown in view.events) else "; --inherited shows them"
    for uid, number in view.inherits.items():
        yield f"  {'inherits':<9}{number} events of {safe(names(uid))}{hint}"
    for child in view.children:
        title = f"{names(child.session_uid)} {child.title or ''}"
        yield f"  {child.relation or 'child':<9}{safe(title).rstrip()}"


def _times(session: "Session") -> str | None:
    if session.started_at is None:
        return None
    worked = duration(session.cost.wall_clock_s)
    return f"{local(session.started_at)} to {local(session.ended_at)}, {worked} at work"


def _parent(session: "Session", names: Names) -> str | None:
    if session.parent_uid is None:
        return None
    return f"{session.relation or 'child'} of {names(session.parent_uid)}"


def _in_brackets(text: str | None) -> str:
    return f"({text})" if text else ""


class Transcript:
    """Turns the events of one session into lines, at most ``limit`` columns wide."""

    def __init__(self, view: "SessionView", names: Names, limit: int | None, day: str = "") -> None:
        self._view = view
        self._names = names
        self._limit = limit
        self.day = day

    def lines(self, depth: int = 0) -> Iterator["tuple[ShownEvent | None, str]"]:
        """Each line, with its event on the first of its lines."""
        events = self._view.events
        for place, shown in enumerate(events):
            day = local(shown.event.ts, "%Y-%m-%d") if shown.event.ts else self.day
            if day != self.day:
                self.day = day
                yield None, INDENT * depth + click.style(f"-- {day}", dim=True)
            yield shown, INDENT * depth + self._line(shown, depth)
            follower = events[place + 1] if place + 1 < len(events) else None
            if shown.payload is not None and not _same_record(shown, follower):
                yield from ((None, line) for line in self._payload(shown, depth))

    def _line(self, shown: "ShownEvent", depth: int) -> str:
        event = shown.event
        start = f"{shown.seq:>5}  {local(event.ts, '%H:%M:%S'):<8}  {safe(event.kind):<{KIND}}"
        tool = f"  {safe(event.tool)}" if event.tool else ""
        summary = safe(f"  {self._where(shown)}{self._what(event)}").rstrip()
        line = f"{start}{tool}{summary}"
        if self._limit:
            line = cut(line, max(self._limit - len(INDENT) * depth, 20))
        style = {"fg": "red"} if event.is_error else self._style(shown)
        return click.style(line, **style) if style else line

    def _style(self, shown: "ShownEvent") -> dict[str, Any]:
        dim = shown.owner is not None or shown.event.branch is not None
        return {"dim": True} if dim else _STYLES.get(shown.event.kind, {})

    def _where(self, shown: "ShownEvent") -> str:
        """What sets an event apart: other kinds it is of, and where it lies."""
        from session_memory.views.session import is_compaction

        marks = [mark for mark in shown.event.marks if mark not in _IMPLIED]
        if shown.owner is not None:
            several = len(self._view.inherits) > 1
            marks.append(f"inherited from {self._names(shown.owner)}" if several else "inherited")
        if shown.event.branch is not None:
            marks.append("abandoned branch")
        if shown.event.is_sidechain and self._view.session.relation != "subagent":
            marks.append("sidechain")
        if is_compaction(shown.event):
            marks.append("compaction")
        return f"[{', '.join(marks)}] " if marks else ""

    def _what(self, event: "SessionEvent") -> str:
        words = event.summary
        if not words and event.native_kind:
            words = f"({event.native_kind})"
        if event.exit_code:
            words += f" (exit {event.exit_code})"
        return words

    def _payload(self, shown: "ShownEvent", depth: int) -> Iterator[str]:
        payload, margin = shown.payload, INDENT * (depth + 3)
        if payload is None:
            return
        for line in outline(payload.record):
            yield margin + line
        if payload.spilled is not None:
            yield margin + click.style("the whole output, which the agent keeps apart:", dim=True)
            for line in safe_lines(payload.spilled):
                yield margin + line


def _same_record(shown: "ShownEvent", follower: "ShownEvent | None") -> bool:
    """Blocks of one record share its payload, which is shown once, below the last of them."""
    if follower is None:
        return False
    ours, theirs = shown.event.payload_ref or "", follower.event.payload_ref or ""
    return ours.partition("#")[0] == theirs.partition("#")[0]


def rule(text: str, depth: int) -> str:
    line = f"{INDENT * depth}-- {safe(text)}"
    return click.style(line, bold=True) if width(line) else line
