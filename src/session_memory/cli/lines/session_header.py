"""The lines above a transcript: what the session is, what it used, where it comes from."""

from collections.abc import Callable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

import click

from session_memory.render.paths import short_path
from session_memory.render.phrases import (
    cost_words,
    evicted_words,
    outcome_words,
    time_words,
    token_words,
)
from session_memory.render.text import cut, cut_middle, safe
from session_memory.views.figures import plural, size

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.views.transcript_items import SessionStart

MARGIN, NARROWEST = 11, 30
_LIVE = "live"
ShortNames = Callable[[str], str]
"""A function that returns the short name of the session with a uid."""


def header(
    start: "SessionStart", names: ShortNames, limit: int | None, tz: tzinfo | None = None
) -> Iterator[str]:
    """Yield the lines above a transcript, each in at most ``limit`` columns if that is given."""
    session, cost = start.session, start.session.cost
    yield click.style(safe(start.title), bold=True)
    place = " ".join(filter(None, (session.repo, _in_brackets(session.cwd))))
    facts = {
        "session": session.session_uid,
        "repo": place,
        "branch": session.git_branch,
        "task": session.task_ref,
        "model": session.model,
        "agent": " ".join(filter(None, (session.flavor, session.agent_version))),
        "time": time_words(start, tz),
        "tokens": token_words(cost),
        "cost": cost_words(start),
        "counted": _reported(start),
        "turns": f"{cost.turns}, {plural(cost.retries, 'retry', 'retries')}",
        "outcome": outcome_words(session),
        "source": _source(session),
        "parent": _parent(session, names),
        "evicted": evicted_words(start),
    }
    for name, value in facts.items():
        if value:
            yield _line(name, value, limit)
    hint = "" if start.with_inherited else "; --inherited shows them"
    for uid, number in start.inherits.items():
        yield _line("inherits", f"{plural(number, 'event')} of {names(uid)}{hint}", limit)
    for child, title in zip(start.children, start.child_titles, strict=True):
        words = safe(f"{names(child.session_uid)} {title}").rstrip()
        words = words if limit is None else cut(words, max(limit - MARGIN, NARROWEST))
        yield _line(child.relation or "child", words, None)
    yield ""


def _source(session: "Session") -> str:
    if not session.source_path:
        return "this store" if session.flavor == _LIVE else "-"
    return f"{short_path(session.source_path)} ({size(session.source_bytes)})"


def _reported(start: "SessionStart") -> str:
    """Return a note if the tokens include subagents whose own logs are not in the store."""
    if not start.reported:
        return ""
    return f"with {plural(start.reported, 'response')} of subagents that only this log reports"


def _line(name: str, value: str, limit: int | None) -> str:
    """Return a line with a name and its value. A value that is too long is cut in the middle."""
    value = safe(value)
    shown = value if limit is None else cut_middle(value, max(limit - MARGIN, NARROWEST))
    return f"  {name:<9}{shown}"


def _parent(session: "Session", names: ShortNames) -> str | None:
    if session.parent_uid is None:
        return None
    return f"{session.relation or 'child'} of {names(session.parent_uid)}"


def _in_brackets(text: str | None) -> str:
    return f"({text})" if text else ""
