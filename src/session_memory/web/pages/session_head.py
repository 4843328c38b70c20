"""The head of every page about a session: title, outcome, cost and tabs."""

from typing import Any

import msgspec
from starlette.responses import Response

from session_memory.config import this_host
from session_memory.core.errors import CannotResume, UnknownSession
from session_memory.core.schema import Session
from session_memory.core.time import now_ms
from session_memory.derive.agents import handoff_targets
from session_memory.pricing import Amount, session_amounts
from session_memory.pricing import shown as money
from session_memory.pricing.sessions import family, subagents
from session_memory.render.phrases import outcome_words
from session_memory.views.figures import duration, local
from session_memory.views.lookup import find_session
from session_memory.views.outcome_reasons import OutcomeReason, outcome_reason
from session_memory.views.resuming import resume
from session_memory.views.session_titles import best_title
from session_memory.web.asked import Asked
from session_memory.web.rows import dot_of, event_address, session_address, short_model

TABS = {
    "": "Transcript",
    "map": "Map",
    "changes": "Changes",
    "digest": "Digest",
    "cost": "Cost",
    "family": "Family",
    "like": "Like this",
}


class Tab(msgspec.Struct, frozen=True):
    name: str
    address: str
    is_current: bool


def session_of(asked: Asked) -> Session:
    """Return the session that the address names: by its uid, or by a beginning of it."""
    uid = find_session(asked.memory.store, asked.path["uid"])
    found = asked.memory.store.sessions.get(uid)
    if found is None:
        raise UnknownSession(uid)
    return found


def session_page(asked: Asked, found: Session, tab: str, template: str, **values: Any) -> Response:
    """Return a page about a session: the head, and below it ``template``."""
    store, uid = asked.memory.store, found.session_uid
    address = session_address(uid)
    reason = None if found.analyzed_at is None else outcome_reason(store, uid)
    return asked.page(
        template,
        session=found,
        title=best_title(store, uid),
        address=address,
        facts=_facts(asked, found),
        outcome=outcome_words(found),
        decided_by=reason.words if reason else "",
        evidence_address=_evidence(uid, reason),
        dot=dot_of(found),
        parent=found.parent_uid and session_address(found.parent_uid),
        resume=_resume_line(asked, found),
        handoffs=_handoffs(found),
        given_name=store.given_names.of([uid]).get(uid, ""),
        is_pinned=store.retention.is_pinned(uid, now_ms()),
        tabs=[
            Tab(name, f"{address}/{path}" if path else address, path == tab)
            for path, name in TABS.items()
        ],
        **values,
    )


def _evidence(uid: str, reason: OutcomeReason | None) -> str:
    """Return the address of the event that decided the outcome; empty without one."""
    return event_address(uid, reason.event_uid) if reason and reason.event_uid else ""


def _facts(asked: Asked, found: Session) -> list[str]:
    store, uid = asked.memory.store, found.session_uid
    amounts = session_amounts(store, family(uid, subagents(store, [uid])))
    own, total = amounts[uid], sum(amounts.values(), Amount())
    cost = ""
    if total != Amount():
        cost = money(total)
        if own != total:
            cost = f"{money(total)} with subagents, {money(own)} itself"
    agent = f"{found.flavor} {found.agent_version or ''}".strip()
    facts = [
        cost,
        duration(found.cost.wall_clock_s) if found.cost.wall_clock_s else "",
        " · ".join(part for part in (found.repo, found.git_branch) if part),
        " · ".join(part for part in (short_model(found.model), agent) if part),
        local(found.started_at, "%d %b %Y, %H:%M").lstrip("0") if found.started_at else "",
    ]
    return [fact for fact in facts if fact]


def _resume_line(asked: Asked, found: Session) -> str:
    """Return the command that continues the session; empty if there is none."""
    try:
        return resume(asked.memory.store, found, this_host(asked.memory.config)).line
    except CannotResume:
        return ""


def _handoffs(found: Session) -> list[tuple[str, str]]:
    """Return the agents that can continue the session, each with the command for the handoff."""
    if found.relation == "subagent":
        return []
    command = f"session-memory handoff {found.session_uid} --to"
    return [(name, f"{command} {name}") for name in handoff_targets() if name != found.flavor]
