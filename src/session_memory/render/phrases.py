"""Short phrases for costs, tokens, turns, changes and results, for commands, pages and exports.

Texts from logs in a phrase are not escaped, except in `image_words`: the caller escapes the whole
phrase.
"""

from datetime import tzinfo
from typing import TYPE_CHECKING

from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.text import safe
from session_memory.views.figures import count, count_or_zero, duration, local, plural, size
from session_memory.views.paths import path_from
from session_memory.views.transcript_items import SessionStart, TranscriptEvent, TurnTotals

if TYPE_CHECKING:
    from session_memory.core.changes import Change
    from session_memory.core.schema import Cost, Session
    from session_memory.views.payloads import Image

NOT_ANALYZED = "not analyzed"


def session_facts(start: SessionStart, tz: tzinfo | None = None) -> dict[str, str]:
    """Return what is known about a session, by name, in the order in which it is shown."""
    session = start.session
    facts = {
        "session": session.session_uid,
        "repository": session.repo,
        "directory": session.cwd,
        "branch": session.git_branch,
        "task": session.task_ref,
        "model": session.model,
        "agent": " ".join(filter(None, (session.flavor, session.agent_version))),
        "time": time_words(start, tz),
        "tokens": token_words(session.cost),
        "cost": cost_words(start),
        "outcome": outcome_words(session),
        "evicted": evicted_words(start) if start.missing else None,
    }
    return {name: value for name, value in facts.items() if value}


def time_words(start: SessionStart, tz: tzinfo | None = None) -> str:
    """Say when a session ran: ``2026-07-01 10:00 to 2026-07-01 11:30, 12 min at work``."""
    session = start.session
    if session.started_at is None:
        return ""
    started, ended = local(session.started_at, tz=tz), local(session.ended_at, tz=tz)
    work = "" if start.work_ms is None else f", {duration(start.work_ms / 1000)} at work"
    return f"{started} to {ended}{work}"


def outcome_words(session: "Session") -> str:
    """Return the outcome of a session, or ``not analyzed``."""
    return NOT_ANALYZED if session.analyzed_at is None else session.outcome


def token_words(cost: "Cost") -> str:
    """Say the tokens of a session: ``98 in, 843 out, cache 194k read, 15k written``."""
    if not (cost.input_tokens or cost.output_tokens or cost.cache_tokens or cost.web_searches):
        return "the log reports none"
    read, written = cost.cache_read_tokens, cost.cache_write_tokens
    cache = f"cache {count_or_zero(read)} read, {count_or_zero(written)} written"
    extra = f", {plural(cost.web_searches, 'web search', 'web searches')}"
    words = f"{count_or_zero(cost.input_tokens)} in, {count_or_zero(cost.output_tokens)} out"
    return f"{words}, {cache}{extra if cost.web_searches else ''}"


def subagent_words(start: SessionStart) -> str:
    """Say what a subagent used: ``843 tokens out, $0.12``."""
    tokens = f"{count_or_zero(start.session.cost.output_tokens)} tokens out"
    return f"{tokens}, {money(start.total)}" if start.total != Amount() else tokens


def cost_words(start: SessionStart) -> str:
    """Say the cost of a session: ``$0.12 with subagents, $0.10 without``; empty without usage."""
    if start.total == Amount():
        return ""
    if start.own == Amount():
        return f"{money(start.total)}, all of it by subagents"
    if money(start.total) == money(start.own):
        return money(start.own)
    return f"{money(start.total)} with subagents, {money(start.own)} without"


def turn_words(turn: TurnTotals) -> str:
    """Write the line below a turn: ``turn 2 · 14 s · 843 tokens out · 194k cached · $0.12``."""
    cost = turn.cost
    words = [f"turn {turn.number}"] if turn.number else []
    if turn.seconds is not None:
        words.append(duration(turn.seconds))
    words.append(f"{count_or_zero(cost.output_tokens)} tokens out")
    if cost.cache_tokens:
        words.append(f"{count(cost.cache_tokens)} cached")
    if turn.amount != Amount():
        words.append(money(turn.amount))
    return " · ".join(words)


def result_words(result: TranscriptEvent) -> list[str]:
    """Say how a call ended: ``ok`` or ``failed``, the exit code if not 0, the time from 1 s on."""
    event = result.event
    words = ["failed" if event.is_error else "ok"]
    if event.exit_code:
        words.append(f"exit {event.exit_code}")
    if result.duration_ms is not None and result.duration_ms >= 1000:
        words.append(duration(result.duration_ms / 1000))
    return words


def change_name(change: "Change", cwd: str | None) -> str:
    """Name a changed file: ``src/dates.ts → src/time.ts`` if it was moved, ``a.py (deleted)``."""
    words = [path_from(change.path, cwd)]
    if change.moved_to:
        words.append(f"→ {path_from(change.moved_to, cwd)}")
    if change.action in ("create", "delete"):
        words.append(f"({change.action}d)")
    return " ".join(words)


def image_words(image: "Image") -> str:
    """Write the line for an image: ``image: image/png, 12.0 kB``."""
    kind = safe(image.media_type[:100])
    return f"image: {kind}, {size(image.bytes)}" if image.bytes else f"image: {kind}"


def evicted_words(start: SessionStart) -> str | None:
    """Say when a session was evicted (moved to the archive), and if its events can be read there.

    None for a session that was not evicted.
    """
    if start.session.evicted_at is None:
        return None
    day = start.session.evicted_at[:10]
    if start.missing is not None:
        hint = f" {start.missing.hint}" if start.missing.hint else ""
        return f"{day}; its events are missing: {start.missing.message}.{hint}"
    back = f"session-memory restore {start.session.session_uid}"
    return f"{day}; read from the archive. To bring it back: {back}"
