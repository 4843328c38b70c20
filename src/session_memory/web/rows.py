"""Sessions and events as templates show them: links, dots, money and times."""

from datetime import datetime
from urllib.parse import quote

import msgspec

from session_memory.core.schema import Session
from session_memory.core.time import parse_time
from session_memory.derive.agents import short_model as without_maker
from session_memory.pricing import Amount
from session_memory.pricing import shown as money
from session_memory.render.phrases import outcome_words
from session_memory.views.figures import duration, local, plural
from session_memory.views.session_pages import PageRow

DOTS = {"success": "good", "fail": "bad", "abandoned": "warn", "continued": "good"}


class ListRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session in a list. ``facts`` are shown below its title."""

    uid: str
    address: str
    title: str
    outcome: str
    dot: str
    facts: list[str]
    strip: str
    duration: str
    cost: str
    when: str
    revision: int
    ended: int = 0


def session_address(uid: str) -> str:
    return f"/s/{quote(uid, safe=':')}"


def event_address(uid: str, event_uid: str) -> str:
    return f"{session_address(uid)}/e/{quote(event_uid, safe=':')}"


def dot_of(session: Session) -> str:
    return "unknown" if session.analyzed_at is None else DOTS.get(session.outcome, "unknown")


def list_row(row: PageRow) -> ListRow:
    session = row.session
    facts = [session.repo, session.git_branch, short_model(session.model)]
    if session.cost.turns:
        facts.append(plural(session.cost.turns, "turn"))
    if row.subagents:
        facts.append(plural(row.subagents, "subagent"))
    if session.relation:
        facts.append(session.relation)
    return ListRow(
        uid=session.session_uid,
        address=session_address(session.session_uid),
        title=row.title,
        outcome=outcome_words(session),
        dot=dot_of(session),
        facts=[session.flavor, *(fact for fact in facts if fact)],
        strip=row.strip,
        duration=duration(session.cost.wall_clock_s) if session.cost.wall_clock_s else "",
        cost=cost_shown(row.amount),
        when=day_or_time(session.ended_at or session.started_at),
        revision=session.revision,
        ended=parse_time(session.ended_at) if session.ended_at else 0,
    )


def cost_shown(amount: Amount) -> str:
    """Format a cost for a list: ``$3.18``; ``$3.18 +`` if a part has no price; empty without
    usage."""
    if amount == Amount():
        return ""
    if not amount.microdollars and amount.unpriced_tokens:
        return "unpriced"
    known = money(Amount(amount.microdollars))
    return f"{known} +" if amount.unpriced_tokens else known


def short_model(model: str | None) -> str:
    """Return the name of a model without its maker."""
    return without_maker(model) if model else ""


def day_or_time(time: str | None) -> str:
    """Format a time: ``09:12`` today, ``12 Nov`` this year, ``12 Nov 2025`` before."""
    if time is None:
        return ""
    now = datetime.now().astimezone()
    if local(time, "%Y-%m-%d") == now.strftime("%Y-%m-%d"):
        return local(time, "%H:%M")
    day = local(time, "%d %b").lstrip("0")
    return day if local(time, "%Y") == now.strftime("%Y") else f"{day} {local(time, '%Y')}"
